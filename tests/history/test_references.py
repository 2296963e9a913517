"""References: what a text names, and branches that are made from one."""

from __future__ import annotations

from pathlib import Path

import pytest

from omnigraph.graph import Graph
from omnigraph.history import (
    AmbiguousName,
    TaggedCommitGone,
    UnknownReference,
    create_branch_from,
    create_tag,
    resolve,
)
from omnigraph.model.errors import BranchNotFound, CommitNotFound, NotFound
from omnigraph.model.identifiers import new_ulid
from omnigraph.model.values import format_datetime
from support.graphs.people import INSERT_PERSON, fx, people


@pytest.fixture
def graph(tmp_path: Path) -> Graph:
    return fx(tmp_path / "g")


def head(graph: Graph, branch: str = "main") -> str:
    return graph.commits(branch)[0].commit_id


def change(graph: Graph, statement: str) -> None:
    graph.mutate(f"query change() {{ {statement} }}")


def test_a_commit_id_names_a_commit_of_any_branch(graph: Graph) -> None:
    draft = graph.create_branch("draft")
    draft.mutate(INSERT_PERSON, n="Eve", a=22)
    found = resolve(graph._storage, f"  {head(graph, 'draft')} ")
    assert (found.kind, found.commit_id, found.commit.branch) == ("commit", head(graph, "draft"), "draft")


def test_a_time_is_the_newest_commit_until_then_on_the_branch_of_the_caller(graph: Graph) -> None:
    loaded = graph.commits()[0]
    draft = graph.create_branch("draft")
    draft.mutate(INSERT_PERSON, n="Eve", a=22)
    now = format_datetime(graph.commits("draft")[0].created_at // 1000 + 60_000)
    assert resolve(graph._storage, now, "main").commit == loaded
    assert resolve(graph._storage, now, "draft").commit_id == head(graph, "draft")
    assert resolve(graph._storage, now).kind == "time"
    with pytest.raises(CommitNotFound, match="2001-01-01"):
        resolve(graph._storage, "2001-01-01")


def test_a_name_is_a_branch_or_else_a_tag_and_a_mark_leaves_no_doubt(graph: Graph) -> None:
    first = head(graph)
    graph.create_branch("draft")
    create_tag(graph._storage, "v1", first)
    graph.mutate(INSERT_PERSON, n="Eve", a=22)
    found = {text: resolve(graph._storage, text) for text in ("main", "draft", "v1", "branch:draft", "tag:v1")}
    assert {text: (each.kind, each.name) for text, each in found.items()} == {
        "main": ("branch", "main"),
        "draft": ("branch", "draft"),
        "v1": ("tag", "v1"),
        "branch:draft": ("branch", "draft"),
        "tag:v1": ("tag", "v1"),
    }
    assert (found["main"].commit_id, found["v1"].commit_id) == (head(graph), first)
    with pytest.raises(BranchNotFound):
        resolve(graph._storage, "branch:v1")
    with pytest.raises(NotFound, match="tag 'draft' not found"):
        resolve(graph._storage, "tag:draft")


def test_tx_T03_an_unknown_reference_is_not_found_and_the_nearest_name_is_suggested(graph: Graph) -> None:
    graph.create_branch("draft")
    create_tag(graph._storage, "release-1", head(graph))
    for text, near in (("draff", "draft"), ("relase-1", "release-1"), ("9999", None), ("no such thing!", None)):
        with pytest.raises(UnknownReference, match="is not a branch, a tag, a commit id or a time") as caught:
            resolve(graph._storage, text)
        assert (f"did you mean '{near}'?" in str(caught.value)) == (near is not None)
    with pytest.raises(CommitNotFound):
        resolve(graph._storage, new_ulid())
    with pytest.raises(BranchNotFound, match="did you mean 'draft'"):
        resolve(graph._storage, "branch:draff")


@pytest.mark.parametrize("name", ["01M7NE9KHK33ZCJHA88FEZ8724", "01m7ne9khk33zcjha88fez8724", "2026-01-02", "20260102"])
def test_a_branch_or_tag_may_not_look_like_an_id_or_a_time(graph: Graph, name: str) -> None:
    with pytest.raises(AmbiguousName, match="a branch cannot be named"):
        graph.create_branch(name)
    with pytest.raises(AmbiguousName, match="a tag cannot be named"):
        create_tag(graph._storage, name, head(graph))
    assert graph.branches() == ["main"]


def test_the_tag_of_a_commit_that_another_program_removed_says_so(graph: Graph) -> None:
    draft = graph.create_branch("draft")
    draft.mutate(INSERT_PERSON, n="Eve", a=22)
    create_tag(graph._storage, "v1", head(graph, "draft"))
    graph._storage.lineages.delete("__manifest", "draft")
    graph._storage.manifest.forget("draft")
    with pytest.raises(TaggedCommitGone, match=r"tag 'v1' names commit .* which no branch has any more"):
        resolve(graph._storage, "v1")


# --- branches from a reference ---------------------------------------------------------------------------


def test_a_branch_can_be_made_from_a_commit_a_tag_or_a_time(graph: Graph) -> None:
    first = graph.commits()[0]
    create_tag(graph._storage, "v1", first.commit_id)
    change(graph, 'update Person set { age: 31 } where name = "Alice"')
    change(graph, 'insert Person { name: "Eve", age: 22 }')
    for number, text in enumerate((first.commit_id, "v1", "tag:v1", "main")):
        create_branch_from(graph._storage, f"b{number}", resolve(graph._storage, text))
    assert [people(graph, f"b{number}").get("Alice") for number in range(4)] == [30, 30, 30, 31]
    assert graph.snapshot("b0").commit_id == first.commit_id
    old = graph.branch("b0")
    old.mutate(INSERT_PERSON, n="Frank", a=1)
    assert set(people(graph, "b0")) == {"Alice", "Bob", "Charlie", "Diana", "Frank"}
    assert graph.commits("b0")[0].parent_id == first.commit_id
    assert "Frank" not in people(graph)
    assert graph.verify().ok


def test_a_branch_can_be_made_from_an_earlier_commit_of_another_branch(graph: Graph) -> None:
    draft = graph.create_branch("draft")
    draft.mutate(INSERT_PERSON, n="Eve", a=22)
    early = head(graph, "draft")
    draft.mutate(INSERT_PERSON, n="Frank", a=1)
    create_branch_from(graph._storage, "other", resolve(graph._storage, early))
    assert "Eve" in people(graph, "other")
    assert "Frank" not in people(graph, "other")
    graph.branch("other").mutate(INSERT_PERSON, n="Grace", a=2)
    assert {"Eve", "Grace"} <= set(people(graph, "other"))
    assert graph.verify().ok
