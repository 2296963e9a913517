"""One of the company: holds handles of graphs through everything, and does what it is told. Also a program.

As a program it reads commands from its standard input and answers on its standard output, a line of JSON each.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

from company.pictures import SCHEMA, TEAMS, Write
from omnigraph.graph import Graph
from omnigraph.model.errors import OmniGraphError
from omnigraph.storage.failpoints import Action, Point, armed
from omnigraph.storage.leases import s3 as lease_objects
from omnigraph.storage.leases.lease import Leases
from omnigraph.write.commit.branch_queue import window
from omnigraph.write.results import LoadInterrupted
from support.graphs.people import lines

PEOPLE = "query people() { match { $p: Person } return { $p.name as n, $p.age as a, $p.email as m } }"
KNOWS = "query knows() { match { $p: Person $p knows $f } return { $p.name as a, $f.name as b } }"
INSIDE = "query inside() { match { $p: Person $p in $t } return { $p.name as a, $t.name as b } }"
HOP = "query hop($n: String) { match { $p: Person { name: $n } $p knows $f } return { $f.name as n } }"
OLDER = "query older($a: I32) { match { $p: Person $p.age >= $a } return { $p.name as n } }"
COUNT = "query people() { match { $p: Person } return { count($p) as n } }"
EDGES = "query edges() { match { $p: Person $p knows $f } return { count($f) as n } }"
ANSWERS, LIFELINE = 100, 101
"""Descriptors of the program: where answers go, and what a forked child waits at until whoever started us closes it."""
TTL_S = 1.0
"""Of a lease on an object store: a worker that is paused loses it soon."""

Command = dict[str, Any]


class Worker:
    """The handles of one process."""

    def __init__(self) -> None:
        self.handles: dict[int, Graph] = {}

    def obey(self, command: Command) -> dict[str, Any]:
        """Carries out a command; the answer says what it returned or raised."""
        do: Callable[[Command], dict[str, Any]] = getattr(self, f"do_{command['do']}")
        try:
            with waiting_at_most(command["wait_s"]), self._trouble(command.get("trouble")):
                return do(command)
        except LoadInterrupted as interrupt:
            return {"commit": interrupt.result.commit_id, "replayed": interrupt.result.replayed}
        except BaseException as error:
            typed = isinstance(error, OmniGraphError | KeyboardInterrupt)
            where = "" if typed else "".join(traceback.format_exception(error))
            return {"error": {"type": type(error).__name__, "message": str(error), "typed": typed, "where": where}}

    def do_open(self, command: Command) -> dict[str, Any]:
        read_only = command["read_only"]
        self.handles.pop(command["slot"], None)
        self.handles[command["slot"]] = Graph.open(command["uri"], read_only=read_only, durability="os")
        return {}

    def do_init(self, command: Command) -> dict[str, Any]:
        graph = Graph.init(command["uri"], SCHEMA, durability="os")
        graph.load(lines(*({"type": "Team", "data": {"name": name}} for name in TEAMS)), mode="append")
        self.handles[command["slot"]] = graph
        return {}

    def do_write(self, command: Command) -> dict[str, Any]:
        return written(self.handles[command["slot"]], Write.of(command["write"]), command["branch"])

    def do_together(self, command: Command) -> dict[str, Any]:
        """Several commands at the same time, in threads of this process."""
        begin = threading.Barrier(len(command["commands"]))

        def one(each: Command) -> dict[str, Any]:
            begin.wait()
            return self.obey(each)

        with ThreadPoolExecutor(len(command["commands"])) as pool:
            return {"answers": list(pool.map(one, command["commands"]))}

    def do_create(self, command: Command) -> dict[str, Any]:
        self.handles[command["slot"]].create_branch(command["branch"], source=command["source"])
        return {}

    def do_drop(self, command: Command) -> dict[str, Any]:
        self.handles[command["slot"]].delete_branch(command["branch"])
        return {}

    def do_upkeep(self, command: Command) -> dict[str, Any]:
        graph = self.handles[command["slot"]]
        match command["what"]:
            case "optimize":
                graph.optimize(command["branch"])
            case "ensure_indices":
                graph.ensure_indices(command["branch"])
            case _:
                graph.cleanup_staging()
        return {}

    def do_verify(self, command: Command) -> dict[str, Any]:
        report = self.handles[command["slot"]].verify()
        return {"ok": report.ok, "findings": [finding.render() for finding in report.findings]}

    def do_branches(self, command: Command) -> dict[str, Any]:
        return {"branches": self.handles[command["slot"]].branches()}

    def do_commits(self, command: Command) -> dict[str, Any]:
        return {"commits": [each.commit_id for each in self.handles[command["slot"]].commits(command["branch"])]}

    def do_read(self, command: Command) -> dict[str, Any]:
        """What each mode shows; of a branch, or of a commit."""
        graph = self.handles[command["slot"]]
        where: dict[str, Any] = {name: command[name] for name in ("branch", "commit") if name in command}
        return {"shown": {mode: seen(graph, mode, command["name"], command["age"], where) for mode in command["modes"]}}

    def do_export(self, command: Command) -> dict[str, Any]:
        return {"shown": exported(self.handles[command["slot"]], command["branch"])}

    def do_fork(self, _: Command) -> dict[str, Any]:
        self._fork()
        return {}

    # --- trouble ------------------------------------------------------------------------------------------

    @contextmanager
    def _trouble(self, trouble: dict[str, Any] | None) -> Iterator[None]:
        """Something that happens to this process at a place of the protocol, or after some time."""
        if trouble is None:
            yield
            return
        if "after_s" in trouble:
            with struck_after(trouble["after_s"], trouble["action"]):
                yield
            return
        actions: dict[str, Action] = {
            "kill": "kill",
            "stop": "stop",
            "interrupt": lambda: signal.raise_signal(signal.SIGINT),
            "fork": self._fork,
        }
        with armed(Point(trouble["point"]), actions[trouble["action"]], visit=trouble["visit"]):
            yield

    def _fork(self) -> None:
        """A child that lives on and does nothing, until whoever started this process ends it."""
        if os.fork():
            return
        for stream in (0, 1):
            os.dup2(os.open(os.devnull, os.O_RDWR), stream)
        os.close(ANSWERS)
        os.read(LIFELINE, 1)
        os._exit(0)


@contextmanager
def struck_after(seconds: float, action: str) -> Iterator[None]:
    """The process dies, is stopped or interrupted after a time, wherever it is then."""

    def strike(*_: object) -> None:
        if action == "stop":
            os.kill(os.getpid(), signal.SIGSTOP)
        else:
            raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, signal.SIG_DFL if action == "kill" else strike)
    try:
        signal.setitimer(signal.ITIMER_REAL, seconds)
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


# --- one handle -------------------------------------------------------------------------------------------


def written(graph: Graph, write: Write, branch: str) -> dict[str, Any]:
    if write.is_load:
        records = [{"type": "Person", "data": {"name": n, "age": a, "email": m}} for n, a, m in write.people]
        records += [{"edge": "Knows", "from": s, "to": t, "data": {"id": i}} for i, s, t in write.knows]
        mode: Any = write.kind
        loaded = graph.load(lines(*records), mode=mode, branch=branch, idempotency_key=write.key, engine="local")
        return {"commit": loaded.commit_id, "replayed": loaded.replayed}
    text, params = mutation(write)
    done = graph.mutate(text, params, branch=branch, idempotency_key=write.key)
    return {"commit": done.commit_id, "replayed": done.replayed}


def mutation(write: Write) -> tuple[str, dict[str, Any]]:
    """A write as a query and its parameters."""
    match write.kind:
        case "update":
            text = "query q($l: I32, $a: I32) { update Person set { age: $a } where age > $l }"
            return text, {"l": write.above, "a": write.age}
        case "touch":
            text = "query q($n: String, $a: I32, $m: String?) { update Person set { age: $a, email: $m } "
            return text + "where name = $n }", {"n": write.name, "a": write.age, "m": write.mail}
        case "delete":
            return "query q($n: String) { delete Person where name = $n }", {"n": write.name}
        case "unlink":
            return "query q($n: String) { delete Knows where from = $n }", {"n": write.name}
    parts = [f'insert Person {{ name: "{n}", age: {a}, email: {quoted(m)} }}' for n, a, m in write.people]
    parts += [f'insert Knows {{ from: "{s}", to: "{t}" }}' for _, s, t in write.knows]
    parts += [f'insert In {{ from: "{n}", to: "{t}" }}' for n, t in write.joins]
    return f"query q() {{ {' '.join(parts)} }}", {}


def quoted(text: str | None) -> str:
    return "null" if text is None else f'"{text}"'


def seen(graph: Graph, mode: Any, name: str, age: int, where: dict[str, Any]) -> dict[str, Any]:
    def rows(text: str, *columns: str, **params: Any) -> list[list[Any]]:
        return sorted([row[each] for each in columns] for row in graph.query(text, params, mode=mode, **where))

    return {
        "people": rows(PEOPLE, "n", "a", "m"),
        "knows": rows(KNOWS, "a", "b"),
        "inside": rows(INSIDE, "a", "b"),
        "hop": [each for [each] in rows(HOP, "n", n=name)],
        "older": [each for [each] in rows(OLDER, "n", a=age)],
        "counts": [rows(COUNT, "n")[0][0], rows(EDGES, "n")[0][0]],
    }


def exported(graph: Graph, branch: str) -> dict[str, Any]:
    shown: dict[str, list[list[Any]]] = {"people": [], "knows": [], "inside": []}
    for record in map(json.loads, graph.export(branch)):
        data = record["data"]
        match record.get("type") or record.get("edge"):
            case "Person":
                shown["people"].append([data["name"], data["age"], data["email"]])
            case "Knows":
                shown["knows"].append([record["from"], record["to"]])
            case "In":
                shown["inside"].append([record["from"], record["to"]])
    return {name: sorted(rows) for name, rows in shown.items()}


# --- a process --------------------------------------------------------------------------------------------


@contextmanager
def waiting_at_most(seconds: float | None) -> Iterator[None]:
    """How long a writer waits for another one: not for a minute when that one is paused on purpose."""
    if seconds is None:
        yield
        return
    functions: tuple[Any, ...] = (Leases.hold, window)
    defaults: list[dict[str, Any]] = [each.__wrapped__.__kwdefaults__ for each in functions]
    before = [each["wait_s"] for each in defaults]
    try:
        for each in defaults:
            each["wait_s"] = seconds
        yield
    finally:
        for each, old in zip(defaults, before, strict=True):
            each["wait_s"] = old


def shorten_leases() -> None:
    """Leases on an object store that a paused worker soon loses."""
    lease_objects.LEASE_TTL_S = TTL_S
    lease_objects.RENEW_EVERY_S = TTL_S / 3
    lease_objects.RETRY_EVERY_S = TTL_S / 15
    lease_objects.CLOCK_SKEW_S = 0.0


def main() -> int:
    signal.signal(signal.SIGINT, signal.default_int_handler)  # also where whoever started us ignores it
    shorten_leases()
    worker = Worker()
    for line in iter(sys.stdin.readline, ""):
        os.write(ANSWERS, json.dumps(worker.obey(json.loads(line))).encode() + b"\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
