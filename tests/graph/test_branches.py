"""Branches and commits of the whole graph, row by row of the specification's table."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from omnigraph.graph import Graph
from omnigraph.model.errors import (
    BadRequest,
    BranchExists,
    BranchHasDependants,
    BranchNotFound,
    CommitNotFound,
    Conflict,
    OpenedReadOnly,
    Unreachable,
)
from omnigraph.storage import open_storage
from omnigraph.storage.failpoints import InjectedFault, Point, armed
from omnigraph.storage.manifest import store as manifest
from support.processes.writers import KNOWS, PERSON, SCHEMA, write_pair


@pytest.fixture
def uri(new_root: Callable[[str], str]) -> str:
    uri = new_root("g")
    Graph.init(uri, SCHEMA, durability="os")
    write_pair(open_storage(uri, durability="os"))
    return uri


@pytest.fixture
def graph(uri: str) -> Graph:
    return Graph.open(uri, durability="os")


def test_a_branch_that_was_just_cut_shows_its_source_without_reading_a_row_again(
    uri: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[int] = []
    real = manifest.decode
    monkeypatch.setattr(manifest, "decode", lambda table: read.append(table.num_rows) or real(table))
    graph = Graph.open(uri, durability="os")
    before = graph.snapshot()
    graph.create_branch("draft")
    read.clear()
    assert graph.snapshot("draft").tables == before.tables
    assert read == []
    write_pair(open_storage(uri, durability="os"), branch="draft")  # by a handle that knows nothing of this one
    read.clear()
    assert graph.snapshot("draft").tables != before.tables
    assert read == [4], "two table versions, the commit, the head: what was published on the branch"
    cold = Graph.open(uri, durability="os")
    assert cold.snapshot("draft") == graph.snapshot("draft")
    assert cold.snapshot() == graph.snapshot() == before


def test_tx_B01_a_new_branch_shows_what_its_source_shows_and_makes_no_commit(graph: Graph) -> None:
    graph.create_branch("feature")
    assert graph.branches() == ["feature", "main"]
    assert graph.commits("feature") == graph.commits("main")
    assert graph.snapshot("feature").tables == graph.snapshot("main").tables
    assert all(pin.lineage is None for pin in graph.snapshot("feature").tables)


def test_tx_B02_B03_a_write_on_a_branch_forks_its_tables_and_leaves_main_alone(graph: Graph, uri: str) -> None:
    graph.create_branch("feature")
    write_pair(open_storage(uri, durability="os"), "feature")
    assert {pin.lineage for pin in graph.snapshot("feature").tables} == {"feature"}
    assert [graph.snapshot(name).table(KNOWS).row_count for name in ("main", "feature")] == [1, 2]


def test_tx_B04_an_existing_name_is_refused(graph: Graph) -> None:
    graph.create_branch("feature")
    with pytest.raises(BranchExists):
        graph.create_branch("feature")


@pytest.mark.parametrize(("first", "second"), [("feature", "feature/child"), ("feature/child", "feature")])
def test_tx_B06_a_name_that_is_a_path_prefix_of_a_live_one_is_refused(graph: Graph, first: str, second: str) -> None:
    graph.create_branch(first)
    with pytest.raises(BranchExists, match="path prefix"):
        graph.create_branch(second)
    graph.create_branch("features")


def test_tx_B07_B08_a_deleted_branch_is_gone_and_its_name_starts_anew(graph: Graph, uri: str) -> None:
    graph.create_branch("feature")
    storage = open_storage(uri, durability="os")
    write_pair(storage, "feature", name="old")
    before = graph.snapshot("main")
    graph.delete_branch("feature")
    assert graph.branches() == ["main"]
    assert graph.snapshot("main") == before
    graph.create_branch("feature")
    assert graph.snapshot("feature").table(PERSON).row_count == 1
    write_pair(storage, "feature", name="new")
    names = storage.tables.open(graph.snapshot("feature").table(PERSON)).read(["name"])["name"].to_pylist()
    assert "new" in names
    assert "old" not in names


def test_tx_B09_B10_a_branch_with_dependants_outlives_them(graph: Graph, uri: str) -> None:
    graph.create_branch("feature")
    write_pair(open_storage(uri, durability="os"), "feature")
    graph.create_branch("experiment", source="feature")
    with pytest.raises(BranchHasDependants) as refused:
        graph.delete_branch("feature")
    assert refused.value.dependants == ("experiment",)
    graph.delete_branch("experiment")
    graph.delete_branch("feature")
    assert graph.branches() == ["main"]


def test_tx_B11_the_active_branch_of_a_handle_is_refused(graph: Graph) -> None:
    feature = graph.create_branch("feature")
    with pytest.raises(Conflict, match="currently active branch"):
        feature.delete_branch("feature")


def test_a_branch_that_is_busy_keeps_nobody_from_making_other_branches_and_tags(graph: Graph, uri: str) -> None:
    graph.create_branch("busy")
    with ThreadPoolExecutor(1) as pool:
        with open_storage(uri).leases.hold("busy") as held:
            deleting = pool.submit(Graph.open(uri).delete_branch, "busy")
            while not held.is_wanted():
                os.sched_yield()
            graph.create_branch("other")
            graph.tag("v1")
            assert not deleting.done()
        deleting.result()
    assert graph.branches() == ["main", "other"]


def test_tx_B12_deleting_a_missing_branch_is_not_found(graph: Graph) -> None:
    with pytest.raises(BranchNotFound):
        graph.delete_branch("nosuch")


def test_tx_B13_main_cannot_be_deleted(graph: Graph) -> None:
    with pytest.raises(BadRequest, match="cannot delete branch 'main'"):
        graph.delete_branch("main")


def test_tx_B16_a_tree_without_a_ref_does_not_block_its_name(tmp_path: Path) -> None:
    uri = str(tmp_path / "g")
    graph = Graph.init(uri, SCHEMA)
    graph.create_branch("z")
    (tmp_path / "g" / "__manifest" / "_refs" / "branches" / "z.json").unlink()
    assert graph.branches() == ["main"]
    graph.create_branch("z")
    assert graph.snapshot("z").tables == graph.snapshot("main").tables


def test_tx_B17_B18_a_branch_of_a_branch_reads_its_fork_until_it_writes(graph: Graph, uri: str) -> None:
    storage = open_storage(uri, durability="os")
    graph.create_branch("b0")
    write_pair(storage, "b0")
    graph.create_branch("b1", source="b0")
    assert {pin.lineage for pin in graph.snapshot("b1").tables} == {"b0"}
    assert graph.snapshot("b1").table(PERSON).row_count == 2
    before = graph.snapshot("b0")
    write_pair(storage, "b1")
    assert {pin.lineage for pin in graph.snapshot("b1").tables} == {"b1"}
    assert graph.snapshot("b1").table(PERSON).row_count == 3
    assert graph.snapshot("b0") == before


def test_tx_B19_commits_come_newest_first_with_their_parents(graph: Graph, uri: str) -> None:
    storage = open_storage(uri, durability="os")
    for _ in range(3):
        write_pair(storage)
    commits = graph.commits()
    assert len(commits) == 5
    assert [commit.parent_id for commit in commits] == [*(commit.commit_id for commit in commits[1:]), None]
    assert graph.commits(limit=2) == commits[:2]


def test_tx_B20_B21_a_branch_lists_inherited_and_own_commits(graph: Graph, uri: str) -> None:
    graph.create_branch("feature")
    own = write_pair(open_storage(uri, durability="os"), "feature").commit
    listed = graph.commits("feature")
    assert listed[0] == own
    assert own.branch == "feature"
    assert listed[1:] == graph.commits("main")
    assert graph.commit(own.commit_id) == own
    with pytest.raises(CommitNotFound):
        graph.commit("01ARZ3NDEKTSV4RRFFQ69G5FAV")


def test_tx_B23_two_addresses_of_one_graph_are_one_graph(tmp_path: Path) -> None:
    Graph.init(str(tmp_path / "g"), SCHEMA)
    (tmp_path / "link").symlink_to(tmp_path / "g")
    for name in ("g", "link", "g"):
        write_pair(open_storage(str(tmp_path / name)))
    assert len(Graph.open(str(tmp_path / "link")).commits()) == 4


def test_tx_C39_an_error_after_the_branch_was_made_leaves_a_usable_branch(graph: Graph) -> None:
    with armed(Point.BRANCH_CREATED), pytest.raises(InjectedFault):
        graph.create_branch("b")
    assert graph.branches() == ["b", "main"]
    assert graph.snapshot("b").tables == graph.snapshot("main").tables


def test_tx_C40_a_fork_that_cannot_be_removed_does_not_undo_the_deletion(graph: Graph, uri: str) -> None:
    graph.create_branch("feature")
    write_pair(open_storage(uri, durability="os"), "feature")

    def fail() -> None:
        raise Unreachable("the store did not answer")

    with armed(Point.BRANCH_FORKS_DELETING, fail, visit=None):
        graph.delete_branch("feature")
    assert graph.branches() == ["main"]
    graph.create_branch("feature")
    graph.mutate('query q() { insert Person { name: "Eve" } }', branch="feature")
    assert graph.snapshot("feature").table(PERSON).row_count == 2, "the leftover fork is replaced by the first write"


def test_a_handle_on_a_branch_reads_and_names_that_branch(graph: Graph, uri: str) -> None:
    draft = graph.create_branch("draft")
    write_pair(open_storage(uri, durability="os"), "draft")
    assert draft.branch_name == "draft"
    assert draft.snapshot().table(PERSON).row_count == 2
    assert graph.branch("draft").snapshot() == draft.snapshot()


def test_opening_a_missing_branch_fails_and_suggests_the_nearest_name(graph: Graph, uri: str) -> None:
    graph.create_branch("draft")
    with pytest.raises(BranchNotFound, match="branch 'drft' not found") as missing:
        graph.branch("drft")
    assert missing.value.hint == "did you mean 'draft'?"
    with pytest.raises(BranchNotFound, match="did you mean 'draft'") as missing:
        Graph.open(uri, branch="draf")
    with pytest.raises(BranchNotFound, match="omnigraph branch list"):
        graph.branch("something-else")
    assert graph.branches() == ["draft", "main"]


def test_a_read_only_handle_writes_nothing(graph: Graph, uri: str) -> None:
    reader = Graph.open(uri, read_only=True)
    for attempt in (lambda: reader.create_branch("b"), lambda: reader.delete_branch("b")):
        with pytest.raises(OpenedReadOnly):
            attempt()


def test_a_stale_handle_sees_a_branch_that_was_made_anew(graph: Graph, uri: str) -> None:
    """The same name and the same version number, another incarnation."""
    other = Graph.open(uri, durability="os")
    graph.create_branch("b")
    write_pair(open_storage(uri, durability="os"), "b", name="first")
    assert other.snapshot("b").table(PERSON).row_count == 2
    graph.delete_branch("b")
    graph.create_branch("b")
    write_pair(open_storage(uri, durability="os"), "b", name="second")
    storage = open_storage(uri)
    assert other.snapshot("b") == Graph.open(uri).snapshot("b")
    names = storage.tables.open(other.snapshot("b").table(PERSON)).read(["name"])["name"].to_pylist()
    assert "second" in names


def test_a_moved_graph_without_branches_opens_elsewhere(tmp_path: Path) -> None:
    Graph.init(str(tmp_path / "g"), SCHEMA)
    write_pair(open_storage(str(tmp_path / "g")))
    shutil.move(tmp_path / "g", tmp_path / "h")
    assert Graph.open(str(tmp_path / "h")).snapshot().table(PERSON).row_count == 1


@pytest.mark.parametrize("name", ["./draft", "draft/.", "__graph__", "a/" * 99 + "a"])
def test_a_name_that_no_branch_may_have_is_refused_before_anything_is_touched(graph: Graph, name: str) -> None:
    graph.create_branch("draft")
    before = graph.snapshot("draft")
    with pytest.raises(BadRequest, match="invalid branch name"):
        graph.create_branch(name)
    with pytest.raises(BadRequest, match="invalid branch name"):
        graph.delete_branch(name)
    assert graph.branches() == ["draft", "main"]
    assert Graph.open(graph.uri, durability="os").snapshot("draft") == before


def test_the_longest_name_that_a_branch_may_have_works(graph: Graph) -> None:
    name = "/".join(["s" * 14] * 10)[:-3]
    assert len(name) + 6 * name.count("/") == 200
    graph.create_branch(name)
    write_pair(open_storage(graph.uri, durability="os"), branch=name)
    assert Graph.open(graph.uri, durability="os").snapshot(name).commit is not None
    graph.delete_branch(name)


class _Death(BaseException):
    """Not an Exception: a dead process runs no clean-up."""


def _die() -> None:
    raise _Death


def test_a_branch_can_be_written_again_although_the_delete_of_one_cut_from_it_died(graph: Graph) -> None:
    graph.create_branch("c")
    write_pair(open_storage(graph.uri, durability="os"), branch="c")
    graph.create_branch("b", source="c")
    write_pair(open_storage(graph.uri, durability="os"), branch="b")
    with armed(Point.BRANCH_FORKS_DELETING, _die), pytest.raises(_Death):
        graph.delete_branch("b")
    graph.delete_branch("c")
    graph.create_branch("c")
    graph.load([b'{"type": "Person", "data": {"name": "again"}}'], mode="merge", branch="c")
    assert b"again" in b"".join(graph.export("c"))
