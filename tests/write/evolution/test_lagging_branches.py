"""Branches that began at a commit with an older schema: they read and write under it, merge, and catch up."""

from __future__ import annotations

from pathlib import Path

import pytest

from omnigraph.errors import Conflict, MergeConflicts
from omnigraph.graph import Graph

OLD = "node P { k: String @key a: I32? d: String? }\nnode Gone { t: String @key }\n"
NEW = 'node P { k: String @key b: I64? @rename_from("a") n: I32 @default(7) }\nnode Fresh { t: String @key }\n'
RECORDS = [
    b'{"type":"P","data":{"k":"a","a":1,"d":"x"}}',
    b'{"type":"P","data":{"k":"b","a":2}}',
    b'{"type":"Gone","data":{"t":"g"}}',
]


@pytest.fixture
def graph(tmp_path: Path) -> Graph:
    graph = Graph.init(str(tmp_path / "g"), OLD, durability="os")
    graph.load(RECORDS, mode="append")
    graph.tag("before")
    graph.apply_schema(NEW)
    graph.mutate('query m() { insert P { k: "m", b: 5000000000 } }')
    return graph


def people(graph: Graph) -> list[str]:
    return [line.decode().strip() for line in graph.export(types=["P"])]


def test_rows_of_an_older_schema_are_lifted_and_main_brings_the_branch_up_to_date(graph: Graph) -> None:
    lag = graph.create_branch("lag", source="before")
    assert lag.schema_source == OLD
    lag.mutate('query m() { insert P { k: "z", a: 3 } }')
    lag.mutate('query m() { update P set { a: 11 } where k = "b" }')
    assert graph.merge("lag").outcome == "merged"
    assert people(graph) == [
        '{"type":"P","data":{"id":"a","b":1,"k":"a","n":7}}',
        '{"type":"P","data":{"id":"b","b":11,"k":"b","n":7}}',
        '{"type":"P","data":{"id":"m","b":5000000000,"k":"m","n":7}}',
        '{"type":"P","data":{"id":"z","b":3,"k":"z","n":7}}',
    ]
    graph.merge("main", into="lag")
    assert (list(lag.export()), lag.schema_source) == (list(graph.export()), NEW)
    assert [each for each in graph.verify().findings if each.severity != "info"] == []


def test_a_catch_up_that_would_conflict_writes_nothing(graph: Graph) -> None:
    lag = graph.create_branch("lag", source="before")
    lag.mutate('query m() { update P set { a: 11 } where k = "b" }')
    graph.mutate('query m() { update P set { b: 12 } where k = "b" }')
    head = lag.snapshot().commit_id
    assert graph.merge("main", into="lag", dry_run=True).conflicts_total == 1
    with pytest.raises(MergeConflicts):
        graph.merge("main", into="lag")
    assert (lag.snapshot().commit_id, lag.schema_source) == (head, OLD)


def test_entities_without_a_value_that_main_requires_are_told_in_both_directions(graph: Graph) -> None:
    graph.apply_schema(NEW.replace("b: I64?", "b: I64"))
    lag = graph.create_branch("lag", source="before")
    lag.mutate('query m() { insert P { k: "z" } }')
    with pytest.raises(MergeConflicts, match="cannot be written"):
        graph.merge("lag")
    with pytest.raises(Conflict, match="which main requires"):
        graph.merge("main", into="lag")
    lag.mutate('query m() { update P set { a: 5 } where k = "z" }')
    graph.merge("main", into="lag")
    assert len(people(lag)) == 4
    assert [each for each in graph.verify().findings if each.severity != "info"] == []
