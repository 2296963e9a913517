"""Rewriting a row keeps its blobs: bytes stay bytes, empty stays empty, null stays null."""

from __future__ import annotations

import json
from pathlib import Path

from omnigraph.graph import Graph
from support.graphs.people import lines
from support.graphs.rust_graphs import rust_graph

SCHEMA = "node Doc { name: String @key  note: String?  file: Blob? }\n"
FILES = {"bytes": "base64:aGVsbG8=", "empty": "base64:", "null": None}


def test_our_rows_keep_their_blobs_when_they_are_updated_or_patched(tmp_path: Path) -> None:
    graph = Graph.init(str(tmp_path / "g"), SCHEMA)
    records = [{"type": "Doc", "data": {"name": name, "file": file}} for name, file in FILES.items()]
    graph.load(lines(*records), mode="append")
    for name in FILES:
        graph.mutate('query q($n: String) { update Doc set { note: "seen" } where name = $n }', n=name)
        graph.load(lines({"type": "Doc", "data": {"name": name, "note": "patched"}}), mode="merge", patch=True)
    found = {r["data"]["name"]: (r["data"]["note"], r["data"]["file"]) for r in map(json.loads, graph.export())}
    assert found == {name: ("patched", file) for name, file in FILES.items()}


def test_rows_of_rust_keep_their_bytes_and_their_nulls_when_they_are_updated() -> None:
    """An empty blob is the exception: the Rust releases spell a null the same way, and in a graph that they wrote too
    the two cannot be told apart once the empty one is the first of its file."""
    with rust_graph("rich") as rust:
        graph = Graph.open(rust.uri)
        before = {r["data"]["name"]: r["data"]["file"] for r in map(json.loads, graph.export(types=["Doc"]))}
        assert None in before.values()
        for name in before:
            graph.mutate('query q($n: String) { update Doc set { note: "seen" } where name = $n }', n=name)
        after = {r["data"]["name"]: r["data"]["file"] for r in map(json.loads, graph.export(types=["Doc"]))}
        kept = {name: file for name, file in before.items() if file != "base64:"}
        assert {name: after[name] for name in kept} == kept
        assert kept.keys() < before.keys()
