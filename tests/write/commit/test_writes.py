"""Writes, row by row of the transaction table: what one mutation or load does, and what it never does."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import lance
import pytest

from omnigraph.graph import Graph
from omnigraph.language import CompileError
from omnigraph.model.errors import (
    BranchNotFound,
    Conflict,
    InvalidBranchName,
    KeyConflict,
    PreconditionFailed,
    ReadSetChanged,
    ResourceLimitExceeded,
    TableDrift,
)
from omnigraph.storage.failpoints import InjectedFault, Point, armed
from omnigraph.write.mutation.statements import MUTATION_ROWS_MAX
from omnigraph.write.rules import ValidationFailed
from support.graphs.people import (
    FC_SCHEMA,
    FU_SCHEMA,
    INSERT_PERSON,
    edges,
    fx,
    lines,
    people,
    person,
    pins,
)


@pytest.fixture
def graph(tmp_path: Path) -> Graph:
    return fx(tmp_path / "g", actor="act-alice")


def unchanged(graph: Graph, act: Callable[[], object], error: type[Exception], text: str | None = None) -> None:
    """The act is refused, and the graph shows exactly what it showed; the next write works."""
    before = graph.snapshot()
    with pytest.raises(error, match=text):
        act()
    assert graph.snapshot() == before
    assert graph.verify().ok
    graph.mutate(INSERT_PERSON, n="after the refusal")


def test_tx_W01_W40_an_insert_is_one_commit_with_its_parent_and_actor(graph: Graph) -> None:
    before, head = pins(graph), graph.snapshot()
    result = graph.mutate(INSERT_PERSON, n="Eve", a=22)
    assert result.commit is not None
    assert graph.snapshot().commit == result.commit
    assert (result.commit.parent_id, result.commit.actor_id) == (head.commit_id, "act-alice")
    assert graph.snapshot().version == head.version + 1
    assert pins(graph) == before | {"Person": before["Person"] + 1}


def test_tx_W02_a_later_statement_sees_an_earlier_one(graph: Graph) -> None:
    text = 'query q() { insert Person { name: "Eve" } insert Knows { from: "Eve", to: "Alice" } }'
    before = graph.snapshot().version
    graph.mutate(text)
    assert ("Eve", "Alice") in edges(graph, "Knows")
    assert graph.snapshot().version == before + 1


def test_tx_W03_a_missing_endpoint_refuses_the_whole_query(graph: Graph) -> None:
    text = 'query q() { insert Person { name: "Eve" } insert Knows { from: "Eve", to: "Nobody" } }'
    unchanged(graph, lambda: graph.mutate(text), ValidationFailed, "dst 'Nobody' not found in Person")


def test_tx_W04_inserting_a_known_key_replaces_the_entity(graph: Graph) -> None:
    graph.mutate(INSERT_PERSON, n="Alice", a=99)
    assert people(graph) == {"Alice": 99, "Bob": 25, "Charlie": 35, "Diana": 28}


def test_tx_W05_a_later_statement_never_matches_a_superseded_image(graph: Graph) -> None:
    graph.mutate(
        'query q() { update Person set { age: 20 } where name = "Alice" update Person set { age: 1 } where age > 25 }'
    )
    assert people(graph) == {"Alice": 20, "Bob": 25, "Charlie": 1, "Diana": 1}


def test_tx_W06_an_update_that_matches_nothing_makes_no_commit(graph: Graph) -> None:
    before = graph.snapshot()
    result = graph.mutate('query q() { update Person set { age: 1 } where name = "Nobody" }')
    assert (result.affected_nodes, result.commit) == (0, None)
    assert graph.snapshot() == before


def test_tx_W07_a_delete_takes_the_edges_of_the_node_with_it(graph: Graph) -> None:
    before = pins(graph)
    result = graph.mutate('query q() { delete Person where name = "Diana" }')
    assert (result.affected_nodes, result.affected_edges) == (1, 1)
    assert pins(graph) == before | {"Person": before["Person"] + 1, "Knows": before["Knows"] + 1}


def test_tx_W08_a_delete_that_matches_no_edge_moves_no_edge_table(graph: Graph) -> None:
    graph.mutate(INSERT_PERSON, n="Zoe")
    before = pins(graph)
    result = graph.mutate('query q() { delete Person where name = "Zoe" }')
    assert (result.affected_nodes, result.affected_edges) == (1, 0)
    assert pins(graph) == before | {"Person": before["Person"] + 1}
    assert graph.verify().ok


def test_tx_W09_what_two_deletes_take_is_counted_once(graph: Graph) -> None:
    result = graph.mutate('query q() { delete Person where name = "Alice" delete Person where age > 29 }')
    assert (result.affected_nodes, result.affected_edges) == (2, 3)


def test_tx_W10_an_entity_with_null_is_not_lost_to_the_first_delete(graph: Graph) -> None:
    graph.mutate(INSERT_PERSON, n="Zoe")
    graph.mutate('query q() { insert Knows { from: "Zoe", to: "Charlie" } }')
    result = graph.mutate('query q() { delete Person where age > 30 delete Person where name = "Zoe" }')
    assert result.affected_nodes == 2
    assert set(people(graph)) == {"Alice", "Bob", "Diana"}
    assert edges(graph, "Knows") == {("Alice", "Bob"), ("Bob", "Diana")}


def test_tx_W11_a_query_that_adds_and_deletes_is_refused_before_any_read(graph: Graph) -> None:
    text = 'query both() { insert Person { name: "Eve" } delete Person where name = "Bob" }'
    unchanged(graph, lambda: graph.mutate(text), CompileError, "mixes inserts/updates and deletes; split")


def test_tx_W12_a_key_cannot_be_updated(graph: Graph) -> None:
    unchanged(graph, lambda: graph.mutate('query q() { update Person set { name: "X" } where age = 25 }'), CompileError)


def test_tx_W13_the_last_of_two_inserts_wins_in_one_table_commit(graph: Graph) -> None:
    before = pins(graph)["Person"]
    graph.mutate('query q() { insert Person { name: "Eve", age: 1 } insert Person { name: "Eve", age: 2 } }')
    assert people(graph)["Eve"] == 2
    assert pins(graph)["Person"] == before + 1


def test_tx_W14_an_append_of_an_existing_id_writes_nothing(graph: Graph) -> None:
    records = lines(person("Zed"), person("Alice"), {"type": "Company", "data": {"name": "New"}})
    before = graph.snapshot()
    with pytest.raises(KeyConflict) as refused:
        graph.load(records, mode="append")
    assert refused.value.details() == {"table_key": "node:Person", "id": "Alice"}
    assert graph.snapshot() == before


def test_tx_W15_one_key_twice_in_one_input_is_a_violation(graph: Graph) -> None:
    records = lines(person("Eve", 1), person("Eve", 2))
    unchanged(graph, lambda: graph.load(records, mode="merge"), ValidationFailed, "@unique violation on Person.name")


def test_tx_W16_a_merge_replaces_and_adds(graph: Graph) -> None:
    result = graph.load(lines(person("Alice", 31), person("Eve", 5)), mode="merge")
    assert people(graph) == {"Alice": 31, "Bob": 25, "Charlie": 35, "Diana": 28, "Eve": 5}
    assert dict(result.nodes) == {"Person": 2}


def test_tx_W17_a_merge_record_is_the_whole_image_and_a_patch_is_not(graph: Graph) -> None:
    graph.load(lines(person("Alice")), mode="merge", patch=True)
    assert people(graph)["Alice"] == 30
    graph.load(lines(person("Alice")), mode="merge")
    assert people(graph)["Alice"] is None


def test_tx_W18_an_overwrite_that_strands_edges_is_refused(graph: Graph) -> None:
    records = lines(person("Alice"))
    unchanged(graph, lambda: graph.load(records, mode="overwrite"), ValidationFailed, "not found in Person")


def test_tx_W19_an_overwrite_replaces_the_types_that_it_names(graph: Graph) -> None:
    before = pins(graph)["Company"]
    knows = {"edge": "Knows", "from": "Alice", "to": "Bob"}
    works = {"edge": "WorksAt", "from": "Alice", "to": "Acme"}
    graph.load(lines(person("Alice"), person("Bob"), knows, works), mode="overwrite")
    counts = {pin.table_key.type_name: pin.row_count for pin in graph.snapshot().tables}
    assert counts == {"Person": 2, "Company": 2, "Knows": 1, "WorksAt": 1}
    assert pins(graph)["Company"] == before


def test_tx_W20_an_overwrite_of_edges_leaves_the_nodes_alone(graph: Graph) -> None:
    before = pins(graph)["Person"]
    graph.load(lines({"edge": "Knows", "from": "Alice", "to": "Bob"}), mode="overwrite")
    assert edges(graph, "Knows") == {("Alice", "Bob")}
    assert pins(graph)["Person"] == before


INSERT_USER = "query add($h: String, $e: String?) { insert User { handle: $h, email: $e } }"


@pytest.fixture
def users(tmp_path: Path) -> Graph:
    graph = Graph.init(str(tmp_path / "u"), FU_SCHEMA, durability="os")
    graph.mutate(INSERT_USER, h="a", e="x")
    return graph


def test_tx_W21_a_taken_unique_value_is_refused_with_both_holders(users: Graph) -> None:
    with pytest.raises(ValidationFailed) as refused:
        users.mutate(INSERT_USER, h="b", e="x")
    assert "'a'" in str(refused.value)
    assert "'b'" in str(refused.value)


def test_tx_W22_a_value_that_the_query_frees_may_be_taken(users: Graph) -> None:
    users.mutate(
        'query q() { update User set { email: "y" } where handle = "a" insert User { handle: "b", email: "x" } }'
    )
    assert users.snapshot().tables[0].row_count == 2


def test_tx_W23_null_is_never_taken(users: Graph) -> None:
    users.mutate(INSERT_USER, h="b")
    users.mutate(INSERT_USER, h="c")


def test_tx_W24_W25_cardinality_is_counted_on_the_final_image(tmp_path: Path) -> None:
    records = lines(
        person("Alice"),
        *({"type": "Company", "data": {"name": name}} for name in ("Acme", "Globex")),
        {"edge": "WorksAt", "from": "Alice", "to": "Acme"},
    )
    at_most = Graph.init(str(tmp_path / "most"), FC_SCHEMA)
    at_most.load(records, mode="append")
    with pytest.raises(
        ValidationFailed, match=r"@card violation on edge WorksAt: source 'Alice' has 2 edges \(max 1\)"
    ):
        at_most.mutate('query q() { insert WorksAt { from: "Alice", to: "Globex" } }')
    at_least = Graph.init(str(tmp_path / "least"), FC_SCHEMA.replace("0..1", "1.."))
    at_least.load(records, mode="append")
    with pytest.raises(ValidationFailed, match=r"has 0 edges \(min 1\)"):
        at_least.mutate('query q() { delete WorksAt where from = "Alice" }')


def test_tx_W26_replaced_a_load_has_no_row_limit_and_a_mutation_has(graph: Graph) -> None:
    """The limit of 8,192 rows stays for mutations; loads have none."""
    rows = 8193
    graph.load(lines(*(person(f"p{number}", 99) for number in range(rows))), mode="append")
    assert len(people(graph)) == rows + 4
    with pytest.raises(ResourceLimitExceeded) as refused:
        graph.mutate("query q() { update Person set { age: 1 } where age = 99 }")
    assert refused.value.resource == "keyed entities for node:Person"
    assert refused.value.limit == MUTATION_ROWS_MAX


def test_tx_W27_two_handles_write_one_linear_history(graph: Graph) -> None:
    other = Graph.open(graph.uri, durability="os")
    other.snapshot()
    first = graph.mutate(INSERT_PERSON, n="Eve")
    second = other.mutate(INSERT_PERSON, n="Frank")
    assert second.commit is not None
    assert second.commit.parent_id == first.commit_id


def test_tx_W28_an_update_that_lost_a_race_is_a_typed_conflict(graph: Graph) -> None:
    other = Graph.open(graph.uri, durability="os")

    def overtake() -> None:
        other.mutate('query q() { insert Company { name: "Fast" } }')

    with armed(Point.MUTATION_STAGED, overtake), pytest.raises(ReadSetChanged) as refused:
        graph.mutate("query q() { update Person set { age: 1 } where age = 25 }")
    assert refused.value.member == "graph_head:main"
    assert people(graph)["Bob"] == 25


def test_an_insert_that_lost_a_race_is_prepared_again_and_lands(graph: Graph) -> None:
    other = Graph.open(graph.uri, durability="os")

    def overtake() -> None:
        other.mutate('query q() { insert Company { name: "Fast" } }')

    with armed(Point.MUTATION_STAGED, overtake):
        result = graph.mutate(INSERT_PERSON, n="Eve")
    assert result.commit is not None
    assert graph.commits()[1].py["kind"] == "mutation"
    assert "Eve" in people(graph)


def test_tx_W29_concurrent_inserts_all_land_in_one_chain(graph: Graph) -> None:
    before = len(graph.commits())
    with ThreadPoolExecutor(8) as pool:
        commits = list(pool.map(lambda n: graph.mutate(INSERT_PERSON, n=f"p{n}").commit_id, range(8)))
    assert len(set(commits)) == 8
    history = graph.commits()
    assert len(history) == before + 8
    assert len(people(graph)) == 12
    assert graph.verify().ok


def test_tx_W30_of_concurrent_appends_of_one_id_exactly_one_wins(graph: Graph) -> None:
    barrier = threading.Barrier(6)

    def attempt(number: int) -> str:
        barrier.wait()
        try:
            graph.load(lines(person("Eve", number)), mode="append")
            return "won"
        except KeyConflict:
            return "lost"

    with ThreadPoolExecutor(6) as pool:
        outcomes = list(pool.map(attempt, range(6)))
    assert sorted(outcomes) == ["lost"] * 5 + ["won"]


def test_tx_W31_the_system_branch_cannot_be_written(graph: Graph) -> None:
    with pytest.raises(InvalidBranchName):
        graph.mutate(INSERT_PERSON, n="Eve", branch="__schema_apply_lock__")


def test_tx_W32_a_load_into_a_missing_branch_needs_a_base(graph: Graph) -> None:
    with pytest.raises(BranchNotFound):
        graph.load(lines(person("Eve")), mode="append", branch="new")
    assert graph.branches() == ["main"]


def test_tx_W33_a_load_makes_its_branch_from_the_base(graph: Graph) -> None:
    result = graph.load(lines(person("Eve")), mode="append", branch="new", base="main")
    assert result.branch_created
    assert "Eve" in people(graph, "new")
    assert "Eve" not in people(graph)
    again = graph.load(lines(person("Fay")), mode="append", branch="new", base="main")
    assert not again.branch_created


def test_a_failed_load_takes_the_branch_that_it_made_with_it(graph: Graph) -> None:
    with pytest.raises(ValidationFailed):
        graph.load([b'{"type": "Person", "data": {"name": 7}}'], mode="append", branch="new", base="main")
    assert graph.branches() == ["main"]


def test_tx_W34_a_write_that_stops_after_staging_leaves_nothing(graph: Graph) -> None:
    before = graph.snapshot()
    with armed(Point.MUTATION_STAGED), pytest.raises(InjectedFault):
        graph.mutate(INSERT_PERSON, n="Eve")
    assert graph.snapshot() == before
    assert graph.verify().ok
    graph.mutate(INSERT_PERSON, n="Eve")


def test_tx_W35_uncovered_drift_is_refused_and_named(graph: Graph) -> None:
    path = next(pin.location for pin in graph.snapshot().tables if pin.table_key.type_name == "Person")
    dataset = lance.dataset(f"{graph.uri}/{path}")
    lance.write_dataset(dataset.to_table().slice(0, 1), dataset, mode="append")
    with pytest.raises(TableDrift, match="repair"):
        graph.mutate(INSERT_PERSON, n="Eve")
    assert not graph.verify().ok


def test_tx_W36_W37_W38_a_conditional_write_happens_only_on_its_commit(graph: Graph) -> None:
    head = graph.snapshot().commit_id
    moved = graph.mutate("query q() { update Person set { age: 26 } where age = 25 }", if_commit=head)
    assert moved.commit is not None
    for text in (
        "query q() { update Person set { age: 27 } where age = 26 }",
        'query q() { insert Company { name: "C" } }',
    ):
        with pytest.raises(PreconditionFailed) as refused:
            graph.mutate(text, if_commit=head)
        assert refused.value.actual == moved.commit_id


def test_tx_W39_a_conditional_write_that_matches_nothing_still_checks_its_commit(graph: Graph) -> None:
    other, head = Graph.open(graph.uri, durability="os"), graph.snapshot().commit_id

    def overtake() -> None:
        other.mutate('query q() { insert Company { name: "Fast" } }')

    with armed(Point.MUTATION_NOTHING, overtake), pytest.raises(PreconditionFailed):
        graph.mutate('query q() { update Person set { age: 1 } where name = "Nobody" }', if_commit=head)


def test_an_idempotency_key_makes_a_repeated_write_return_the_first_commit(graph: Graph) -> None:
    first = graph.mutate(INSERT_PERSON, n="Eve", idempotency_key="k1")
    again = graph.mutate(INSERT_PERSON, n="Eve", idempotency_key="k1")
    assert again.replayed
    assert again.commit == first.commit
    with pytest.raises(Conflict, match="another request"):
        graph.mutate(INSERT_PERSON, n="Frank", idempotency_key="k1")
    loaded = graph.load(lines(person("Gus")), mode="append", idempotency_key="k2")
    assert graph.load(lines(person("Gus")), mode="append", idempotency_key="k2").commit == loaded.commit


def test_an_empty_load_publishes_one_commit(graph: Graph) -> None:
    before = graph.snapshot()
    result = graph.load([], mode="append")
    assert graph.snapshot().commit == result.commit
    assert graph.snapshot().tables == before.tables


def test_a_dry_run_reports_and_writes_nothing(graph: Graph) -> None:
    before = graph.snapshot()
    result = graph.load(lines(person("Eve")), mode="append", dry_run=True)
    assert (dict(result.nodes), result.commit, result.dry_run) == ({"Person": 1}, None, True)
    with pytest.raises(KeyConflict):
        graph.load(lines(person("Alice")), mode="append", dry_run=True)
    assert graph.snapshot() == before


def test_skipped_records_go_to_the_reject_file_and_can_be_loaded_once_mended(graph: Graph, tmp_path: Path) -> None:
    rejects = tmp_path / "rejects.jsonl"
    bad = {"type": "Person", "data": {"name": "Eve", "age": "old"}}
    result = graph.load(lines(person("Fay"), bad), mode="append", on_error="skip", reject_file=rejects)
    assert result.rejected == 1
    assert "Fay" in people(graph)
    rejects.write_bytes(rejects.read_bytes().replace(b'"old"', b"41"))
    graph.load(rejects, mode="append")
    assert people(graph)["Eve"] == 41


def test_writes_on_a_branch_stay_there(graph: Graph) -> None:
    draft = graph.create_branch("draft")
    draft.mutate(INSERT_PERSON, n="Eve")
    draft.mutate('query q() { delete Person where name = "Bob" }')
    assert set(people(draft)) == {"Alice", "Charlie", "Diana", "Eve"}
    assert set(people(graph)) == {"Alice", "Bob", "Charlie", "Diana"}
    assert graph.verify().ok
