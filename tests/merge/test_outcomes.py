"""Merges row by row of the specification: outcomes, rules of the merged state, what moves and what does not."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from merge.merging import (
    assert_clean,
    change,
    conflicts,
    content,
    edge,
    edges,
    head,
    make,
    merged,
    node,
    people,
    put,
)
from omnigraph.graph import Graph
from omnigraph.history import find_commit, snapshot_at
from omnigraph.history.diff import side
from omnigraph.merge import MergeConflicts, delete_source
from omnigraph.model.errors import (
    BadRequest,
    BranchNotFound,
    Conflict,
    InvalidBranchName,
    OpenedReadOnly,
    ReadSetChanged,
    TableDrift,
)
from omnigraph.model.identifiers import TableKey
from omnigraph.storage.failpoints import Point, armed
from omnigraph.storage.manifest import CommitIdentity, PublishPlan, publish
from omnigraph.storage.tables import stage_append

PERSON, KNOWS = TableKey("node", "Person"), TableKey("edge", "Knows")
WORK_SCHEMA = """
node Person { name: String @key }
node Company { name: String @key }
edge WorksAt: Person -> Company @card(0..1)
"""


@pytest.fixture
def graph(tmp_path: Path) -> Graph:
    graph = make(tmp_path / "g")
    graph.create_branch("feature")
    return graph


def pins(graph: Graph, branch: str = "main") -> dict[TableKey, tuple[str | None, int]]:
    return {pin.table_key: (pin.lineage, pin.version) for pin in graph.snapshot(branch).tables}


def test_tx_M50_a_second_merge_finds_nothing_to_do(graph: Graph) -> None:
    change(graph, 'insert Person { name: "Eve" }', "feature")
    before = head(graph)
    result = merged(graph, "feature", message="bring Eve")
    assert result.outcome == "fast_forward"
    assert result.commit == graph.commits()[0]
    assert (result.commit.parent_id, result.commit.merged_parent_id) == (before, head(graph, "feature"))
    assert result.commit.py["message"] == "bring Eve"
    assert merged(graph, "feature").outcome == "already_up_to_date"
    assert graph.commits()[0] == result.commit, "no second commit"
    assert_clean(graph)


def test_tx_M51_a_branch_without_commits_has_nothing_to_merge(graph: Graph) -> None:
    before = head(graph)
    result = merged(graph, "feature")
    assert (result.outcome, result.commit, head(graph)) == ("already_up_to_date", None, before)


def test_tx_M52_a_branch_is_not_merged_into_itself(graph: Graph) -> None:
    for name in ("main", "feature"):
        with pytest.raises(BadRequest, match="distinct source and target branches"):
            merged(graph, name, name)


def test_a_branch_that_does_not_exist_is_refused_on_either_side(graph: Graph) -> None:
    with pytest.raises(BranchNotFound):
        merged(graph, "nobody")
    with pytest.raises(BranchNotFound):
        merged(graph, "feature", "nobody")
    with pytest.raises(InvalidBranchName):
        merged(graph, "__schema_apply_lock__")


def test_a_graph_that_was_opened_read_only_merges_only_for_show(graph: Graph) -> None:
    change(graph, 'insert Person { name: "Eve" }', "feature")
    reading = Graph.open(graph.uri, read_only=True)
    with pytest.raises(OpenedReadOnly):
        merged(reading, "feature")
    assert merged(reading, "feature", dry_run=True).stats.inserts == 1


def test_tx_M53_edits_that_cancel_each_other_are_merged_as_a_commit_without_changes(graph: Graph) -> None:
    change(graph, 'insert Knows { from: "Dan", to: "Bob" }', "feature")
    change(graph, 'delete Knows where from = "Dan"', "feature")
    before, version = pins(graph), graph.snapshot().version
    assert merged(graph, "feature").outcome == "fast_forward"
    assert (pins(graph), graph.snapshot().version) == (before, version + 1)
    assert merged(graph, "feature").outcome == "already_up_to_date"


def test_tx_M54_a_type_whose_edits_cancel_keeps_its_version_while_another_one_moves(graph: Graph) -> None:
    change(graph, 'insert Knows { from: "Dan", to: "Bob" }', "feature")
    change(graph, 'delete Knows where from = "Dan"', "feature")
    change(graph, 'insert Person { name: "Eve" }', "feature")
    before = pins(graph)
    merged(graph, "feature")
    assert "Eve" in people(graph)
    assert pins(graph)[KNOWS] == before[KNOWS]
    assert pins(graph)[PERSON] == (None, before[PERSON][1] + 1)


def test_tx_M55_null_arrives_where_an_empty_text_was(graph: Graph) -> None:
    change(graph, 'update Person set { nick: null } where name = "Alice"', "feature")
    merged(graph, "feature")
    [alice] = [json.loads(line)["data"] for line in graph.export() if b'"id":"Alice"' in line]
    assert alice["nick"] is None


def test_tx_M57_an_edge_that_main_added_to_a_removed_node_is_an_orphan(graph: Graph) -> None:
    change(graph, 'delete Person where name = "Carol"', "feature")
    change(graph, 'insert Knows { from: "Dan", to: "Carol" }')
    with pytest.raises(MergeConflicts) as caught:
        merged(graph, "feature")
    [only] = caught.value.conflicts
    assert (only.kind, only.entity_kind, only.type_name) == ("orphan_edge", "edge", "Knows")
    assert "dst 'Carol' not found in Person" in only.message


def test_tx_M58_the_same_in_the_other_direction_leaves_the_branch_alone(graph: Graph) -> None:
    change(graph, 'delete Person where name = "Carol"', "feature")
    change(graph, 'insert Knows { from: "Alice", to: "Carol" }')
    before = content(graph, "feature")
    with pytest.raises(MergeConflicts) as caught:
        merged(graph, "main", "feature")
    assert [each[0] for each in conflicts(caught.value)] == ["orphan_edge"]
    assert content(graph, "feature") == before


def test_tx_M59_two_entities_with_one_unique_value_are_a_conflict(tmp_path: Path) -> None:
    graph = make(tmp_path / "g", "node User { handle: String @key  email: String? @unique }", [])
    graph.create_branch("feature")
    put(graph, "feature", node("User", handle="a", email="x"))
    put(graph, "main", node("User", handle="b", email="x"))
    with pytest.raises(MergeConflicts) as caught:
        merged(graph, "feature")
    assert [(each[0], each[1]) for each in conflicts(caught.value)] == [("unique_violation", "User")]


def test_a_unique_value_that_moves_from_one_entity_to_another_is_merged(tmp_path: Path) -> None:
    schema = "node User { handle: String @key  email: String? @unique }"
    graph = make(tmp_path / "g", schema, [node("User", handle="a", email="x"), node("User", handle="c", email="z")])
    graph.create_branch("feature")
    put(graph, "feature", node("User", handle="a", email="y"))
    put(graph, "feature", node("User", handle="b", email="x"))
    change(graph, 'delete User where handle = "c"', "feature")
    put(graph, "feature", node("User", handle="d", email="z"))
    put(graph, "main", node("User", handle="e", email="w"))
    assert merged(graph, "feature").outcome == "merged"
    assert_clean(graph)


def test_tx_M60_too_many_edges_of_one_source_are_a_conflict_without_an_entity(tmp_path: Path) -> None:
    lines = [node("Person", name="Alice"), node("Company", name="Acme"), node("Company", name="Globex")]
    graph = make(tmp_path / "g", WORK_SCHEMA, lines)
    graph.create_branch("feature")
    put(graph, "feature", edge("WorksAt", "Alice", "Acme"))
    put(graph, "main", edge("WorksAt", "Alice", "Globex"))
    with pytest.raises(MergeConflicts) as caught:
        merged(graph, "feature")
    assert conflicts(caught.value) == [("cardinality_violation", "WorksAt", None)]


def test_tx_M61_a_value_that_the_schema_does_not_allow_is_a_conflict(tmp_path: Path) -> None:
    graph = make(tmp_path / "g", "node Task { name: String @key  state: enum(open, done)? }", [node("Task", name="a")])
    graph.create_branch("feature")
    put(graph, "feature", node("Task", name="b", state="open"))
    forge(graph, "feature", TableKey("node", "Task"), [{"id": "c", "name": "c", "state": "lost"}])
    with pytest.raises(MergeConflicts) as caught:
        merged(graph, "feature")
    assert conflicts(caught.value) == [("value_constraint_violation", "Task", "c")]


def forge(graph: Graph, branch: str, key: TableKey, rows: list[dict[str, Any]]) -> None:
    """Rows past every rule, published as another program would."""
    storage = graph._storage
    pin = next(pin for pin in storage.manifest.load(branch).state.pins() if pin.table_key == key)
    table = storage.tables.open(pin)
    version = storage.table_commits.commit(stage_append(table, pa.Table.from_pylist(rows, schema=table.schema)))
    publish(storage.manifest, PublishPlan(branch=branch, changes=(version,), identity=CommitIdentity()))


def test_tx_M65_M66_a_named_branch_gets_forks_of_its_own_and_the_source_can_go(graph: Graph) -> None:
    graph.create_branch("release")
    change(graph, 'insert Person { name: "Eve" }', "feature")
    assert merged(graph, "feature", "release").outcome == "fast_forward"
    assert pins(graph, "release")[PERSON][0] == "release"
    assert pins(graph, "release")[KNOWS][0] is None
    change(graph, 'insert Person { name: "Frank" }', "feature")
    assert merged(graph, "feature", "release").outcome == "merged"
    graph.delete_branch("feature")
    assert {"Eve", "Frank"} <= set(people(graph, "release"))
    assert set(people(graph)).isdisjoint({"Eve", "Frank"})
    assert_clean(graph)


def test_tx_M67_what_is_written_to_the_source_after_the_capture_is_for_the_next_merge(graph: Graph) -> None:
    change(graph, 'insert Person { name: "Eve" }', "feature")
    captured = head(graph, "feature")
    other = Graph.open(graph.uri, durability="os")
    with armed(Point.MUTATION_STAGED, lambda: change(other, 'insert Person { name: "Late" }', "feature")):
        result = merged(graph, "feature")
    assert result.commit is not None
    assert result.commit.merged_parent_id == captured != head(graph, "feature")
    assert "Late" not in people(graph)
    assert merged(graph, "feature").stats.inserts == 1
    assert "Late" in people(graph)


def test_tx_M68_a_commit_on_the_target_meanwhile_makes_the_merge_stale(graph: Graph) -> None:
    change(graph, 'insert Person { name: "Eve" }', "feature")
    other = Graph.open(graph.uri, durability="os")
    with (
        armed(Point.MUTATION_STAGED, lambda: change(other, 'insert Person { name: "Late" }')),
        pytest.raises(ReadSetChanged),
    ):
        merged(graph, "feature")
    assert set(people(graph)) == {"Alice", "Bob", "Carol", "Dan", "Late"}
    assert_clean(graph)


def test_upkeep_of_the_target_meanwhile_does_not_disturb_a_merge(graph: Graph) -> None:
    for number in range(6):
        change(graph, f'insert Person {{ name: "P{number}" }}')
    change(graph, 'insert Person { name: "Eve" }', "feature")
    change(graph, 'delete Person where name = "Dan"', "feature")
    other = Graph.open(graph.uri, durability="os")
    with armed(Point.MUTATION_STAGED, lambda: other.optimize()):
        assert merged(graph, "feature").outcome == "merged"
    assert "Eve" in people(graph)
    assert "Dan" not in people(graph)
    assert_clean(graph)


def test_tx_M69_a_target_that_was_made_again_meanwhile_makes_the_merge_stale(graph: Graph) -> None:
    graph.create_branch("release")
    change(graph, 'insert Person { name: "Eve" }', "feature")
    other = Graph.open(graph.uri, durability="os")

    def make_again() -> None:
        other.delete_branch("release")
        other.create_branch("release")

    with armed(Point.MUTATION_STAGED, make_again), pytest.raises(ReadSetChanged):
        merged(graph, "feature", "release")
    assert "Eve" not in people(graph, "release")


def test_a_source_that_was_made_again_meanwhile_makes_the_merge_stale(graph: Graph) -> None:
    change(graph, 'insert Person { name: "Eve" }', "feature")
    other = Graph.open(graph.uri, durability="os")

    def make_again() -> None:
        other.delete_branch("feature")
        other.create_branch("feature")

    with (
        armed(Point.MUTATION_STAGED, make_again),
        pytest.raises(ReadSetChanged, match="is now another branch of this name"),
    ):
        merged(graph, "feature")
    assert "Eve" not in people(graph)
    assert_clean(graph)


def test_tx_M70_a_table_that_another_program_wrote_to_is_not_merged_into(graph: Graph) -> None:
    change(graph, 'insert Person { name: "Eve" }', "feature")
    storage = graph._storage
    table = storage.tables.open(graph.snapshot().table(PERSON))
    rows = pa.Table.from_pylist([{"id": "raw", "name": "raw"}], schema=table.schema)
    storage.table_commits.commit(stage_append(table, rows))
    with pytest.raises(TableDrift, match="repair"):
        merged(graph, "feature")
    assert storage.objects.list_names("__recovery") == []


def test_tx_M71_blobs_are_merged_byte_by_byte(tmp_path: Path) -> None:
    blobs = {"some": b"\x00\xff" * 3, "large": bytes(range(256)) * 500, "empty": b"", "none": None}
    texts = {
        name: None if data is None else f"base64:{base64.b64encode(data).decode()}" for name, data in blobs.items()
    }
    graph = make(
        tmp_path / "g", "node File { name: String @key  data: Blob? }", [node("File", name="old", data="base64:YQ==")]
    )
    graph.create_branch("feature")
    put(graph, "feature", *(node("File", name=name, data=text) for name, text in texts.items()))
    put(graph, "main", node("File", name="main", data="base64:Yg=="))
    merged(graph, "feature")
    found = {(line := json.loads(text)["data"])["id"]: line["data"] for text in graph.export()}
    assert found == {**texts, "old": "base64:YQ==", "main": "base64:Yg=="}


def test_tx_M72_a_source_that_cannot_be_deleted_leaves_the_merge_as_it_is(graph: Graph) -> None:
    change(graph, 'insert Person { name: "Eve" }', "feature")
    graph.branch("feature").create_branch("child")
    result = graph.merge("feature", delete_branch=True)
    assert result.branch_deleted is False
    assert "child" in (result.branch_delete_error or "")
    assert "Eve" in people(graph)
    graph.delete_branch("child")

    def refuse() -> None:
        raise Conflict("not allowed")

    refused = delete_source(graph._storage, result, allow=refuse)
    assert (refused.branch_deleted, refused.branch_delete_error) == (False, "not allowed")
    assert delete_source(graph._storage, result, allow=lambda: None).branch_deleted is True


def test_tx_M73_rows_that_the_merge_does_not_touch_keep_their_version(graph: Graph) -> None:
    change(graph, 'update Person set { age: 1 } where name = "Alice"', "feature")

    def stamps() -> dict[str, int]:
        table = graph._storage.tables.open(graph.snapshot().table(PERSON))
        rows = table.read(["id", "_row_last_updated_at_version"]).to_pylist()
        return {row["id"]: row["_row_last_updated_at_version"] for row in rows}

    before = stamps()
    merged(graph, "feature")
    after = stamps()
    assert after.pop("Alice") > before.pop("Alice")
    assert after == before


def test_tx_M74_many_thousand_rows_are_one_version_of_their_table(graph: Graph) -> None:
    put(graph, "feature", *(node("Person", name=f"n{number:05}", age=number) for number in range(20_000)))
    change(graph, 'insert Person { name: "Eve" }')
    before = pins(graph)[PERSON][1]
    result = merged(graph, "feature")
    assert (result.stats.inserts, pins(graph)[PERSON][1]) == (20_000, before + 1)
    assert len(people(graph)) == 20_005


def test_tx_M75_a_merge_builds_no_index_and_questions_find_the_merged_rows(tmp_path: Path) -> None:
    graph = make(tmp_path / "g", "node Person { name: String @key  age: I32? @index }", [])
    put(graph, "main", *(node("Person", name=f"n{number}", age=number) for number in range(300)))
    graph.optimize()
    graph.create_branch("feature")
    change(graph, "update Person set { age: 1000 } where age = 7", "feature")
    change(graph, "delete Person where age = 8", "feature")
    put(graph, "feature", node("Person", name="new", age=1000))
    before = len(graph.commits())
    merged(graph, "feature")
    assert len(graph.commits()) == before + 1
    found = "query q($age: I32) { match { $p: Person  $p.age = $age } return { $p.name } }"
    assert sorted(row["p.name"] for row in graph.query(found, age=1000)) == ["n7", "new"]
    assert [list(graph.query(found, age=age)) for age in (7, 8)] == [[], []]
    assert_clean(graph)


def test_tx_M76_the_same_relation_added_on_both_sides_is_one_edge_if_edges_converge(tmp_path: Path) -> None:
    counts = {}
    for policy in ("keep", "converge"):
        graph = make(tmp_path / policy)
        graph.create_branch("feature")
        for branch in ("feature", "main"):
            change(graph, 'insert Knows { from: "Alice", to: "Dan" }', branch)
        put(graph, "feature", edge("Knows", "Alice", "Dan", since="2020-01-01"))  # another one: it has a date
        put(graph, "feature", edge("Knows", "Alice", "Bob"))
        merged(graph, "feature", merge_edges=policy if policy == "keep" else {"Knows": "converge"})
        counts[policy] = edges(graph)
        assert_clean(graph)
    assert counts["keep"] == {("Bob", "Carol"): 1, ("Alice", "Dan"): 3, ("Alice", "Bob"): 1}
    assert counts["converge"] == {("Bob", "Carol"): 1, ("Alice", "Dan"): 2, ("Alice", "Bob"): 1}


def test_parallel_edges_of_one_side_stay_when_edges_converge(graph: Graph) -> None:
    for _ in range(2):
        change(graph, 'insert Knows { from: "Alice", to: "Dan" }', "feature")
    change(graph, 'insert Knows { from: "Alice", to: "Dan" }')
    merged(graph, "feature", merge_edges="converge")
    assert edges(graph)["Alice", "Dan"] == 2


def test_an_edge_policy_that_does_not_exist_is_refused(graph: Graph) -> None:
    change(graph, 'insert Person { name: "Eve" }', "feature")
    with pytest.raises(BadRequest, match="unknown merge_edges 'drop'"):
        merged(graph, "feature", merge_edges="drop")
    with pytest.raises(BadRequest, match="'Likes', which is not an edge type"):
        merged(graph, "feature", merge_edges={"Likes": "keep"})


def test_a_dry_run_tells_what_would_happen_and_changes_nothing(graph: Graph) -> None:
    change(graph, 'update Person set { age: 1 } where name = "Alice"', "feature")
    change(graph, 'insert Person { name: "Eve" }', "feature")
    change(graph, 'update Person set { age: 2 } where name = "Alice"')
    before = head(graph), content(graph)
    result = merged(graph, "feature", dry_run=True)
    assert (result.outcome, result.commit, result.dry_run) == ("merged", None, True)
    assert [(each.kind, each.entity_id) for each in result.conflicts] == [("divergent_update", "Alice")]
    [only] = result.conflicts
    assert [image.properties["age"] for image in (only.base, only.source, only.target) if image] == [30, 1, 2]
    assert result.stats.inserts == 1
    assert (head(graph), content(graph)) == before
    members = result.to_json()
    assert list(members)[:4] == ["source", "target", "outcome", "actor_id"]
    assert json.loads(json.dumps(members)) == members


def test_a_merge_can_be_read_at_its_commit_and_at_the_one_before(graph: Graph) -> None:
    before = head(graph)
    change(graph, 'insert Person { name: "Eve" }', "feature")
    merged(graph, "feature")
    storage = graph._storage
    counts = [
        snapshot_at(storage, find_commit(storage, commit)).table(PERSON).row_count for commit in (before, head(graph))
    ]
    assert counts == [4, 5]


@pytest.mark.parametrize("compacted", [False, True], ids=["a large load on main", "and a compaction"])
def test_a_few_changes_are_merged_into_a_target_that_moved_far_without_comparing_it_whole(
    graph: Graph, compacted: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    change(graph, 'update Person set { age: 1 } where name = "Alice"', "feature")
    change(graph, 'update Person set { age: 1 } where name = "Bob"', "feature")
    change(graph, 'delete Person where name = "Dan"', "feature")
    change(graph, 'insert Person { name: "Eve", age: 1 }', "feature")
    change(graph, 'insert Person { name: "n00007", age: 70 }', "feature")
    put(graph, "main", *(node("Person", name=f"n{number:05}", age=number) for number in range(20_000)))
    change(graph, 'update Person set { age: 2 } where name = "Bob"')
    if compacted:
        graph.optimize()
    read: list[int] = []
    real = side.read_candidates
    monkeypatch.setattr(
        side, "read_candidates", lambda *given, **options: read.append(len(given[1])) or real(*given, **options)
    )
    with pytest.raises(MergeConflicts) as caught:
        merged(graph, "feature")
    assert conflicts(caught.value) == [("divergent_update", "Person", "Bob"), ("divergent_insert", "Person", "n00007")]
    assert max(read) < 100
    result = merged(graph, "feature", on_conflict="theirs")
    assert (result.stats.inserts, result.stats.updates, result.stats.deletes) == (1, 3, 1)
    found = people(graph)
    assert [found[name] for name in ("Alice", "Bob", "Eve", "n00007", "n00008")] == [1, 1, 1, 70, 8]
    assert len(found) == 20_004
    assert_clean(graph)
