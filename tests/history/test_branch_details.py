"""Details of branches: heads, ages, ahead and behind."""

from __future__ import annotations

from pathlib import Path

import pytest

from merge.merging import change, head, make, merged
from omnigraph.graph import Graph
from omnigraph.history import BranchDetails, branch_list, create_branch_from, details_of_branches, resolve
from omnigraph.model.errors import BranchNotFound
from omnigraph.storage.manifest import ManifestStore


@pytest.fixture
def graph(tmp_path: Path) -> Graph:
    return make(tmp_path / "g")


def details(graph: Graph) -> dict[str, BranchDetails]:
    return {each.name: each for each in details_of_branches(graph._storage)}


def apart(graph: Graph) -> dict[str, tuple[int, int]]:
    return {name: (each.ahead, each.behind) for name, each in details(graph).items()}


def test_a_branch_is_described_by_its_head_its_source_and_its_ages(graph: Graph) -> None:
    graph.create_branch("draft")
    fresh = details(graph)["draft"]
    assert (fresh.commit_id, fresh.source, fresh.updated_at) == (head(graph), "main", fresh.created_at)
    change(graph, 'insert Person { name: "Eve", age: 22 }', "draft")
    written, main = details(graph)["draft"], details(graph)["main"]
    assert written.commit_id == head(graph, "draft")
    assert written.head is not None
    assert (written.created_at, written.updated_at) == (fresh.created_at, written.head.created_at)
    assert (main.source, main.created_at, main.commit_id) == (None, graph.commits()[-1].created_at, head(graph))
    assert list(written.to_json()) == ["name", "head", "created_at", "updated_at", "source", "ahead", "behind"]


def test_ahead_and_behind_count_commits_of_the_graph_across_merges(graph: Graph) -> None:
    first = head(graph)
    graph.create_branch("draft")
    assert apart(graph) == {"draft": (0, 0), "main": (0, 0)}
    change(graph, 'insert Person { name: "Eve", age: 22 }', "draft")
    change(graph, 'insert Person { name: "Frank", age: 1 }', "draft")
    change(graph, 'insert Person { name: "Grace", age: 2 }')
    assert apart(graph)["draft"] == (2, 1)
    merged(graph, "draft")
    assert apart(graph)["draft"] == (0, 2)
    create_branch_from(graph._storage, "old", resolve(graph._storage, first))
    assert apart(graph)["old"] == (0, 4)
    graph.delete_branch("draft")
    assert apart(graph) == {"main": (0, 0), "old": (0, 4)}


def test_details_of_named_branches_are_those_alone_and_a_missing_one_is_refused(graph: Graph) -> None:
    for name in ("a", "b"):
        graph.create_branch(name)
    assert [each.name for each in details_of_branches(graph._storage, ["b"])] == ["b"]
    with pytest.raises(BranchNotFound):
        details_of_branches(graph._storage, ["c"])


def test_the_list_of_names_reads_no_ref_and_loads_no_branch(graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(5):
        graph.create_branch(f"b{number}")

    def refused(self: ManifestStore, branch: str = "main") -> None:
        raise AssertionError(f"{branch} was loaded")

    for method in ("load", "ref"):
        monkeypatch.setattr(ManifestStore, method, refused)
    assert branch_list(graph._storage) == ["b0", "b1", "b2", "b3", "b4", "main"]
