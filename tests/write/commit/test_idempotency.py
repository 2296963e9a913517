"""Idempotency keys: a request happens once, whoever repeats it and whenever, and every repeat hears what it did."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from omnigraph.graph import Graph
from omnigraph.model.errors import Conflict
from omnigraph.storage.failpoints import Point, armed
from omnigraph.storage.manifest import CommitIdentity, PublishPlan, publish
from omnigraph.write.mutation.run_mutation import digest
from support.graphs.people import INSERT_PERSON, fx, lines, people, person

OLDER = "query q() { update Person set { age: 26 } where age = 25 }"
NOBODY = 'query q() { update Person set { age: 1 } where name = "Nobody" }'


@pytest.fixture
def graph(tmp_path: Path) -> Graph:
    return fx(tmp_path / "g")


@pytest.fixture
def other(graph: Graph) -> Graph:
    return Graph.open(graph.uri, durability="os", actor="act-other")


class Died(BaseException):
    """Stands for the death of a process: nothing is done about it."""


def die() -> None:
    raise Died


# --- a call that changes nothing --------------------------------------------------------------------------


def test_a_key_whose_first_call_changed_nothing_is_remembered(graph: Graph) -> None:
    first = graph.mutate(NOBODY, idempotency_key="k")
    graph.mutate(INSERT_PERSON, n="Nobody", a=50)
    again = graph.mutate(NOBODY, idempotency_key="k")
    assert people(graph)["Nobody"] == 50
    assert (again.replayed, again.commit, again.affected_nodes) == (True, first.commit, 0)
    assert first.commit is not None


def test_a_call_without_a_key_that_changes_nothing_publishes_nothing(graph: Graph) -> None:
    before = graph.snapshot()
    assert graph.mutate(NOBODY).commit is None
    assert graph.snapshot() == before


def test_the_commit_of_a_keyed_call_that_changed_nothing_moves_no_table(graph: Graph) -> None:
    before = graph.snapshot()
    first = graph.mutate(NOBODY, idempotency_key="k", if_commit=before.commit_id)
    assert graph.snapshot().commit == first.commit
    assert graph.snapshot().tables == before.tables
    assert graph.verify().ok


def test_a_keyed_call_on_a_fresh_branch_that_changes_nothing_is_remembered_there(graph: Graph) -> None:
    graph.create_branch("draft")
    first = graph.mutate(NOBODY, idempotency_key="k", branch="draft")
    assert graph.mutate(NOBODY, idempotency_key="k", branch="draft").commit == first.commit
    assert graph.verify().ok


# --- what a repeat hears ----------------------------------------------------------------------------------


def test_a_repeated_mutation_tells_what_the_first_one_did(graph: Graph, other: Graph) -> None:
    delete = 'query q() { delete Person where name = "Alice" }'
    first = graph.mutate(delete, idempotency_key="k")
    again = other.mutate(delete, idempotency_key="k")
    assert (first.affected_nodes, first.affected_edges) == (1, 3)
    assert (again.affected_nodes, again.affected_edges, again.replayed) == (1, 3, True)
    assert again.actor_id == first.actor_id


def test_a_repeated_load_tells_what_the_first_one_did(graph: Graph) -> None:
    knows = {"edge": "Knows", "from": "Eve", "to": "Bob"}
    records = lines(person("Eve", 1), knows, {"type": "Person", "data": {"name": 7}})
    first = graph.load(records, mode="append", on_error="skip", idempotency_key="k")
    again = graph.load(records, mode="append", on_error="skip", idempotency_key="k")
    assert (dict(first.nodes), dict(first.edges), first.rejected) == ({"Person": 1}, {"Knows": 1}, 1)
    assert (dict(again.nodes), dict(again.edges), again.rejected) == ({"Person": 1}, {"Knows": 1}, 1)
    assert (again.replayed, again.commit, again.total_entities) == (True, first.commit, 2)
    assert again.report is not None
    assert (dict(again.report.nodes), again.report.rejected) == ({"Person": 1}, 1)


@pytest.mark.parametrize("options", [{"on_error": "skip"}, {"match_edges": "endpoints"}, {"patch": True}])
def test_a_key_of_a_load_is_bound_to_what_the_load_was_asked_to_do(graph: Graph, options: dict[str, object]) -> None:
    graph.load(lines(person("Eve", 1)), mode="merge", idempotency_key="k")
    with pytest.raises(Conflict, match="another request"):
        graph.load(lines(person("Eve", 1)), mode="merge", idempotency_key="k", **options)  # type: ignore[arg-type]


# --- twins: two calls with one key at the same time -------------------------------------------------------


@pytest.mark.parametrize("conditional", [False, True])
def test_an_update_that_lost_the_race_to_its_twin_gets_the_answer_of_the_twin(
    graph: Graph, other: Graph, conditional: bool
) -> None:
    condition = {"if_commit": graph.snapshot().commit_id if conditional else None}
    firsts = []
    with armed(Point.MUTATION_STAGED, lambda: firsts.append(other.mutate(OLDER, idempotency_key="k", **condition))):
        again = graph.mutate(OLDER, idempotency_key="k", **condition)
    [first] = firsts
    assert (again.replayed, again.commit, again.affected_nodes) == (True, first.commit, 1)
    assert graph.snapshot().commit == first.commit


def test_an_overwrite_that_lost_the_race_to_its_twin_gets_the_answer_of_the_twin(graph: Graph, other: Graph) -> None:
    records = lines({"edge": "Knows", "from": "Alice", "to": "Bob"})
    with armed(Point.MUTATION_STAGED, lambda: other.load(records, mode="overwrite", idempotency_key="k") and None):
        again = graph.load(records, mode="overwrite", idempotency_key="k")
    assert (again.replayed, dict(again.edges)) == (True, {"Knows": 1})


def test_of_many_twins_at_once_exactly_one_writes_and_all_get_its_commit(graph: Graph) -> None:
    start = threading.Barrier(6)

    def attempt(_: int) -> tuple[str | None, bool, int]:
        start.wait()
        result = graph.mutate(OLDER, idempotency_key="k")
        return result.commit_id, result.replayed, result.affected_nodes

    before = len(graph.commits())
    with ThreadPoolExecutor(6) as pool:
        answers = list(pool.map(attempt, range(6)))
    assert {(commit, affected) for commit, _, affected in answers} == {(graph.snapshot().commit_id, 1)}
    assert sorted(replayed for _, replayed, _ in answers) == [False] + [True] * 5
    assert len(graph.commits()) == before + 1


def test_a_twin_that_died_half_way_is_finished_and_its_answer_given(graph: Graph, other: Graph) -> None:
    def twin() -> None:
        with armed(Point.MUTATION_BEFORE_PUBLISH, die), pytest.raises(Died):
            other.mutate(OLDER, idempotency_key="k")

    with armed(Point.MUTATION_STAGED, twin):
        again = graph.mutate(OLDER, idempotency_key="k")
    assert (again.replayed, again.affected_nodes) == (True, 1)
    assert again.actor_id == "act-other"
    assert people(graph)["Bob"] == 26
    assert graph.pending_recoveries() == []


def test_a_write_that_takes_back_its_own_work_for_its_twin_gets_the_answer_of_the_twin(graph: Graph) -> None:
    """The twin publishes although the branch is held, as a writer does whose lease was taken over."""
    py = {"kind": "mutation", "idempotency_key": "k", "request_digest": digest("mutation", "main", OLDER, None, {})}

    def twin() -> None:
        lineage = CommitIdentity(py={**py, "result": {"affected_nodes": 5, "affected_edges": 0}})
        publish(graph._storage.manifest, PublishPlan(branch="main", identity=lineage))

    with armed(Point.MUTATION_BEFORE_PUBLISH, twin):
        again = graph.mutate(OLDER, idempotency_key="k")
    assert (again.replayed, again.affected_nodes) == (True, 5)
    assert people(graph)["Bob"] == 25
    assert graph.verify().ok


def test_a_key_that_a_faster_call_used_for_another_request_is_a_conflict(graph: Graph, other: Graph) -> None:
    with (
        armed(Point.MUTATION_STAGED, lambda: other.mutate(INSERT_PERSON, n="Eve", idempotency_key="k") and None),
        pytest.raises(Conflict, match="another request"),
    ):
        graph.mutate(OLDER, idempotency_key="k")
