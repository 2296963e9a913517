"""Tags: names of commits that stay where they are."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from omnigraph.graph import Graph
from omnigraph.history import (
    BranchIsTagged,
    InvalidTagName,
    TagExists,
    TagNotFound,
    create_tag,
    delete_tag,
    resolve,
    tag_list,
)
from omnigraph.model.errors import BranchExists, CommitNotFound, Corrupt, OpenedReadOnly
from support.graphs.people import INSERT_PERSON, fx


@pytest.fixture
def graph(tmp_path: Path) -> Graph:
    return fx(tmp_path / "g")


def head(graph: Graph, branch: str = "main") -> str:
    return graph.commits(branch)[0].commit_id


def test_a_tag_stays_on_its_commit_while_the_branch_moves_on(graph: Graph) -> None:
    first = head(graph)
    made = create_tag(graph._storage, "releases/v1", first, actor_id="ada")
    graph.mutate(INSERT_PERSON, n="Eve", a=22)
    assert tag_list(graph._storage) == [made]
    assert (made.commit_id, made.actor_id) == (first, "ada")
    assert resolve(graph._storage, "releases/v1").commit_id == first
    assert graph._storage.objects.list_names("__tags") == ["releases%2Fv1.json"]
    assert made.to_json()["commit_id"] == first


def test_a_tag_is_only_moved_by_force(graph: Graph) -> None:
    first = head(graph)
    create_tag(graph._storage, "v1", first)
    graph.mutate(INSERT_PERSON, n="Eve", a=22)
    with pytest.raises(TagExists, match=f"it names commit {first}"):
        create_tag(graph._storage, "v1", head(graph))
    assert [tag.commit_id for tag in tag_list(graph._storage)] == [first]
    create_tag(graph._storage, "v1", head(graph), force=True)
    assert [tag.commit_id for tag in tag_list(graph._storage)] == [head(graph)]


def test_a_deleted_tag_is_gone_and_its_commit_stays(graph: Graph) -> None:
    create_tag(graph._storage, "v1", head(graph))
    assert delete_tag(graph._storage, "v1").commit_id == head(graph)
    assert tag_list(graph._storage) == []
    assert graph.commit(head(graph)).commit_id == head(graph)
    create_tag(graph._storage, "release-2", head(graph))
    with pytest.raises(TagNotFound, match="did you mean 'release-2'"):
        delete_tag(graph._storage, "release-1")


def test_names_of_branches_and_tags_do_not_collide(graph: Graph) -> None:
    graph.create_branch("draft")
    create_tag(graph._storage, "v1", head(graph))
    with pytest.raises(BranchExists):
        create_tag(graph._storage, "draft", head(graph))
    with pytest.raises(TagExists, match="tag 'v1' already exists"):
        graph.create_branch("v1")
    assert graph.branches() == ["draft", "main"]


@pytest.mark.parametrize("name", ["", "main", "bad tag", "a//b", "x.lock", "../up", "__v1", "tag:v1"])
def test_a_bad_tag_name_is_refused_and_nothing_appears(graph: Graph, name: str) -> None:
    with pytest.raises(InvalidTagName, match="invalid tag name"):
        create_tag(graph._storage, name, head(graph))
    assert tag_list(graph._storage) == []


def test_a_commit_of_another_graph_gets_no_tag(graph: Graph, tmp_path: Path) -> None:
    other = fx(tmp_path / "other")
    with pytest.raises(CommitNotFound):
        create_tag(graph._storage, "v1", head(other))
    assert tag_list(graph._storage) == []


def test_a_branch_whose_commits_have_tags_is_kept_until_the_tags_go(graph: Graph) -> None:
    draft = graph.create_branch("draft")
    create_tag(graph._storage, "inherited", head(graph))
    draft.mutate(INSERT_PERSON, n="Eve", a=22)
    create_tag(graph._storage, "v1", head(graph, "draft"))
    with pytest.raises(BranchIsTagged, match="branch 'draft' has commits with tag v1") as caught:
        graph.delete_branch("draft")
    assert caught.value.details() == {"branch": "draft", "tags": ["v1"]}
    delete_tag(graph._storage, "v1")
    graph.delete_branch("draft")
    assert graph.branches() == ["main"]


def test_of_writers_that_want_one_name_exactly_one_gets_it(graph: Graph, tmp_path: Path) -> None:
    handles = [Graph.open(str(tmp_path / "g"), durability="os") for _ in range(6)]
    start = threading.Barrier(len(handles))

    def attempt(number: int) -> bool:
        start.wait()
        try:
            if number % 2:
                handles[number].create_branch("v1")
            else:
                create_tag(handles[number]._storage, "v1", head(handles[number]))
        except (BranchExists, TagExists):
            return False
        return True

    with ThreadPoolExecutor(len(handles)) as pool:
        assert sum(pool.map(attempt, range(len(handles)))) == 1
    assert ("v1" in graph.branches()) != ("v1" in [tag.name for tag in tag_list(graph._storage)])


def test_a_graph_that_was_opened_read_only_gets_no_tag(graph: Graph, tmp_path: Path) -> None:
    reader = Graph.open(str(tmp_path / "g"), read_only=True)
    with pytest.raises(OpenedReadOnly):
        create_tag(reader._storage, "v1", head(graph))


def test_a_damaged_tag_is_named(graph: Graph) -> None:
    graph._storage.objects.write_if_absent("__tags/v1.json", b"[]")
    with pytest.raises(Corrupt, match=r"__tags/v1\.json"):
        tag_list(graph._storage)


@pytest.mark.parametrize("name", ["x" * 5000, "\ud800", "a\0b", "", "../up"], ids=range(5))
def test_what_can_be_no_name_is_not_found_and_never_a_failure_of_the_storage(graph: Graph, name: str) -> None:
    with pytest.raises(TagNotFound):
        delete_tag(graph._storage, name)
