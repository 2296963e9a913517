"""Graphs of the Rust 0.8.0 binary take our writes, and are clean afterwards by every rule that `verify` knows."""

from __future__ import annotations

import json

import pytest

from omnigraph.graph import Graph
from support.graphs.people import lines
from support.graphs.rust_graphs import rust_graph
from support.graphs.self_check import check_layout

TYPES = {"people": "Person", "branches": "Person", "evolved": "Human"}
CRASHED = ["armed", "partial", "effects", "published", "merge", "schema-before"]


@pytest.mark.parametrize("name", sorted(TYPES))
def test_tx_O22_a_mutation_and_a_load_land_on_every_branch(name: str) -> None:
    with rust_graph(name) as rust:
        graph = Graph.open(rust.uri, actor="act-py")
        for branch in graph.branches():
            before = rust.expected["at"][branch]["entities"]
            text = f"query q($n: String) {{ insert {TYPES[name]} {{ name: $n, age: 1 }} }}"
            added = graph.mutate(text, n="Added by mutation", branch=branch)
            assert added.commit is not None
            record = {"type": TYPES[name], "data": {"name": "Added by load", "age": 2}}
            graph.load(lines(record), mode="merge", branch=branch)
            update = f'query q() {{ update {TYPES[name]} set {{ age: 3 }} where name = "Added by load" }}'
            assert graph.mutate(update, branch=branch).affected_nodes == 1
            names = [entity["data"]["name"] for entity in before if entity.get("type") == TYPES[name]]
            now = {
                record["data"]["name"]: record["data"]["age"]
                for record in map(json.loads, graph.export(branch, types=[TYPES[name]]))
            }
            assert set(now) == {*names, "Added by mutation", "Added by load"}
            assert now["Added by load"] == 3
        report = graph.verify()
        assert report.ok, report.render()
        check_layout(rust.uri)


@pytest.mark.parametrize("name", ["people", "rich", "branches", "evolved", *(f"crash-{crash}" for crash in CRASHED)])
def test_verify_is_clean_once_a_graph_is_recovered(name: str) -> None:
    with rust_graph(name) as rust:
        graph = Graph.open(rust.uri)
        report = graph.verify()
        assert report.ok, report.render()


@pytest.mark.parametrize("crash", CRASHED)
def test_a_recovered_graph_takes_the_next_write(crash: str) -> None:
    with rust_graph(f"crash-{crash}") as rust:
        graph = Graph.open(rust.uri)
        node = next(node for node in graph.schema.catalog.nodes if node.key == ("name",))
        graph.load(lines({"type": node.name, "data": _record(node)}), mode="merge")
        assert graph.verify().ok


def _record(node: object) -> dict[str, object]:
    """A record with the required properties of a type whose key is a name."""
    from omnigraph.language.schema.catalog import NodeType
    from omnigraph.model.types import Scalar

    assert isinstance(node, NodeType)
    values = {Scalar.STRING: "x", Scalar.I32: 1, Scalar.I64: 1, Scalar.F64: 1.0, Scalar.BOOL: True}
    required = {prop.name: values[prop.type.scalar] for prop in node.properties if not prop.type.nullable}
    return required | {"name": "after the crash"}


def test_a_fork_of_a_fork_with_broken_indexes_is_reported_read_and_written() -> None:
    with rust_graph("fork-of-fork") as rust:
        graph = Graph.open(rust.uri)
        report = graph.verify()
        assert any("index" in finding.code for finding in report.findings), report.render()
        exported = [json.loads(line) for line in graph.export("b")]
        key = lambda record: json.dumps(record, sort_keys=True)  # noqa: E731
        assert sorted(exported, key=key) == sorted(rust.expected["at"]["b"]["entities"], key=key)
        people = {record["data"]["name"] for record in exported if record.get("type") == "Person"}
        some = min(people)
        graph.mutate("query q($n: String) { update Person set { age: 77 } where name = $n }", n=some, branch="b")
        graph.mutate("query q($n: String) { insert Person { name: $n } }", n="New on b", branch="b")
        graph.load(lines({"type": "Person", "data": {"name": some, "age": 78}}), mode="merge", branch="b")
        graph.mutate("query q($n: String) { delete Person where name = $n }", n="New on b", branch="b")
        now = {r["data"]["name"]: r["data"]["age"] for r in map(json.loads, graph.export("b", types=["Person"]))}
        assert now[some] == 78
        assert set(now) == people
