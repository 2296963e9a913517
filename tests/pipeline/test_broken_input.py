"""Every kind of broken input gives its report: file, line, property, value, rule. The same on both engines."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from omnigraph.graph import Graph
from omnigraph.model.errors import OmniGraphError
from omnigraph.write.intake.line_files import line_source
from support.loads.both_engines import exported
from support.loads.inline_run import STAND_IN, run_inline
from support.loads.leftovers import nothing_is_left

SCHEMA = """
node P { k: String @key  n: I32?  mail: String? @unique  mood: enum(fine, low)?  v: Vector(2)?
  @range(n, 0..9)
  @check(mail, "@") }
node R { need: I32 }
edge K: P -> P @card(0..1)
"""


def p(name: str, **data: Any) -> str:
    return json.dumps({"type": "P", "data": {"k": name, **data}})


def k(src: str, dst: str) -> str:
    return json.dumps({"edge": "K", "from": src, "to": dst})


@dataclass(frozen=True)
class Broken:
    """The second file of a load, and the facts of what is wrong with it."""

    lines: list[str]
    facts: dict[str, Any]
    message: str
    code: str = "validation_failed"


CASES = {
    "no JSON": Broken([p("a"), '{"type":"P",'], {"line": 2, "rule": "json"}, "not valid JSON"),
    "a repeated member": Broken(
        ['{"type":"P","data":{"k":"a","k":"b"}}'], {"line": 1, "rule": "json"}, "duplicate member 'k'"
    ),
    "an unknown type": Broken(
        [p("a"), "", '{"type":"Pp","data":{}}'],
        {"line": 3, "rule": "record", "type_name": "Pp"},
        "unknown node type 'Pp'; did you mean 'P'",
    ),
    "an unknown property": Broken(
        [p("a", mial="x")], {"line": 1, "rule": "property", "property": "mial", "entity_id": "a"}, "did you mean 'mail'"
    ),
    "a wrong type": Broken([p("a", n="7")], {"line": 1, "rule": "type", "property": "n", "value": '"7"'}, "P.n"),
    "out of range of its type": Broken(
        [p("a", n=2**40)], {"line": 1, "rule": "type", "property": "n"}, "1099511627776"
    ),
    "a vector of another dimension": Broken([p("a", v=[1])], {"line": 1, "rule": "type", "property": "v"}, "P.v"),
    "a missing required value": Broken(
        ['{"type":"R","data":{}}'],
        {"line": 1, "rule": "required", "property": "need"},
        "missing value for non-nullable property 'need'",
    ),
    "an enum value": Broken([p("a", mood="green")], {"line": 1, "rule": "enum", "property": "mood"}, "fine, low"),
    "@range": Broken([p("a", n=10)], {"line": 1, "rule": "@range", "property": "n", "value": "10"}, "is not in 0..9"),
    "@check": Broken(
        [p("a", mail="nope")], {"line": 1, "rule": "@check", "property": "mail", "value": "nope"}, "does not match"
    ),
    "a key twice in one file": Broken(
        [p("a"), p("b"), p("a")], {"line": 3, "rule": "@key", "entity_id": "a"}, "(lines 1 and 3)"
    ),
    "a key twice in two files": Broken([p("first")], {"line": 1, "rule": "@key", "entity_id": "first"}, "line 1 of"),
    "@unique in the input": Broken(
        [p("a", mail="x@x"), p("b", mail="x@x")],
        {"line": 2, "rule": "@unique", "property": "mail", "value": "x@x"},
        "held by 'a' and 'b'",
    ),
    "@unique against the graph": Broken(
        [p("a", mail="old@x")], {"line": 1, "rule": "@unique", "property": "mail"}, "held by 'old' and 'a'"
    ),
    "an id that exists": Broken([p("old")], {}, "already has id 'old'", "key_conflict"),
    "no such endpoint": Broken(
        [k("first", "nobody")], {"line": 1, "rule": "endpoint", "property": "dst", "value": "nobody"}, "not found in P"
    ),
    "@card": Broken(
        [k("first", "old"), k("first", "first")],
        {"line": 2, "rule": "@card", "property": "src", "value": "first"},
        "has 2 edges (max 1)",
    ),
}


def refused(engine: str, graph: Graph, files: list[str], **options: Any) -> OmniGraphError:
    session = STAND_IN if engine == "spark" else None
    with pytest.raises(OmniGraphError) as caught:
        graph.load(line_source(files, split_bytes=60), mode="append", engine=engine, spark=session, **options)  # type: ignore[arg-type]
    return caught.value


@pytest.mark.parametrize("engine", ["local", "spark"])
@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_broken_input_is_reported_with_its_place_and_rule(
    tmp_path: Path, case: Broken, engine: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_inline(monkeypatch)
    graph = Graph.init(str(tmp_path / "g"), SCHEMA, durability="os")
    graph.load([p("old", mail="old@x").encode()], mode="append", engine="local")
    before, files = exported(graph), [str(tmp_path / "one.jsonl"), str(tmp_path / "two.jsonl")]
    Path(files[0]).write_text(p("first") + "\n")
    Path(files[1]).write_text("\n".join(case.lines) + "\n")
    error = refused(engine, graph, files)
    assert error.code == case.code
    assert case.message in str(error)
    if case.facts:
        [violation] = error.details()["violations"]  # type: ignore[misc]
        assert isinstance(violation, dict)
        assert {**violation, **case.facts, "file": files[1]} == violation
    assert exported(graph) == before
    assert nothing_is_left(graph)


@pytest.mark.parametrize("engine", ["local", "spark"])
def test_all_violations_are_counted_and_rejects_can_be_mended_and_loaded(
    tmp_path: Path, engine: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_inline(monkeypatch)
    graph = Graph.init(str(tmp_path / "g"), SCHEMA, durability="os")
    good = [p(f"g{n}") for n in range(50)]
    bad = ['{"type":"P"', p("x", n="7"), p("y", n=99), k("g1", "nobody"), p("g7")]
    file, rejects = tmp_path / "in.jsonl", tmp_path / "rejected.jsonl"
    file.write_text("\n".join([*good[:25], *bad, *good[25:]]) + "\n")
    error = refused(engine, graph, [str(file)], max_errors=1)
    assert error.details()["violations_total"] == 4  # two that cannot be read, one out of its range, one key twice
    session: Any = STAND_IN if engine == "spark" else None
    result = graph.load(
        line_source(file, split_bytes=300), mode="append", engine=engine, spark=session, on_error="skip",  # type: ignore[arg-type]
        reject_file=rejects,
    )  # fmt: skip
    assert (result.nodes, result.edges, result.rejected) == ({"P": 50}, {}, 5)
    assert rejects.read_text().splitlines() == bad
    mended = tmp_path / "mended.jsonl"
    mended.write_text("\n".join([p("x", n=7), p("y", n=9), k("g1", "x")]) + "\n")
    graph.load(mended, mode="append", engine="local")
    assert len(exported(graph)) == 53


@pytest.mark.parametrize("engine", ["local", "spark"])
def test_a_dry_run_checks_everything_and_changes_nothing(
    tmp_path: Path, engine: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_inline(monkeypatch)
    graph = Graph.init(str(tmp_path / "g"), SCHEMA, durability="os")
    file = tmp_path / "in.jsonl"
    file.write_text(p("a") + "\n" + k("a", "a") + "\n")
    session: Any = STAND_IN if engine == "spark" else None
    result = graph.load(line_source(file), mode="append", engine=engine, spark=session, dry_run=True)  # type: ignore[arg-type]
    assert (result.nodes, result.edges, result.commit) == ({"P": 1}, {"K": 1}, None)
    assert exported(graph) == []
    assert nothing_is_left(graph)
    file.write_text(p("a", n=99) + "\n")
    assert refused(engine, graph, [str(file)], dry_run=True).code == "validation_failed"
