"""Both engines give the same graph, the same ids and the same violations, whatever the input is.

Most cases run the kernels of the pipeline in this process, which is the same code without Spark's second each.
"""

from __future__ import annotations

import json
import random
import shutil
from pathlib import Path
from typing import Any

import pytest

from omnigraph.graph import Graph
from omnigraph.write.rules.key_columns import PART_BYTES_VARIABLE
from support.loads.both_engines import seen, write_files
from support.loads.inline_run import STAND_IN, run_inline
from support.size import sized

pytestmark = pytest.mark.timeout(600)

SCHEMA = """
node Person {
  name: String @key
  age: I32?  mail: String? @unique  mood: enum(fine, low)?  tags: [String]?  born: Date?  level: I32 @default(3)
  @range(age, 0..150)
  @check(mail, "@")
}
node Note { text: String? }
edge Knows: Person -> Person { since: Date?  weight: F64? }
edge Owns: Person -> Note { n: I32?  @unique(src, dst) }
edge Leads: Person -> Person @card(0..2)
edge Minds: Person -> Person @card(1..2)
"""
BASE = [
    *({"type": "Person", "data": {"name": f"p{n}", "age": n, "mail": f"m{n}@x", "level": 1}} for n in range(6)),
    *({"type": "Note", "data": {"id": f"n{n}", "text": "t"}} for n in range(3)),
    {"edge": "Knows", "from": "p0", "to": "p1", "data": {"id": "k0"}},
    {"edge": "Owns", "from": "p0", "to": "n0", "data": {"id": "o0", "n": 1}},
    {"edge": "Leads", "from": "p0", "to": "p1", "data": {"id": "l0"}},
    *({"edge": "Minds", "from": f"p{n}", "to": "p1", "data": {"id": f"m{n}"}} for n in range(4)),
]


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("base") / "g"
    graph = Graph.init(str(folder), SCHEMA, durability="os")
    graph.load([json.dumps(record).encode() for record in BASE], mode="append", engine="local")
    return folder


def record(chance: random.Random, broken: float) -> bytes:
    """One line: mostly sound, sometimes at odds with the schema, with the graph, with another line, or with JSON."""
    name = lambda: f"p{chance.randrange(14)}"  # noqa: E731
    kind = chance.choice(["Person"] * 4 + ["Note", "Knows", "Knows", "Owns", "Leads", "Minds"])
    if kind == "Person":
        data: dict[str, Any] = {"name": name(), "age": chance.randrange(90), "level": 2}
        if chance.random() < 0.5:
            data["mail"] = f"m{chance.randrange(20)}@x"
        if chance.random() < 0.3:
            data |= {"tags": ["a", "b"], "born": "1990-01-31", "mood": "fine"}
        if chance.random() < 0.3:
            del data["level"]
        document: dict[str, Any] = {"type": "Person", "data": data}
    elif kind == "Note":
        document = {
            "type": "Note",
            "data": {"text": "x"} | ({"id": f"n{chance.randrange(6)}"} if chance.random() < 0.5 else {}),
        }
    else:
        target = f"n{chance.randrange(5)}" if kind == "Owns" else name()
        document = {"edge": kind, "from": name(), "to": target, "data": {}}
        if chance.random() < 0.3:
            document["data"]["id"] = f"{kind[0].lower()}{chance.randrange(6)}"
    if chance.random() < broken:
        data = document["data"]
        match chance.randrange(8):
            case 0:
                return json.dumps(document).encode()[: chance.randrange(1, 20)]
            case 1:
                data["nope"] = 1
            case 2:
                data["age" if kind == "Person" else "since"] = "old"
            case 3:
                data["age" if kind == "Person" else "weight"] = 900 if kind == "Person" else "x"
            case 4:
                data["mail"] = "no at sign"
            case 5:
                document["from"] = "nobody"
            case 6:
                return b'{"type":"Persn","data":{}}'
            case 7:
                data.pop("name", None)
    return json.dumps(document, separators=chance.choice([(",", ":"), (", ", ": ")])).encode()


def case(seed: int) -> dict[str, Any]:
    chance = random.Random(seed)
    broken = chance.choice([0.0, 0.0, 0.05, 0.3])
    files = [[record(chance, broken) for _ in range(chance.randrange(1, 40))] for _ in range(chance.randrange(1, 4))]
    if chance.random() < 0.4:  # one that can succeed: unique names, no edges of doubt
        files = [
            [json.dumps({"type": "Person", "data": {"name": f"f{seed}-{n}", "level": n}}).encode() for n in range(30)]
        ]
        files.append(
            [json.dumps({"edge": "Knows", "from": f"f{seed}-{n}", "to": "p1", "data": {}}).encode() for n in range(30)]
        )
    mode = chance.choice(["append", "merge", "merge", "overwrite"])
    options: dict[str, Any] = {"mode": mode, "on_error": chance.choice(["fail", "skip"])}
    if mode == "merge":
        options |= {"patch": chance.random() < 0.4, "match_edges": chance.choice([None, "endpoints"])}
    if chance.random() < 0.2:
        options |= {"branch": "draft", "base": "main"}
    if chance.random() < 0.2:
        options["max_errors"] = 2
    if chance.random() < 0.1:
        options["dry_run"] = True
    return {"files": files, "options": options, "split_bytes": chance.choice([150, 700, 10**6])}


def both(
    base: Path, tmp_path: Path, seed: int, spark: Any, patched: pytest.MonkeyPatch, part_bytes: int | None = None
) -> tuple[Any, Any]:
    """The load in this process, and on Spark; there with so few bytes of key text at a time."""
    drawn = case(seed)
    paths = write_files(tmp_path, drawn["files"])
    found = []
    for engine, session, split in (("local", None, 10**9), ("spark", spark, drawn["split_bytes"])):
        if part_bytes is not None and engine == "spark":
            patched.setenv(PART_BYTES_VARIABLE, str(part_bytes))
        copy = tmp_path / engine / "g"
        shutil.copytree(base, copy)
        options = drawn["options"]
        found.append(
            seen(str(copy), paths, engine=engine, spark=session, split_bytes=split, patched=patched, **options)
        )
    return found[0], found[1]


@pytest.mark.parametrize("seed", range(sized(40, 80)))
def test_random_input_gives_the_same_on_both_engines(
    base: Path, tmp_path: Path, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_inline(monkeypatch)
    local, spark = both(base, tmp_path, seed, STAND_IN, monkeypatch)
    assert spark == local


@pytest.mark.parametrize("seed", range(2000, 2000 + sized(30, 80)))
def test_keys_that_are_compared_in_parts_give_the_same_graph_and_the_same_findings(
    base: Path, tmp_path: Path, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_inline(monkeypatch)
    monkeypatch.setattr("omnigraph.write.rules.key_columns.SLICE_ROWS", 3)
    monkeypatch.setattr("omnigraph.write.load.patch.FILL_ROWS", 2)
    local, spark = both(base, tmp_path, seed, STAND_IN, monkeypatch, part_bytes=(7, 60, 400)[seed % 3])
    assert spark == local


@pytest.mark.parametrize("seed", range(1000, 1006))
def test_random_input_gives_the_same_on_a_real_session(
    base: Path, tmp_path: Path, seed: int, spark: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    local, found = both(base, tmp_path, seed, spark, monkeypatch)
    assert found == local


def test_the_cases_cover_success_and_refusal_in_every_mode() -> None:
    drawn = [case(seed)["options"] for seed in range(sized(40, 80))]
    kinds = {(each["mode"], each["on_error"], bool(each.get("patch"))) for each in drawn}
    assert len(kinds) == 8
