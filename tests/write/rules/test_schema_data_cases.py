"""Table D of the schema language: data against a schema, row by row, as far as intake and validation decide it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from omnigraph.model.errors import KeyConflict
from omnigraph.model.identifiers import TableKey, is_ulid
from omnigraph.write.rules.validation import validate
from omnigraph.write.rules.violations import ValidationFailed
from support.graphs.committed_graphs import CommittedGraph, edge, node

SCHEMA = """
node P { k: String @key n: I32? s: enum(x, y)? e: String? u: F64? @range(n, 0..120) @check(e, "[A-Z]+") @unique(e) }
node Q { t: String }
node V { v: Vector(3)? l: [I32]? b: Blob? }
node KDate { k: Date @key }
node KMoment { k: DateTime @key }
node KFloat { k: F64 @key }
node KBool { k: Bool @key }
node KLong { k: U64 @key }
node KPair { z: I32 a: String @key(z, a) }
edge K: P -> P @card(0..1)
edge M: P -> P @card(1..)
"""

THROUGH_GRAPH = {
    "D10": "through Graph: two mutations",
    "D11": "through Graph: one mutation of two statements; its final image is tested with the validator",
    "D15": "through Graph: refused by the mutation's type check",
    "D43": "through Graph: query results and export",
    "D44": "through Graph: query results and export",
}


@pytest.fixture
def graph(tmp_path: Path) -> CommittedGraph:
    return CommittedGraph(tmp_path / "g", SCHEMA)


Case = Callable[[CommittedGraph], None]
CASES: dict[str, Case] = {}


def case(*ids: str) -> Callable[[Case], Case]:
    def keep(run: Case) -> Case:
        CASES.update(dict.fromkeys(ids, run))
        return run

    return keep


def refused(graph: CommittedGraph, *records: Any, mode: str = "append", says: str) -> None:
    before = {name: graph.rows(name) for name in ("P", "K", "M")}
    with pytest.raises(ValidationFailed, match=says):
        graph.load(*records, mode=mode)
    assert {name: graph.rows(name) for name in ("P", "K", "M")} == before


def ids(graph: CommittedGraph, type_name: str) -> list[str]:
    return [row["id"] for row in graph.rows(type_name)]


@case("D01")
def _(graph: CommittedGraph) -> None:
    refused(graph, node("P", k="a", s="z"), says=r"invalid enum value 'z' for P\.s \(expected: x, y\)")


@case("D02")
def _(graph: CommittedGraph) -> None:
    graph.load(node("P", k="a", n=0), node("P", k="b", n=120))
    assert ids(graph, "P") == ["a", "b"]


@case("D03")
def _(graph: CommittedGraph) -> None:
    refused(graph, node("P", k="a", n=121), says=r"@range violation on P\.n")


@case("D04")
def _(graph: CommittedGraph) -> None:
    graph.load(node("P", k="a", n=None), node("P", k="b"))
    assert [row["n"] for row in graph.rows("P")] == [None, None]


@case("D05")
def _(graph: CommittedGraph) -> None:
    graph.load(node("P", k="a", e="..ABC.."))


@case("D06")
def _(graph: CommittedGraph) -> None:
    refused(graph, node("P", k="a", e="abc"), says=r"@check violation on P\.e")


@case("D07")
def _(graph: CommittedGraph) -> None:
    refused(graph, node("P", k="a", e="A"), node("P", k="b", e="A"), says=r"@unique violation on P\.e")


@case("D08")
def _(graph: CommittedGraph) -> None:
    graph.load(node("P", k="a", e="A"))
    says = r"@unique violation on P\.e: value 'A' held by 'a' and 'b'"
    refused(graph, node("P", k="b", e="A"), says=says)
    refused(graph, node("P", k="b", e="A"), mode="merge", says=says)


@case("D09")
def _(graph: CommittedGraph) -> None:
    graph.load(node("P", k="a", e=None), node("P", k="b"))


@case("D12")
def _(graph: CommittedGraph) -> None:
    for mode in ("append", "merge", "overwrite"):
        refused(graph, node("P", k="a"), node("P", k="a"), mode=mode, says=r"@unique violation on P\.k")


@case("D13")
def _(graph: CommittedGraph) -> None:
    graph.load(node("P", k="a", n=1))
    with pytest.raises(KeyConflict, match="node type 'P' already has id 'a'"):
        graph.load(node("P", k="a", n=2))
    assert graph.rows("P")[0]["n"] == 1


@case("D14")
def _(graph: CommittedGraph) -> None:
    graph.load(node("P", k="a", n=1, e="A"))
    graph.load(node("P", k="a", n=2), mode="merge")
    assert [(row["n"], row["e"]) for row in graph.rows("P")] == [(2, None)]


@case("D16")
def _(graph: CommittedGraph) -> None:
    refused(graph, node("P", n=1), says="non-nullable property 'k'")


@case("D17")
def _(graph: CommittedGraph) -> None:
    refused(graph, node("P", id="zzz", k="a"), says="id 'zzz' does not match the key")


@case("D18")
def _(graph: CommittedGraph) -> None:
    graph.load(node("Q", t="x"))
    assert is_ulid(ids(graph, "Q")[0])


@case("D19")
def _(graph: CommittedGraph) -> None:
    graph.load(node("Q", id="q1", t="x"))
    assert ids(graph, "Q") == ["q1"]


@case("D20")
def _(graph: CommittedGraph) -> None:
    refused(graph, node("P", k="a", n=3_000_000_000), says="exceeds Int32 range")


@case("D21")
def _(graph: CommittedGraph) -> None:
    refused(graph, node("P", k="a", n="7"), says=r"P\.n: got \"7\", expected an integer")


@case("D22")
def _(graph: CommittedGraph) -> None:
    refused(graph, node("P", k="a", n=7.0), says=r"P\.n: got 7\.0, expected an integer")


@case("D23")
def _(graph: CommittedGraph) -> None:
    refused(graph, node("P", k="a", zz=1), says="P has no property 'zz'")


@case("D24")
def _(graph: CommittedGraph) -> None:
    graph.load(node("P", k="a"))
    refused(graph, edge("K", "a", "zz"), says="dst 'zz' not found in P")


@case("D25")
def _(graph: CommittedGraph) -> None:
    graph.load(edge("K", "a", "b"), node("P", k="a"), node("P", k="b"))
    assert len(ids(graph, "K")) == 1


@case("D26")
def _(graph: CommittedGraph) -> None:
    graph.load(node("P", k="a"), edge("K", "a", "a"))
    refused(graph, edge("K", "a", "a"), says=r"@card violation on edge K: source 'a' has 2 edges \(max 1\)")


@case("D27")
def _(graph: CommittedGraph) -> None:
    graph.load(node("P", k="a"))


@case("D28")
def _(graph: CommittedGraph) -> None:
    graph.load(node("P", k="a"), edge("M", "a", "a", id="m"))
    removal = graph.changes(graph.change("M", "delete", removed=["m"]))
    found = validate(removal, graph.view(), graph.catalog)
    assert [each.message for each in found] == ["@card violation on edge M: source 'a' has 0 edges (min 1)"]


@case("D29")
def _(graph: CommittedGraph) -> None:
    graph.load(node("P", k="a"), node("P", k="b"), edge("M", "a", "a", id="m"))
    refused(graph, edge("M", "b", "a", id="m"), mode="merge", says=r"source 'a' has 0 edges \(min 1\)")


@case("D30")
def _(graph: CommittedGraph) -> None:
    graph.load(node("P", k="a"), node("P", k="b"))
    twice = [edge("K", "a", "a", id="e"), edge("K", "b", "a", id="e")]
    prepared = graph.load(*twice, mode="merge")
    assert [(row["id"], row["src"]) for row in graph.rows("K")] == [("e", "b")]
    assert prepared.edges == {"K": 2}


@case("D31")
def _(graph: CommittedGraph) -> None:
    graph.load(node("P", k="a"), node("P", k="b"), edge("K", "a", "b"))
    refused(graph, node("P", k="a"), mode="overwrite", says="dst 'b' not found in P")


@case("D32")
def _(graph: CommittedGraph) -> None:
    prepared = graph.load(node("P", k="a"), edge("k", "a", "a"))
    assert prepared.edges == {"K": 1}


@case("D33")
def _(graph: CommittedGraph) -> None:
    refused(graph, node("V", v=[1, 2]), says="expects 3 dimensions, got 2")
    refused(graph, node("V", v=[1, 2, None]), says="elements must be numeric")
    refused(graph, node("V", v=[1, 2, "3"]), says="elements must be numeric")


@case("D34")
def _(graph: CommittedGraph) -> None:
    refused(graph, node("V", l=[1, None]), says=r"V\.l\[1\]: null")


@case("D35")
def _(graph: CommittedGraph) -> None:
    graph.load(node("V", id="v", b="base64:"))
    key = TableKey("node", "V")
    schema = graph.prepare(node("V", id="w")).changes.tables[key].rows.schema
    assert graph.view().stored_rows(key, ["v"], schema)["b"].to_pylist() == [{"data": b"", "uri": None}]


@case("D36")
def _(graph: CommittedGraph) -> None:
    refused(graph, node("V", b="https://h/x"), says="blob policy")


KEYS: dict[str, tuple[str, list[tuple[Any, str]]]] = {
    "D37": ("KDate", [("2026-01-02", "20455")]),
    "D38": ("KMoment", [("2026-01-02T03:04:05.678Z", "1767323045678")]),
    "D39": ("KFloat", [(1.50, "1.5"), (-0.0, "0"), (1e21, "1000000000000000000000")]),
    "D40": ("KBool", [(True, "true")]),
    "D41": ("KLong", [(18446744073709551615, "18446744073709551615")]),
}


def _key_case(type_name: str, values: list[tuple[Any, str]]) -> Case:
    def run(graph: CommittedGraph) -> None:
        graph.load(*(node(type_name, k=value) for value, _ in values))
        assert ids(graph, type_name) == sorted(text for _, text in values)

    return run


CASES.update({name: _key_case(*facts) for name, facts in KEYS.items()})


@case("D42")
def _(graph: CommittedGraph) -> None:
    graph.load(node("KPair", a="A", z=7))
    assert ids(graph, "KPair") == ['["A","7"]']


@pytest.mark.parametrize("run", [pytest.param(run, id=f"schema-{name}") for name, run in sorted(CASES.items())])
def test_data_meets_the_schema_as_the_table_says(graph: CommittedGraph, run: Case) -> None:
    run(graph)


def test_every_row_of_the_table_is_tested_here_or_listed_with_its_reason() -> None:
    assert CASES.keys() | THROUGH_GRAPH.keys() == {f"D{number:02}" for number in range(1, 45)}
    assert not CASES.keys() & THROUGH_GRAPH.keys()
