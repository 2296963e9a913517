"""What merges leave on disk follows the storage format, in graphs of ours and in graphs that the Rust binary wrote."""

from __future__ import annotations

from pathlib import Path

import pytest

from merge.merging import assert_clean, change, edge, make, merged, node, put
from omnigraph.graph import Graph
from support.graphs.rust_graphs import rust_graph
from support.graphs.self_check import check_layout


def test_after_merges_of_every_kind_the_files_follow_the_storage_format(tmp_path: Path) -> None:
    graph = make(tmp_path / "g")
    graph.create_branch("draft")
    put(graph, "draft", node("Person", name="Eve", age=1), edge("Knows", "Eve", "Bob"))
    before = graph.commits()[0].commit_id
    assert merged(graph, "draft").outcome == "fast_forward"
    check_layout(graph.uri)
    change(graph, 'update Person set { age: 2 } where name = "Eve"', "draft")
    change(graph, 'delete Person where name = "Carol"')
    assert merged(graph, "draft").outcome == "merged"
    check_layout(graph.uri)
    graph.create_branch("release", source=before)
    assert merged(graph, "main", "release").outcome == "fast_forward"
    assert merged(graph, "draft", "release").outcome == "already_up_to_date"
    graph.optimize()
    change(graph, 'insert Person { name: "Frank" }', "release")
    assert graph.merge("release", delete_branch=True).branch_deleted
    check_layout(graph.uri)
    graph.revert(graph.commits()[0].commit_id, mainline=1)
    graph.restore(before)
    graph.tag("end")
    check_layout(graph.uri)
    assert_clean(graph)


@pytest.mark.parametrize(
    ("name", "source", "target"),
    [
        ("branches", "review/new", "main"),
        ("branches", "nested", "idle"),
        ("branches", "main", "done"),
        ("fork-of-fork", "b", "main"),
        ("crash-merge", "draft", "main"),
    ],
)
def test_a_graph_of_the_rust_binary_is_merged_and_still_follows_the_storage_format(
    name: str, source: str, target: str
) -> None:
    """The binary itself is not at hand: the format is checked against its specification."""
    with rust_graph(name) as found:
        graph = Graph.open(found.uri, durability="os")
        put(graph, source, node("Person", name="Zed", age=1))
        result = merged(graph, source, target, on_conflict="theirs")
        assert result.outcome in ("merged", "fast_forward")
        assert merged(graph, source, target).outcome == "already_up_to_date"
        put(graph, target, node("Person", name="Zoe", age=2))
        merged(graph, target, source)
        assert merged(graph, source, target).outcome in ("already_up_to_date", "fast_forward")
        check_layout(found.uri)
        found_by_verify = [(each.severity, each.code) for each in graph.verify().findings]
        assert set(found_by_verify) <= {("info", "unused_fork")}, "one was there before"
