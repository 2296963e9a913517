"""Restore: a branch gets the rows of an earlier commit, as one new commit of ordinary changes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from merge.merging import assert_clean, change, content, edges, head, make, merged, node, people, put
from omnigraph.graph import Graph
from omnigraph.history import find_commit, snapshot_at
from omnigraph.history.diff import diff_snapshots
from omnigraph.language.schema import catalog_from_ir, compile_schema
from omnigraph.merge import Restore, RestoreRefused, RestoreResult, restore_branch
from omnigraph.model.errors import CommitNotFound, OpenedReadOnly, PreconditionFailed, ReadSetChanged
from omnigraph.storage import Point
from support.graphs.rust_graphs import rust_graph


@pytest.fixture
def graph(tmp_path: Path) -> Graph:
    return make(tmp_path / "g")


def restored(graph: Graph, commit_id: str, branch: str = "main", **options: Any) -> RestoreResult:
    return restore_branch(graph._storage, lambda: graph.schema, Restore(commit_id=commit_id, branch=branch, **options))


def test_a_restored_branch_has_the_rows_of_then_as_one_new_commit(graph: Graph) -> None:
    then, before = head(graph), content(graph)
    change(graph, 'update Person set { age: 31 } where name = "Alice"')
    change(graph, 'delete Person where name = "Carol"')
    change(graph, 'insert Person { name: "Eve", age: 22 }')
    last = head(graph)
    result = restored(graph, then, actor_id="ada", message="back to the load")
    assert content(graph) == before
    assert (result.stats.inserts, result.stats.updates, result.stats.deletes) == (2, 1, 1)
    assert result.commit is not None
    assert (result.commit.parent_id, result.commit.merged_parent_id) == (last, None)
    assert (result.commit.actor_id, result.commit.py["kind"], result.commit.py["restored"]) == ("ada", "restore", then)
    assert result.to_json()["commit"] == head(graph)
    assert_clean(graph)


def test_a_diff_by_versions_sees_what_a_restore_did(graph: Graph) -> None:
    then = head(graph)
    change(graph, 'update Person set { age: 31 } where name = "Alice"')
    last = head(graph)
    restored(graph, then)
    storage = graph._storage
    before, after = (snapshot_at(storage, find_commit(storage, each)) for each in (last, head(graph)))
    assert [(each.op, each.id) for each in diff_snapshots(storage, before, after)] == [("update", "Alice")]


def test_a_restore_that_would_change_nothing_makes_no_commit(graph: Graph) -> None:
    change(graph, 'update Person set { age: 31 } where name = "Alice"')
    change(graph, 'update Person set { age: 30 } where name = "Alice"')
    last = head(graph)
    result = restored(graph, graph.commits()[2].commit_id)
    assert (result.commit, result.stats.total, head(graph)) == (None, 0, last)


def test_a_branch_is_restored_alone_and_to_any_commit(graph: Graph) -> None:
    graph.create_branch("draft")
    change(graph, 'insert Person { name: "Eve", age: 22 }', "draft")
    on_draft = head(graph, "draft")
    change(graph, 'insert Person { name: "Frank", age: 1 }')
    restored(graph, on_draft)
    assert set(people(graph)) == {"Alice", "Bob", "Carol", "Dan", "Eve"}
    restored(graph, graph.commits()[-2].commit_id, "draft")
    assert "Eve" not in people(graph, "draft")
    assert "Eve" in people(graph)
    assert edges(graph) == edges(graph, "draft")
    assert_clean(graph)


def test_a_merge_after_a_restore_does_not_bring_the_rows_back(graph: Graph) -> None:
    graph.create_branch("draft")
    change(graph, 'insert Person { name: "Eve", age: 22 }', "draft")
    then = head(graph)
    merged(graph, "draft")
    restored(graph, then)
    assert merged(graph, "draft").outcome == "already_up_to_date"
    assert "Eve" not in people(graph)


def test_a_dry_run_says_what_would_change_and_changes_nothing(graph: Graph) -> None:
    then = head(graph)
    change(graph, 'delete Person where name = "Dan"')
    last = head(graph)
    result = restored(graph, then, dry_run=True)
    assert (result.stats.inserts, result.commit, head(graph)) == (1, None, last)


def test_vectors_and_blobs_come_back_as_they_were(tmp_path: Path) -> None:
    schema = "node Doc { name: String @key  face: Vector(3)?  file: Blob? }"
    lines = [
        node("Doc", name="a", face=[1.0, 2.0, 3.0], file="base64:aGVsbG8="),
        node("Doc", name="b", face=None, file="base64:"),
        node("Doc", name="c", face=[0.5, 0.5, 0.5], file=None),
    ]
    graph = make(tmp_path / "docs", schema, lines)
    then, before = head(graph), content(graph)
    put(graph, "main", node("Doc", name="a", face=[9.0, 9.0, 9.0], file="base64:Ynll"))
    change(graph, 'delete Doc where name = "b"')
    restored(graph, then)
    assert content(graph) == before
    assert_clean(graph)


def test_a_commit_that_is_not_there_changes_nothing(graph: Graph, tmp_path: Path) -> None:
    other = make(tmp_path / "other")
    last = head(graph)
    with pytest.raises(CommitNotFound):
        restored(graph, head(other))
    with pytest.raises(PreconditionFailed):
        restored(graph, graph.commits()[-1].commit_id, if_commit=graph.commits()[-1].commit_id)
    reader = Graph.open(str(tmp_path / "g"), read_only=True)
    with pytest.raises(OpenedReadOnly):
        restored(reader, graph.commits()[-1].commit_id)
    assert head(graph) == last


def test_a_commit_that_came_meanwhile_is_not_undone_unseen(graph: Graph) -> None:
    then = head(graph)
    change(graph, 'update Person set { age: 31 } where name = "Alice"')
    others = iter(['update Person set { age: 99 } where name = "Bob"'])

    def schema() -> Any:
        """Asked after the branch was read and before anything is decided."""
        for statement in others:
            change(graph, statement)
        return graph.schema

    with pytest.raises(ReadSetChanged):
        restore_branch(graph._storage, schema, Restore(commit_id=then))
    assert (people(graph)["Alice"], people(graph)["Bob"]) == (31, 99)


DYING_RESTORE = """
import sys
from omnigraph.graph import Graph
from omnigraph.merge import Restore, restore_branch
graph = Graph.open(sys.argv[1], durability="os")
restore_branch(graph._storage, lambda: graph.schema, Restore(commit_id=sys.argv[2]))
"""


@pytest.mark.parametrize("where", [Point.MUTATION_TABLE_COMMITTED, Point.PUBLISH_AFTER])
def test_a_restore_that_died_happened_whole_or_not_at_all(graph: Graph, where: Point) -> None:
    then, before = head(graph), content(graph)
    change(graph, 'delete Person where name = "Carol"')
    after = content(graph)
    command = [sys.executable, "-c", DYING_RESTORE, graph.uri, then]
    environment = {**os.environ, "OMNIGRAPH_FAILPOINTS": f"{where.value}=kill"}
    assert subprocess.run(command, env=environment, timeout=60, check=False).returncode == -9
    reopened = Graph.open(graph.uri, durability="os")
    assert content(reopened) in (before, after)
    restored(reopened, then)
    assert content(reopened) == before
    assert_clean(reopened)


def test_rows_of_a_type_that_is_gone_are_listed_and_nothing_changes() -> None:
    with rust_graph("evolved") as found:
        graph = Graph.open(found.uri, durability="os")
        first_load = graph.commits()[-2].commit_id
        last = head(graph)
        with pytest.raises(RestoreRefused, match="its type is not in the schema any more") as caught:
            restored(graph, first_load)
        assert {(each.type_name, each.entity_id) for each in caught.value.conflicts} == {
            ("Draft", "t1"),
            ("Person", "Ada"),
            ("Person", "Bela"),
        }
        assert caught.value.details()["conflicts_total"] == 3
        assert restored(graph, first_load, dry_run=True).conflicts_total == 3
        assert head(graph) == last


@pytest.mark.parametrize(
    ("person", "reason", "ids"),
    [
        ("age: I32?  nick: String?  email: String", "it has no value for 'email'", ["Alice", "Carol"]),
        ("age: I32  nick: String?", "the value of 'age' does not fit", ["Carol"]),
        ("age: I32?  nick: I32?", "the value of 'nick' does not fit", ["Alice"]),
        ("age: I64?  nick: String?", None, []),
    ],
)
def test_rows_that_do_not_fit_the_schema_of_today_are_listed(
    graph: Graph, person: str, reason: str | None, ids: list[str]
) -> None:
    change(graph, 'update Person set { age: null, nick: "7" } where name = "Carol"')
    then = head(graph)
    change(graph, 'update Person set { age: 1, nick: "1" } where name = "Alice"')
    change(graph, 'update Person set { age: 1, nick: "1" } where name = "Carol"')
    text = f"node Person {{ name: String @key  {person} }}\nedge Knows: Person -> Person {{ since: Date? }}\n"
    today = replace(graph.schema, catalog=catalog_from_ir(compile_schema(text).ir))
    result = restore_branch(graph._storage, lambda: today, Restore(commit_id=then, dry_run=True))
    assert [each.entity_id for each in result.conflicts] == ids
    assert all(reason is not None and reason in each.message for each in result.conflicts)


def test_a_type_that_is_younger_than_the_commit_becomes_empty() -> None:
    with rust_graph("evolved") as found:
        graph = Graph.open(found.uri, durability="os")
        change(graph, 'insert Place { name: "Oslo" }')
        after_rename = graph.commits()[2].commit_id
        restored(graph, after_rename)
        lines = [json.loads(line) for line in graph.export()]
        assert {line.get("type") or line.get("edge") for line in lines} == {"Human", "Knows"}
        assert_clean(graph)
