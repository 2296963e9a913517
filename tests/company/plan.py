"""Plans: sequences of steps drawn from a seed. A step is data that means something in any state, so any part of a plan
can be run: a failing one is shrunk by leaving steps out.

Whom and what a step is about are numbers, which are brought into range when it is carried out.
"""

from __future__ import annotations

import random
from typing import Any

from company.pictures import TEAMS
from omnigraph.storage.failpoints import Point

Step = dict[str, Any]

NAMES = tuple(f"p{number}" for number in range(6))
MAILS = (None, None, None, "a@x", "b@x")
BRANCHES = ("b", "c", "deep/d")
EDGE_IDS = ("k1", "k2", "k3")
KEYS = 6

WRITE_POINTS = (
    Point.TABLE_STAGED,
    Point.MUTATION_STAGED,
    Point.LEASE_ACQUIRED,
    Point.MUTATION_FORKED,
    Point.FORK_CREATED,
    Point.SIDECAR_WRITE,
    Point.MUTATION_ARMED,
    Point.TABLE_COMMITTING,
    Point.TABLE_COMMITTED,
    Point.MUTATION_TABLE_COMMITTED,
    Point.MUTATION_BEFORE_PUBLISH,
    Point.PUBLISH_LOADED,
    Point.PUBLISH_BEFORE,
    Point.PUBLISH_AFTER,
    Point.SIDECAR_DELETE,
)
LOAD_POINTS = (Point.LOAD_DECODED, Point.LOAD_CHECKED)
BRANCH_POINTS = (Point.LEASE_ACQUIRED, Point.BRANCH_CREATED, Point.BRANCH_DELETED, Point.BRANCH_FORKS_DELETING)
UPKEEP_POINTS = (
    Point.COMPACTION_WRITTEN,
    Point.INDEX_BUILT,
    Point.INDEX_MOVED,
    Point.TABLE_COMMITTED,
    Point.PUBLISH_BEFORE,
    Point.PUBLISH_AFTER,
)
RECOVERY_POINTS = (
    Point.SIDECAR_LIST,
    Point.ROLL_FORWARD_PUBLISH,
    Point.TABLES_RESTORED,
    Point.RECORD_AUDIT,
    Point.ORPHAN_AUDIT,
)


KINDS: dict[str, float] = {
    "write": 34,
    "again": 5,
    "create": 5,
    "drop": 3,
    "remake": 5,
    "upkeep": 5,
    "open": 4,
    "race": 6,
    "threads": 4,
    "pause": 7,
    "resume": 6,
    "kill": 3,
    "interrupt": 5,
    "fork": 2,
    "verify": 2,
    "init": 2,
    "copy": 3,
    "restore": 2,
    "away": 1,
}
"""How often a step comes."""
ON_DISK = ("copy", "restore", "away")
"""Steps that need folders."""
ON_A_STORE = {"pause": 16, "resume": 10, "kill": 1, "drop": 6, "remake": 10}
"""What is done more often, or less, where a paused process loses its lease."""


def drawn(seed: int, steps: int, *, on_disk: bool = True, timed: bool = True) -> list[Step]:
    """A plan. Without `timed` nothing happens at a moment that only the clock knows: it goes the same way each time."""
    draw = random.Random(seed)
    weights = KINDS if on_disk else {kind: KINDS[kind] for kind in KINDS if kind not in ON_DISK} | ON_A_STORE
    kinds = draw.choices(list(weights), list(weights.values()), k=steps)
    plan = [_step(draw, kind, number) for number, kind in enumerate(kinds, 1)]
    return plan if timed else [_at_a_place(step) for step in plan]


def _at_a_place(step: Step) -> Step:
    """The same step, with its trouble at a place of the protocol instead of after some time."""
    if "after_s" not in step.get("trouble", {}):
        return step
    point = WRITE_POINTS[step["look"]["name"] % len(WRITE_POINTS)]
    return {**step, "trouble": {"action": step["trouble"]["action"], "point": str(point), "visit": 1}}


