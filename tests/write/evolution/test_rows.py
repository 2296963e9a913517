"""The rows of the tables about changing a schema: one test each, by its id."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from omnigraph.errors import (
    HistoricalVersionReclaimed,
    OmniGraphError,
    SchemaApplyInProgress,
    SchemaBlockedByBranches,
    SchemaBlockedByTags,
    SchemaChangeUnsupported,
    SchemaRowsRefused,
)
from omnigraph.graph import Graph
from omnigraph.model.identifiers import SCHEMA_APPLY_LOCK
from omnigraph.storage import MANIFEST

P = "node P { k: String @key a: I32? s: enum(x, y) }\n"
KNOWS = "edge Knows: P -> P\n"
ALL = "query q() { match { $p: P } return { $p.* } order { $p.k } }"


def rows(graph: Graph, text: str = ALL, **options: Any) -> list[dict[str, Any]]:
    return [row["p"] for row in graph.query(text, **options)]


@pytest.fixture
def graph(tmp_path: Path) -> Graph:
    graph = Graph.init(str(tmp_path / "g"), P + KNOWS, durability="os")
    people = [{"type": "P", "data": {"k": k, "a": a, "s": s}} for k, a, s in (("a", 1, "x"), ("b", None, "y"))]
    edge = {"edge": "Knows", "from": "a", "to": "b", "data": {}}
    graph.load([json.dumps(record).encode() for record in (*people, edge)], mode="append")
    return graph


def versions(graph: Graph) -> dict[str, int]:
    return {str(pin.table_key): pin.version for pin in graph.snapshot().tables}


def is_clean(graph: Graph) -> bool:
    return graph.verify().ok and not graph.pending_recoveries()


# --- schema-language, table H -------------------------------------------------------------------------------------


def test_schema_H16_tx_O16_a_drop_with_a_branch_is_a_conflict_that_names_it_and_the_plan_still_works(
    graph: Graph,
) -> None:
    graph.create_branch("feature")
    text = P.replace("a: I32?", "") + KNOWS
    assert [branch.name for branch in graph.plan_schema(text).blocking_branches] == ["feature"]
    with pytest.raises(SchemaBlockedByBranches, match="feature"):
        graph.apply_schema(text)
    assert is_clean(graph)


@pytest.mark.parametrize(
    "text",
    [
        P.replace("a: I32?", "a: I32? n: String?") + KNOWS,
        P.replace("a: I32?", 'age: I32? @rename_from("a")') + KNOWS,
        P.replace("a: I32?", "a: I32? @index") + KNOWS,
        P.replace("enum(x, y)", "enum(x, y, z)?") + KNOWS,
        P.replace("{ k", '@description("people") { k', 1) + KNOWS,
        P + KNOWS + "node Q { t: String @unique }",
    ],
    ids=["add", "rename", "index", "relax", "describe", "type"],
)
def test_what_adds_relaxes_renames_or_describes_goes_with_branches_which_keep_their_schema(
    graph: Graph, text: str
) -> None:
    branch = graph.create_branch("feature")
    before = rows(branch)
    graph.apply_schema(text)
    assert rows(branch) == before
    assert branch.schema_source == P + KNOWS
    branch.mutate('query m() { insert P { k: "c", a: 3, s: "x" } }')
    assert len(rows(branch)) == 3
    graph.merge("feature")
    assert len(rows(graph)) == 3
    assert is_clean(graph)


def test_schema_H17_apply_while_another_program_holds_the_lock_is_a_conflict(graph: Graph) -> None:
    graph._storage.lineages.create(MANIFEST, SCHEMA_APPLY_LOCK, None, graph.snapshot().version)
    with pytest.raises(SchemaApplyInProgress, match="already in progress"):
        graph.apply_schema(P + KNOWS + "node Q { t: String }")
    with pytest.raises(SchemaApplyInProgress):
        graph.mutate('query m() { insert P { k: "c", s: "x" } }')
    assert graph.unlock_schema().found
    assert graph.apply_schema(P + KNOWS + "node Q { t: String }").applied
    assert is_clean(graph)


def test_schema_H19_a_metadata_change_moves_no_table_and_is_one_commit(graph: Graph) -> None:
    before, count = versions(graph), len(graph.commits())
    receipt = graph.apply_schema(P.replace("enum(x, y)", "enum(x, y, z)") + KNOWS, message="more states")
    assert receipt.applied
    assert versions(graph) == before
    assert len(graph.commits()) == count + 1
    assert graph.commits()[0].py["message"] == "more states"
    graph.mutate('query m() { insert P { k: "c", s: "z" } }')


def test_schema_H20_indexes_of_untouched_columns_stay_when_a_property_is_added(graph: Graph) -> None:
    graph.ensure_indices()
    before = {(index.column, index.state) for index in graph.indexes() if index.type == "node:P"}
    graph.apply_schema(P.replace("a: I32?", "a: I32? n: String?") + KNOWS)
    assert {(index.column, index.state) for index in graph.indexes() if index.type == "node:P"} == before
    assert [row["n"] for row in rows(graph)] == [None, None]


def test_schema_H21_an_index_on_an_empty_vector_column_is_pending_until_there_are_vectors(graph: Graph) -> None:
    graph.apply_schema(P.replace("a: I32?", "a: I32? v: Vector(2)? @index") + KNOWS)
    assert [i.state for i in graph.indexes() if i.column == "v"] == ["pending"]
    graph.load([b'{"type":"P","data":{"k":"c","s":"x","v":[1,2]}}'], mode="append")
    graph.ensure_indices()
    assert [i.state for i in graph.indexes() if i.column == "v"] == ["ready"]


def test_schema_H22_tx_O17_an_unsupported_change_changes_nothing_and_names_every_step(graph: Graph) -> None:
    before = graph.snapshot()
    with pytest.raises(SchemaChangeUnsupported) as refused:
        graph.apply_schema("node P { k: String @key a: String? s: enum(x) }\n" + KNOWS)
    assert len(refused.value.steps) == 2
    assert graph.snapshot() == before
    graph.mutate('query m() { insert P { k: "c", s: "x" } }')


def test_schema_H23_drops_for_good_are_gone_from_the_past_too(graph: Graph) -> None:
    before = graph.snapshot().commit_id
    receipt = graph.apply_schema("node P { k: String @key s: enum(x, y) }", allow_data_loss=True)
    assert [step.to_json()["mode"] for step in receipt.plan.steps] == ["hard", "hard"]
    with pytest.raises(HistoricalVersionReclaimed):
        rows(graph, commit=before)
    assert rows(graph) == [{"id": "a", "k": "a", "s": "x"}, {"id": "b", "k": "b", "s": "y"}]
    assert is_clean(graph)


def test_schema_H24_a_rename_and_a_drop_for_good_reach_the_table_of_both_names(graph: Graph) -> None:
    before = graph.snapshot().commit_id
    text = 'node Q @rename_from("P") { k: String @key s: enum(x, y) }\nedge Knows: Q -> Q\n'
    graph.apply_schema(text, allow_drop=["node:Q.a"])
    with pytest.raises(HistoricalVersionReclaimed):
        rows(graph, commit=before)
    assert len(graph.query("query q() { match { $p: Q  $p knows $o } return { $p.k, $o.k } }")) == 1
    assert is_clean(graph)


def test_a_drop_for_good_reaches_the_names_that_the_type_had_before(graph: Graph) -> None:
    before = graph.snapshot().commit_id
    text = P.replace("node P", 'node Q @rename_from("P")') + "edge Knows: Q -> Q\n"
    graph.apply_schema(text)
    assert len(rows(graph, commit=before)) == 2
    graph.apply_schema(text.replace("a: I32?", ""), allow_drop=["node:Q.a"])
    with pytest.raises(HistoricalVersionReclaimed):
        rows(graph, commit=before)
    graph.apply_schema(text.replace("a: I32?", "") + "node P { k: String @key }\n")
    assert is_clean(graph)


# --- transactions, table O ----------------------------------------------------------------------------------------


def test_tx_O02_a_property_is_added_after_optimize(graph: Graph) -> None:
    for name in "cdef":
        graph.mutate(f'query m() {{ insert P {{ k: "{name}", s: "x" }} }}')
    graph.optimize()
    assert graph.apply_schema(P.replace("a: I32?", "a: I32? n: String?") + KNOWS).applied
    assert len(rows(graph)) == 6
    assert is_clean(graph)


def test_tx_O18_a_type_that_was_dropped_is_readable_before_and_gone_at_the_head(graph: Graph) -> None:
    before = graph.snapshot().commit_id
    graph.apply_schema(P)
    query = "query q() { match { $p: P  $p knows $o } return { $o.k } }"
    assert len(graph.query(query, commit=before)) == 1
    assert len(graph.at(str(before)).query(query)) == 1
    with pytest.raises(OmniGraphError):
        graph.query(query)


def test_tx_O19_a_type_that_is_dropped_and_added_again_starts_empty(graph: Graph) -> None:
    graph.apply_schema("")
    graph.apply_schema(P)
    assert rows(graph) == []
    graph.mutate('query m() { insert P { k: "n", s: "y" } }')
    assert [row["k"] for row in rows(graph)] == ["n"]
    assert is_clean(graph)


# --- schema-language, table D, through the graph ------------------------------------------------------------------

D = "node P { k: String @key n: I32? e: String? d: Date? big: I64? @unique(e) }\n"


@pytest.fixture
def people(tmp_path: Path) -> Graph:
    return Graph.init(str(tmp_path / "d"), D, durability="os")


def test_schema_D10_the_same_key_twice_in_two_commits_is_an_upsert(people: Graph) -> None:
    for _ in range(2):
        people.load([b'{"type":"P","data":{"k":"a","e":"A"}}'], mode="merge")
    assert [row["e"] for row in rows(people)] == ["A"]


def test_schema_D11_uniqueness_is_judged_on_the_final_image(people: Graph) -> None:
    people.mutate('query m() { insert P { k: "1", e: "A" } }')
    people.mutate('query m() { update P set { e: "B" } where k = "1"  insert P { k: "2", e: "A" } }')
    assert [(row["k"], row["e"]) for row in rows(people)] == [("1", "B"), ("2", "A")]


def test_schema_D15_a_member_of_the_key_cannot_be_updated(people: Graph) -> None:
    with pytest.raises(OmniGraphError, match="key"):
        people.mutate('query m() { update P set { k: "b" } where k = "a" }')


def test_schema_D43_D44_dates_and_large_integers_in_results_and_exports(people: Graph) -> None:
    people.load([b'{"type":"P","data":{"k":"a","d":"2026-01-02","big":9007199254740992}}'], mode="append")
    shown = people.query("query q() { match { $p: P } return { $p.d, $p.big } }")
    assert json.loads(json.dumps(shown.to_json()))["rows"][0]["p.d"] == "2026-01-02"
    exported = json.loads(next(people.export()))["data"]
    assert (exported["d"], exported["big"]) == (20455, 9007199254740992)


@pytest.mark.parametrize(
    "text",
    [
        P.replace("a: I32?", "a: I32? @index") + KNOWS,
        P.replace("a: I32?", 'b: I32? @rename_from("a")') + KNOWS,
        P.replace("a: I32?", "a: I64?") + KNOWS,
        P.replace("node P", 'node Q @rename_from("P")') + "edge Knows: Q -> Q\n",
    ],
    ids=["metadata", "rename", "columns", "copy"],
)
def test_a_schema_change_cannot_be_reverted_and_a_diff_over_it_can_be_read(graph: Graph, text: str) -> None:
    before = str(graph.snapshot().commit_id)
    receipt = graph.apply_schema(text)
    with pytest.raises(OmniGraphError, match="it changed the schema"):
        graph.revert(str(receipt.commit_id))
    assert len(list(graph.diff(before, str(receipt.commit_id)))) in (0, 1, 4)


# --- data-aware changes -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "values"),
    [
        (P.replace("a: I32?", "a: I64?"), [1, None]),
        (P.replace("a: I32?", "a: F64?"), [1.0, None]),
        (P.replace("a: I32?", "a: I32? n: I32 @default(7)"), [1, None]),
        (P.replace("a: I32?", 'b: I64? @rename_from("a")'), [1, None]),
    ],
    ids=["I64", "F64", "default", "renamed"],
)
def test_stored_values_are_carried_over_exactly(graph: Graph, text: str, values: list[Any]) -> None:
    receipt = graph.apply_schema(text + KNOWS)
    name = "b" if "b: I64" in text else "a"
    assert [row[name] for row in rows(graph)] == values
    assert [table.effect for table in receipt.plan.tables] == ["columns"]
    if "@default" in text:
        assert [row["n"] for row in rows(graph)] == [7, 7]
    graph.mutate('query m() { insert P { k: "c", s: "x" } }')
    assert is_clean(graph)


@pytest.mark.parametrize(
    ("text", "rule", "count"),
    [
        (P.replace("a: I32?", "a: I32"), "required", 1),
        (P.replace("}", "@range(a, 5..) }"), "@range", 1),
        (P.replace("}", '@check(k, "[0-9]") }'), "@check", 2),
    ],
    ids=["required", "range", "check"],
)
def test_rows_that_break_a_new_rule_are_listed_and_nothing_changes(
    graph: Graph, text: str, rule: str, count: int
) -> None:
    before = graph.snapshot()
    with pytest.raises(SchemaRowsRefused) as refused:
        graph.apply_schema(text + KNOWS)
    assert ({each.rule for each in refused.value.violations}, refused.value.total) == ({rule}, count)
    assert graph.snapshot() == before
    assert is_clean(graph)


def test_a_new_unique_rule_and_a_new_cardinality_are_checked_by_a_scan(graph: Graph) -> None:
    graph.load([b'{"type":"P","data":{"k":"c","a":1,"s":"x"}}'], mode="append")
    with pytest.raises(SchemaRowsRefused, match="value '1' held by 'a' and 'c'"):
        graph.apply_schema(P.replace("}", "@unique(a) }") + KNOWS)
    with pytest.raises(SchemaRowsRefused, match="source 'a' has 1 edges"):
        graph.apply_schema(P + "edge Knows: P -> P @card(2..)\n")
    assert graph.apply_schema(P + "edge Knows: P -> P @card(1..1)\n").applied
    with pytest.raises(OmniGraphError, match="@card"):
        graph.mutate('query m() { insert Knows { from: "a", to: "c" } }')


def test_enum_values_get_other_names_by_a_mapping(graph: Graph) -> None:
    text = P.replace("enum(x, y)", "enum(u, y)") + KNOWS
    with pytest.raises(SchemaChangeUnsupported):
        graph.apply_schema(text)
    graph.apply_schema(text, enum_values={"node:P.s": {"x": "u"}})
    assert [row["s"] for row in rows(graph)] == ["u", "y"]
    assert is_clean(graph)


def test_a_property_of_the_same_name_is_another_one_after_a_drop(graph: Graph) -> None:
    """Also in a process that has the old column in memory."""
    assert [row["a"] for row in rows(graph)] == [1, None]
    graph.apply_schema(P.replace("a: I32?", "") + KNOWS)
    graph.apply_schema(P + KNOWS)
    assert [row["a"] for row in rows(graph)] == [None, None]


def test_text_alone_is_stored_without_a_commit_and_hints_with_one(graph: Graph) -> None:
    head = graph.snapshot().commit_id
    receipt = graph.apply_schema(f"// people\n{P}{KNOWS}")
    assert (receipt.applied, receipt.text_stored, receipt.commit_id) == (False, True, None)
    assert graph.schema_source == f"// people\n{P}{KNOWS}"
    assert graph.snapshot().commit_id == head
    receipt = graph.apply_schema(P.replace("a: I32?", 'a: I32? @rename_from("b")') + KNOWS)
    assert (receipt.applied, receipt.text_stored) == (False, True)
    assert '@rename_from("b")' in Graph.open(graph.uri).schema_source
    assert is_clean(graph)


def test_a_tag_keeps_what_would_be_dropped_for_good(graph: Graph) -> None:
    graph.tag("v1")
    with pytest.raises(SchemaBlockedByTags, match="v1"):
        graph.apply_schema(P, allow_drop=["edge:Knows"])
    assert graph.apply_schema(P).applied


def test_what_was_dropped_comes_back_with_its_data(graph: Graph) -> None:
    before = str(graph.snapshot().commit_id)
    graph.apply_schema("node P { k: String @key s: enum(x, y) }\n")
    graph.mutate('query m() { insert P { k: "c", s: "x" } }')
    graph.restore_schema("node:P.a", at=before)
    graph.restore_schema("edge:Knows", at=before)
    assert [row["a"] for row in rows(graph)] == [1, None, None]
    assert len(graph.query("query q() { match { $p: P  $p knows $o } return { $o.k } }")) == 1
    assert is_clean(graph)


def test_edges_do_not_come_back_without_their_nodes(graph: Graph) -> None:
    before = str(graph.snapshot().commit_id)
    graph.apply_schema(P)
    graph.mutate('query m() { delete P where k = "b" }')
    with pytest.raises(SchemaRowsRefused, match="'b' not found in P"):
        graph.restore_schema("edge:Knows", at=before)


def test_a_long_lived_handle_of_another_process_notices_the_new_schema(graph: Graph) -> None:
    """Two handles share nothing but the files, as two processes do."""
    other = Graph.open(graph.uri)
    assert len(rows(other)) == 2
    graph.apply_schema(P.replace("a: I32?", 'age: I32? @rename_from("a")') + KNOWS)
    assert [row["age"] for row in rows(other)] == [1, None]
    other.mutate('query m() { insert P { k: "c", age: 4, s: "x" } }')
    with pytest.raises(OmniGraphError, match="a"):
        other.mutate('query m() { insert P { k: "d", a: 4, s: "x" } }')
