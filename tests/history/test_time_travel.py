"""Reading an earlier commit: what was there then, and nothing that came later or elsewhere."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from omnigraph.graph import Graph

SCHEMA = "node Person { name: String @key  age: I32? }\nedge Knows: Person -> Person\n"
AGES = "query q() { match { $p: Person } return { $p.name, $p.age } }"
KNOWN = "query q() { match { $a: Person  $a knows $b } return { $a.name, $b.name } }"


@pytest.fixture
def graph(tmp_path: Path) -> Graph:
    graph = Graph.init(str(tmp_path / "g"), SCHEMA, durability="os")
    lines: list[dict[str, Any]] = [
        {"type": "Person", "data": {"name": n, "age": a}} for n, a in (("Alice", 30), ("Bob", 25))
    ]
    lines.append({"edge": "Knows", "from": "Alice", "to": "Bob", "data": {}})
    graph.load([json.dumps(line).encode() for line in lines], mode="merge")
    return graph


def head(graph: Graph, branch: str = "main") -> str:
    return graph.commits(branch)[0].commit_id


def ages(graph: Graph, commit: str) -> dict[str, Any]:
    return {row["p.name"]: row["p.age"] for row in graph.query(AGES, commit=commit)}


def test_tx_T01_a_value_is_read_as_it_was_at_a_commit(graph: Graph) -> None:
    before = head(graph)
    graph.mutate('query q() { update Person set { age: 31 } where name = "Alice" }')
    assert (ages(graph, before)["Alice"], ages(graph, head(graph))["Alice"]) == (30, 31)


def test_tx_T02_a_traversal_at_a_commit_follows_the_edges_of_that_commit(graph: Graph) -> None:
    before = head(graph)
    graph.mutate('query q() { delete Person where name = "Bob" }')
    assert len(list(graph.query(KNOWN, commit=before))) == 1
    assert list(graph.query(KNOWN, commit=head(graph))) == []


def test_tx_T04_an_earlier_commit_of_main_does_not_show_rows_of_a_branch(graph: Graph) -> None:
    before = head(graph)
    graph.create_branch("feature")
    graph.mutate('query q() { insert Person { name: "Eve" } }', branch="feature")
    assert set(ages(graph, before)) == {"Alice", "Bob"}
    assert set(ages(graph, head(graph, "feature"))) == {"Alice", "Bob", "Eve"}
