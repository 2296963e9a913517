"""The log: commits newest first, along first parents or all of them, and its filters."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from merge.merging import change, head, make, merged
from omnigraph.graph import Graph
from omnigraph.history import LogEntry, UnknownReference, create_tag, log_entries, log_filter
from omnigraph.history.commits import find_commit
from omnigraph.history.table_history import TableHistory
from omnigraph.model.errors import BadRequest, CommitNotFound, TypeNotFound
from omnigraph.model.values import format_datetime


@pytest.fixture
def graph(tmp_path: Path) -> Graph:
    return make(tmp_path / "g")


def log(
    graph: Graph, branch: str = "main", *, full: bool = False, limit: int | None = None, **wanted: Any
) -> list[str]:
    return [entry.commit_id for entry in entries(graph, branch, full=full, limit=limit, **wanted)]


def entries(
    graph: Graph, branch: str = "main", *, full: bool = False, limit: int | None = None, **wanted: Any
) -> list[LogEntry]:
    commit = find_commit(graph._storage, head(graph, branch))
    return list(log_entries(graph._storage, commit, log_filter(**wanted), full=full, limit=limit))


def test_the_log_of_a_branch_is_its_line_of_first_parents_newest_first(graph: Graph) -> None:
    change(graph, 'insert Person { name: "Eve", age: 22 }')
    found = entries(graph)
    assert [entry.commit_id for entry in found] == [commit.commit_id for commit in graph.commits()]
    assert [entry.kind for entry in found] == ["mutation", "load", "init"]
    assert found[0].parents == (found[1].commit_id,)
    assert found[-1].parents == ()
    assert found[0].to_json()["graph_commit_id"] == head(graph)
    assert log(graph, limit=2) == log(graph)[:2]
    assert log(graph, limit=0) == []


def test_the_full_log_has_what_a_merge_brought_and_every_commit_once(graph: Graph) -> None:
    graph.create_branch("draft")
    change(graph, 'insert Person { name: "Eve", age: 22 }', "draft")
    change(graph, 'insert Person { name: "Frank", age: 1 }')
    on_main, on_draft = head(graph), head(graph, "draft")
    merge_id = merged(graph, "draft").commit_id
    short, full = log(graph), log(graph, full=True)
    assert on_draft not in short
    assert full[0] == merge_id
    assert set(full) == {*short, on_draft}
    assert len(full) == len(set(full))
    assert full.index(on_draft) > full.index(on_main) > 0  # the younger first
    newest = entries(graph, full=True)[0]
    assert newest.is_merge
    assert newest.parents == (on_main, on_draft)


def test_the_full_log_still_has_the_commits_of_a_deleted_branch(graph: Graph) -> None:
    graph.create_branch("draft")
    writer = Graph(graph._storage, "draft", "ada")
    writer.mutate('query add() { insert Person { name: "Eve" } }', message="Eve joins")
    on_draft = head(graph, "draft")
    change(graph, 'insert Person { name: "Frank", age: 1 }')
    merged(graph, "draft")
    graph.delete_branch("draft")
    kept = next(entry for entry in entries(graph, full=True) if entry.commit_id == on_draft)
    assert (kept.branch, kept.actor_id, kept.kind, kept.message, kept.version) == (
        "draft",
        "ada",
        "mutation",
        "Eve joins",
        None,
    )
    assert log(graph, full=True, type_name="Knows") == [log(graph)[-2]]


def test_commits_are_filtered_by_actor_kind_and_message(graph: Graph) -> None:
    ada, bea = (Graph(graph._storage, "main", name) for name in ("ada", "bea"))
    ada.mutate('query add() { insert Person { name: "Eve" } }', message="Eve joins the team")
    first = head(graph)
    bea.mutate('query add() { insert Person { name: "Frank" } }', message="Frank joins")
    assert log(graph, actor="ada") == [first]
    assert log(graph, actor=["ada", "bea"]) == [head(graph), first]
    assert log(graph, kind=["load", "init"]) == log(graph)[2:]
    assert log(graph, message="eve JOINS") == [first]
    assert log(graph, message="joins", limit=1) == [head(graph)]
    assert log(graph, actor="nobody") == []


def test_commits_are_filtered_by_time_and_by_commit(graph: Graph) -> None:
    for number in range(4):
        change(graph, f'insert Person {{ name: "P{number}", age: {number} }}')
    whole = entries(graph)
    ids = [entry.commit_id for entry in whole]
    assert log(graph, before=ids[1]) == ids[2:]
    assert log(graph, before=ids[1], limit=2) == ids[2:4]
    assert log(graph, since=ids[2]) == ids[:2]
    assert log(graph, since=ids[3], before=ids[0]) == ids[1:3]
    assert log(graph, full=True, since=ids[2]) == ids[:2]
    create_tag(graph._storage, "v1", ids[2])
    assert (log(graph, since="v1"), log(graph, before="tag:v1")) == (ids[:2], ids[3:])
    future = format_datetime(whole[0].created_at // 1000 + 60_000)
    assert (log(graph, since=future), log(graph, before=future)) == ([], ids)
    assert (log(graph, since="2001-01-01"), log(graph, before="2001-01-01")) == (ids, [])


def test_commits_are_filtered_by_the_types_that_they_changed(graph: Graph) -> None:
    loaded = head(graph)
    change(graph, 'insert Person { name: "Eve", age: 22 }')
    eve = head(graph)
    change(graph, 'insert Knows { from: "Alice", to: "Eve" }')
    edge = head(graph)
    for number in range(6):
        change(graph, f'insert Person {{ name: "P{number}", age: {number} }}')
    graph.optimize()
    assert log(graph, type_name="Knows") == [edge, loaded]
    people = log(graph, type_name="Person")
    assert people[-2:] == [eve, loaded]
    assert len(people) == 8
    assert log(graph, type_name=["node:Person", "Knows"], limit=1) == people[:1]
    with pytest.raises(TypeNotFound):
        log(graph, type_name="Persons")


def test_a_type_filter_knows_the_branches_that_were_merged(graph: Graph) -> None:
    graph.create_branch("draft")
    change(graph, 'insert Knows { from: "Alice", to: "Dan" }', "draft")
    edge = head(graph, "draft")
    change(graph, 'insert Person { name: "Frank", age: 1 }', "draft")
    change(graph, 'insert Person { name: "Eve", age: 22 }')
    merge_id = merged(graph, "draft").commit_id
    assert log(graph, full=True, type_name="Knows") == [merge_id, edge, log(graph)[-2]]
    assert log(graph, type_name="Knows") == [merge_id, log(graph)[-2]]


def test_a_type_filter_knows_the_commits_of_deleted_branches(graph: Graph) -> None:
    draft = graph.create_branch("draft")
    change(graph, 'insert Knows { from: "Alice", to: "Dan" }', "draft")
    edge = head(graph, "draft")
    for number in range(3):
        change(graph, f'insert Person {{ name: "P{number}", age: 1 }}', "draft")
    people = head(graph, "draft")
    draft.optimize()
    upkeep = head(graph, "draft")
    merge_id = merged(graph, "draft").commit_id
    graph.delete_branch("draft")
    loaded = log(graph)[-2]
    assert upkeep != people
    assert upkeep in log(graph, full=True)
    assert log(graph, full=True, type_name="Knows") == [merge_id, edge, loaded]
    assert log(graph, full=True, type_name="node:Person")[:2] == [merge_id, people]
    assert len(log(graph, full=True, type_name="Person")) == 5
    assert log(graph, type_name="Knows") == [merge_id, loaded]


def test_a_kept_commit_that_does_not_say_which_types_it_changed_is_shown_for_each(graph: Graph) -> None:
    graph.create_branch("draft")
    change(graph, 'insert Knows { from: "Alice", to: "Dan" }', "draft")
    edge = head(graph, "draft")
    merged(graph, "draft")
    graph.delete_branch("draft")
    path = Path(graph.uri) / "__history" / f"{edge}.json"
    members = json.loads(path.read_text())
    assert members.pop("types") == ["edge:Knows"]
    path.write_text(json.dumps(members))
    assert edge in log(Graph.open(graph.uri), full=True, type_name="Person")


def test_a_branch_whose_files_are_damaged_can_be_deleted_and_its_commits_are_kept(graph: Graph) -> None:
    graph.create_branch("draft")
    change(graph, 'insert Person { name: "Eve" }', "draft")
    eve = head(graph, "draft")
    change(graph, 'insert Person { name: "Frank" }', "draft")
    merged(graph, "draft")
    pin = next(pin for pin in graph.snapshot("draft").tables if pin.lineage == "draft")
    for file in (Path(graph.uri) / pin.path / "_versions").glob("*.manifest"):
        file.unlink()
    other = Graph.open(graph.uri)
    other.delete_branch("draft")
    assert other.branches() == ["main"]
    assert eve in log(other, full=True, type_name="Person")


def test_commits_are_filtered_by_the_entity_that_they_changed(graph: Graph) -> None:
    loaded = head(graph)
    change(graph, 'update Person set { age: 31 } where name = "Alice"')
    first = head(graph)
    change(graph, 'update Person set { age: 26 } where name = "Bob"')
    graph.create_branch("draft")
    change(graph, 'update Person set { age: 32 } where name = "Alice"', "draft")
    merge_id = merged(graph, "draft").commit_id
    assert log(graph, entity=("Person", "Alice")) == [merge_id, first, loaded]
    assert log(graph, entity=("Person", "Alice"), full=True) == [head(graph, "draft"), first, loaded]
    assert log(graph, entity=("Person", "Alice"), kind="load") == [loaded]
    assert log(graph, entity=("Person", "Nobody")) == []


def test_bad_filters_are_refused(graph: Graph) -> None:
    with pytest.raises(BadRequest):
        log(graph, limit=-1)
    with pytest.raises(UnknownReference):
        log(graph, since="yesterday")
    for wanted in ("since", "before"):
        with pytest.raises(CommitNotFound):
            log(graph, **{wanted: "01M7NE9KHK33ZCJHA88FEZ8724"})


def test_the_first_entries_cost_no_look_at_the_rest(graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(10):
        change(graph, f'insert Person {{ name: "P{number}", age: {number} }}')
    looked: list[int] = []
    commit_at = TableHistory.commit_at

    def counted(self: TableHistory, place: int) -> object:
        looked.append(place)
        return commit_at(self, place)

    monkeypatch.setattr(TableHistory, "commit_at", counted)
    assert len(log(graph, type_name="Person", limit=2)) == 2
    assert len(looked) <= 4


def test_a_page_may_end_with_a_commit_of_a_deleted_branch(tmp_path: Path) -> None:
    graph = Graph.init(str(tmp_path / "deleted"), "node P { name: String @key }\n", durability="os")
    add = "query q($n: String) { insert P { name: $n } }"
    draft = graph.create_branch("draft")
    for name in "ab":
        draft.mutate(add, n=name)
    graph.mutate(add, n="c")
    graph.merge("draft", delete_branch=True)
    whole = [entry.commit_id for entry in graph.log(full=True)]
    paged: list[str] = []
    while page := graph.log(full=True, limit=1, before=paged[-1] if paged else None):
        paged += [entry.commit_id for entry in page]
    assert paged == whole


def test_the_log_of_a_type_goes_back_beyond_versions_that_were_removed(graph: Graph) -> None:
    graph.create_branch("draft")
    change(graph, 'insert Person { name: "Eve", age: 22 }', "draft")
    for number in range(4):
        change(graph, f'insert Person {{ name: "New{number}", age: 1 }}')
    graph.optimize()
    before = {full: log(graph, full=full, type_name="Person") for full in (False, True)}
    on_draft = log(graph, "draft", type_name="Person")
    assert len(before[False]) == 5
    assert graph.cleanup(keep_versions=1, grace="0s", confirm=True).versions > 4
    again = Graph.open(graph.uri)
    assert {full: log(again, full=full, type_name="Person") for full in (False, True)} == before
    assert log(again, "draft", type_name="Person") == on_draft


def test_a_branch_that_is_deleted_after_a_cleanup_leaves_the_types_that_it_changed(
    graph: Graph, caplog: pytest.LogCaptureFixture
) -> None:
    graph.create_branch("draft")
    for number in range(4):
        change(graph, f'insert Person {{ name: "New{number}", age: 1 }}', "draft")
    merged(graph, "draft")
    expected = log(graph, full=True, type_name="Person")
    graph.cleanup(keep_versions=1, grace="0s", confirm=True)
    graph.delete_branch("draft")
    assert not caplog.records
    assert log(Graph.open(graph.uri), full=True, type_name="Person") == expected
