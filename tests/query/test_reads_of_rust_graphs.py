"""Graphs of the Rust 0.8.0 binary: every entity reads back as it reported it, and search gives the same by index."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from omnigraph.graph import Graph
from omnigraph.model.types import Scalar
from omnigraph.model.values import json_value, parse_datetime
from support.graphs.rust_graphs import RustGraph, rust_graph

BRANCHES = {"rich": ["main"], "branches": ["done", "idle", "main", "nested", "review/new"]}
CASES = [(name, branch) for name, branches in BRANCHES.items() for branch in branches]
NEAREST = """query q($v: Vector(4)) { match { $d: Doc } return { $d.name, nearest($d.emb, $v) as far }
    order { nearest($d.emb, $v) } limit 10 }"""
TEXT = """query q($t: String) { match { $d: Doc } return { $d.name } order { bm25($d.body, $t) } }"""
MATCH = "query q($t: String) { match { $d: Doc search($d.body, $t) } return { $d.name } order { $d.name } }"


@pytest.fixture(params=["csr", "indexed"])
def mode(request: pytest.FixtureRequest) -> Any:
    return request.param


@pytest.mark.parametrize(("name", "branch"), CASES)
def test_every_entity_reads_back_as_the_binary_reported_it(name: str, branch: str, mode: Any) -> None:
    with rust_graph(name) as rust:
        graph = Graph.open(rust.uri, read_only=True)
        wanted = sorted(map(repr, _reported(rust, graph, branch)))
        assert sorted(map(repr, _read(graph, branch, mode))) == wanted


def _reported(rust: RustGraph, graph: Graph, branch: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """The binary's export in the form of query results: without blobs, dates as text."""
    catalog = graph.schema.catalog
    for record in rust.expected["at"][branch]["entities"]:
        name = record.get("type") or record["edge"]
        entity = catalog.node(name) if "type" in record else catalog.edge(name)
        assert entity is not None
        made = {"id": record["data"]["id"]}
        if "edge" in record:
            made |= {"from": record["from"], "to": record["to"]}
        for prop in entity.properties:
            if prop.type.is_blob:
                continue
            value = record["data"][prop.name]
            if prop.type.scalar is Scalar.DATETIME and isinstance(value, str):
                value = parse_datetime(f"{value}Z")
            made[prop.name] = json_value(value, prop.type)
        yield name, made


def _read(graph: Graph, branch: str, mode: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    for node in graph.schema.catalog.nodes:
        text = f"query q() {{ match {{ $n: {node.name} }} return {{ $n.* as whole }} }}"
        for row in graph.query(text, branch=branch, mode=mode):
            yield node.name, row["whole"]
    for edge in graph.schema.catalog.edges:
        text = (
            f"query q() {{ match {{ $a: {edge.from_type} $a $e:{_word(edge.name)} $b }} return {{ $e.* as whole }} }}"
        )
        for row in graph.query(text, branch=branch, mode=mode):
            yield edge.name, row["whole"]


def _word(name: str) -> str:
    return name[0].lower() + name[1:]


@pytest.mark.parametrize("vector", [[1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.5, 0.0], [0.5, 0.5, 0.5, 0.5]])
def test_vectors_rank_the_same_through_the_binarys_index_and_by_a_scan(vector: list[float]) -> None:
    with rust_graph("rich") as rust:
        graph = Graph.open(rust.uri, read_only=True)
        by_index, by_scan = (graph.query(NEAREST, v=vector, use_index=use).rows() for use in (True, False))
        assert by_index == by_scan
        assert len(by_scan) == 3  # the document without a vector is no result


@pytest.mark.parametrize(
    "text", ["fox", "FOXES", "turtles", "fox turtle", "graph letter", "naive CAFE", "the", "日本語"]
)
@pytest.mark.parametrize("query", [TEXT, MATCH])
def test_text_is_found_the_same_through_the_binarys_index_and_by_a_scan(text: str, query: str) -> None:
    with rust_graph("rich") as rust:
        graph = Graph.open(rust.uri, read_only=True)
        by_index, by_scan = (graph.query(query, t=text, use_index=use).rows() for use in (True, False))
        assert by_index == by_scan
        assert bool(by_scan) == (text != "the")


def test_a_branch_whose_indexes_are_broken_is_read_all_the_same(mode: Any) -> None:
    with rust_graph("fork-of-fork") as rust:
        graph = Graph.open(rust.uri, read_only=True)
        assert sorted(map(repr, _read(graph, "b", mode))) == sorted(map(repr, _reported(rust, graph, "b")))