def _step(draw: random.Random, kind: str, number: int) -> Step:
    step: Step = {"do": kind, "who": draw.randrange(100), "slot": draw.randrange(2), "branch": draw.randrange(100)}
    step["look"] = {name: draw.randrange(1000) for name in ("who", "slot", "branch", "name", "age", "export")}
    match kind:
        case "write":
            step["write"] = _write(draw, number)
        case "create" | "drop" | "remake":
            step |= {"name": draw.choice(BRANCHES), "number": number}
        case "upkeep":
            step["what"] = draw.choice(("optimize", "ensure_indices", "cleanup_staging"))
        case "open":
            step |= {"place": draw.randrange(2), "read_only": draw.random() < 0.25}
        case "race" | "threads":
            step["parts"] = [
                {"who": draw.randrange(100), "slot": draw.randrange(2), "write": _write(draw, number * 10 + part)}
                for part in range(draw.choice((2, 2, 3)))
            ]
        case "pause" | "kill" | "interrupt" | "fork":
            step |= _troubled(draw, kind, number)
        case "again":
            step["which"] = draw.randrange(1000)
        case "init" | "away":
            step |= {"place": draw.randrange(2), "how": draw.choice(("rename", "remove"))}
    return step


def _troubled(draw: random.Random, kind: str, number: int) -> Step:
    """A write, a branch or upkeep, and what happens to the process meanwhile."""
    act = draw.choices(("write", "create", "drop", "upkeep"), (10, 1, 1, 2))[0]
    write = _write(draw, number)
    what = draw.choice(("optimize", "ensure_indices"))
    points = {"create": BRANCH_POINTS, "drop": BRANCH_POINTS, "upkeep": UPKEEP_POINTS}.get(act, WRITE_POINTS)
    if act == "write":
        points += (*RECOVERY_POINTS, *(LOAD_POINTS if write["kind"] in ("append", "merge") else ()))
    action = {"pause": "stop"}.get(kind, kind)
    trouble: Step = {"action": action, "point": str(draw.choice(points)), "visit": draw.choice((1, 1, 1, 2))}
    if action != "fork" and draw.random() < 0.3:
        trouble = {"action": action, "after_s": draw.uniform(0.0005, 0.03)}
    return {"act": act, "write": write, "what": what, "name": draw.choice(BRANCHES), "trouble": trouble}


def _write(draw: random.Random, number: int) -> Step:
    """A write whose values no other step of the plan has."""
    kind = draw.choices(
        ("insert", "update", "touch", "delete", "unlink", "append", "merge", "overwrite"), (10, 2, 4, 3, 2, 3, 5, 1)
    )[0]
    write: Step = {"kind": kind, "key": f"key{draw.randrange(KEYS)}" if draw.random() < 0.15 else None}
    match kind:
        case "insert":
            some = draw.sample(NAMES, draw.choice((0, 1, 1, 2)))
            write["people"] = [[name, number, draw.choice(MAILS)] for name in some]
            pairs = draw.choice((0, 1, 1, 2)) if some else 1
            ends = [(draw.choice([*some, *NAMES]), draw.choice([*some, *NAMES])) for _ in range(pairs)]
            write["knows"] = [["", *pair] for pair in ends]
            write["joins"] = [[draw.choice([*some, *NAMES]), draw.choice(TEAMS)]] if draw.random() < 0.2 else []
        case "update":
            write |= {"above": draw.randrange(number + 1), "age": number}
        case "touch":
            write |= {"name": draw.choice(NAMES), "age": number, "mail": draw.choice(MAILS)}
        case "delete" | "unlink":
            write["name"] = draw.choice(NAMES)
        case _:
            some = draw.sample(NAMES, draw.choice((1, 2, 3)))
            write["people"] = [[name, number, draw.choice(MAILS)] for name in some]
            ids = draw.sample(EDGE_IDS, draw.choice((0, 1)))
            write["knows"] = [[each, draw.choice(some), draw.choice(NAMES)] for each in ids]
    return write
