"""Revert: one new commit that takes back what a commit or a range did, with conflicts as in a merge."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from merge.merging import assert_clean, change, conflicts, content, copy_of, edges, head, make, merged, people
from omnigraph.graph import Graph
from omnigraph.history import create_tag
from omnigraph.merge import (
    CannotRevert,
    MergeConflicts,
    MergeOptions,
    Revert,
    RevertConflicts,
    RevertResult,
    revert_commits,
)
from omnigraph.model.errors import CommitNotFound, OmniGraphError, OpenedReadOnly, PreconditionFailed
from support.graphs.rust_graphs import rust_graph


@pytest.fixture
def graph(tmp_path: Path) -> Graph:
    return make(tmp_path / "g")


def reverted(
    graph: Graph, what: str, branch: str = "main", *, options: dict[str, Any] | None = None, **wanted: Any
) -> RevertResult:
    request = Revert(what=what, branch=branch, options=MergeOptions(**(options or {})), **wanted)
    return revert_commits(graph._storage, lambda: graph.schema, request)


def test_what_a_commit_did_is_taken_back_and_what_came_later_stays(graph: Graph) -> None:
    change(graph, 'update Person set { age: 31 } where name = "Alice"')
    wrong = head(graph)
    change(graph, 'update Person set { age: 26 } where name = "Bob"')
    last = head(graph)
    result = reverted(graph, wrong, actor_id="ada", message="that was wrong")
    assert (people(graph)["Alice"], people(graph)["Bob"]) == (30, 26)
    assert result.commit is not None
    assert (result.commit.parent_id, result.commit.merged_parent_id) == (last, None)
    assert (result.commit.py["kind"], result.commit.py["reverted"]) == ("revert", [wrong])
    assert (result.reverted, result.stats.updates, result.stats.total) == ((wrong,), 1, 1)
    assert result.to_json()["commit"] == head(graph)
    assert_clean(graph)


def test_a_delete_with_its_edges_comes_back(graph: Graph) -> None:
    before = content(graph)
    change(graph, 'delete Person where name = "Carol"')
    assert edges(graph) == {}
    reverted(graph, head(graph))
    assert content(graph) == before


def test_a_revert_can_be_reverted(graph: Graph) -> None:
    change(graph, 'insert Person { name: "Eve", age: 22 }')
    reverted(graph, head(graph))
    assert "Eve" not in people(graph)
    reverted(graph, head(graph))
    assert people(graph)["Eve"] == 22


def test_what_is_taken_back_already_makes_no_commit(graph: Graph) -> None:
    change(graph, 'update Person set { age: 31 } where name = "Alice"')
    wrong = head(graph)
    reverted(graph, wrong)
    last = head(graph)
    result = reverted(graph, wrong)
    assert (result.commit, result.stats.total, head(graph)) == (None, 0, last)


def test_what_was_changed_again_is_a_conflict_with_its_images(graph: Graph) -> None:
    change(graph, 'update Person set { age: 31 } where name = "Alice"')
    wrong = head(graph)
    change(graph, 'update Person set { age: 32 } where name = "Alice"')
    last = head(graph)
    with pytest.raises(RevertConflicts, match=f"reverting {wrong} on 'main' has 1 conflict") as caught:
        reverted(graph, wrong)
    assert isinstance(caught.value, MergeConflicts)
    assert conflicts(caught.value) == [("divergent_update", "Person", "Alice")]
    [only] = caught.value.conflicts
    ages = [image.properties["age"] if image is not None else None for image in (only.base, only.source, only.target)]
    assert ages == [31, 30, 32]
    assert head(graph) == last
    dry = reverted(graph, wrong, dry_run=True)
    assert (dry.conflicts_total, dry.commit, head(graph)) == (1, None, last)


@pytest.mark.parametrize(("side", "age"), [("ours", 32), ("theirs", 30)])
def test_a_conflict_is_decided_as_in_a_merge(graph: Graph, side: str, age: int) -> None:
    change(graph, 'update Person set { age: 31 } where name = "Alice"')
    change(graph, 'update Person set { age: 32 } where name = "Alice"')
    result = reverted(graph, graph.commits()[1].commit_id, options={"on_conflict": side})
    assert (people(graph)["Alice"], result.resolved) == (age, 1)


def test_a_revert_that_would_break_a_rule_is_refused(graph: Graph) -> None:
    change(graph, 'insert Person { name: "Eve", age: 22 }')
    wrong = head(graph)
    change(graph, 'insert Knows { from: "Alice", to: "Eve" }')
    with pytest.raises(RevertConflicts) as caught:
        reverted(graph, wrong)
    assert [each.kind for each in caught.value.conflicts] == ["orphan_edge"]
    assert "Eve" in people(graph)


def test_a_commit_that_came_meanwhile_stays(graph: Graph) -> None:
    change(graph, 'update Person set { age: 31 } where name = "Alice"')
    wrong = head(graph)
    others = iter(['update Person set { age: 99 } where name = "Bob"'])

    def schema() -> Any:
        """Asked after the branch was read and before anything is decided."""
        for statement in others:
            change(graph, statement)
        return graph.schema

    result = revert_commits(graph._storage, schema, Revert(what=wrong))
    assert (people(graph)["Alice"], people(graph)["Bob"]) == (30, 99)
    assert result.commit is not None
    assert result.commit.parent_id == graph.commits()[1].commit_id


# --- ranges -----------------------------------------------------------------------------------------------


def test_a_range_leaves_its_first_commit_out_and_is_one_commit(graph: Graph) -> None:
    change(graph, 'insert Person { name: "Eve", age: 22 }')
    first, before = head(graph), content(graph)
    create_tag(graph._storage, "v1", first)
    change(graph, 'update Person set { age: 31 } where name = "Alice"')
    change(graph, 'update Person set { age: 32 } where name = "Alice"')
    change(graph, 'delete Person where name = "Dan"')
    last = head(graph)
    count = len(graph.commits())
    result = reverted(graph, f"v1..{last}")
    assert content(graph) == before
    assert (len(result.reverted), result.reverted[0], len(graph.commits())) == (3, last, count + 1)
    assert first not in result.reverted


def test_upkeep_within_a_range_is_passed_over_and_alone_it_is_refused(graph: Graph) -> None:
    before, first = content(graph), head(graph)
    for number in range(8):
        change(graph, f'insert Person {{ name: "P{number}", age: {number} }}')
    graph.optimize()
    upkeep = head(graph)
    assert graph.commits()[0].py["kind"] in ("optimize", "ensure_indices")
    with pytest.raises(CannotRevert, match="it is upkeep and changed no entity"):
        reverted(graph, upkeep)
    reverted(graph, f"{first}..{upkeep}")
    assert content(graph) == before
    assert_clean(graph)


# --- merges -----------------------------------------------------------------------------------------------


def test_a_merge_needs_a_mainline_and_stays_merged(graph: Graph) -> None:
    graph.create_branch("draft")
    change(graph, 'update Person set { age: 31 } where name = "Alice"', "draft")
    change(graph, 'update Person set { age: 26 } where name = "Bob"')
    merge_id = merged(graph, "draft").commit_id
    assert merge_id is not None
    for wanted in (None, 3):
        with pytest.raises(CannotRevert, match="it is a merge, and mainline must be 1 or 2") as caught:
            reverted(graph, merge_id, mainline=wanted)
        assert "--mainline 1" in str(caught.value)
    reverted(graph, merge_id, mainline=1)
    assert (people(graph)["Alice"], people(graph)["Bob"]) == (30, 26)
    assert merged(graph, "draft").outcome == "already_up_to_date"
    assert_clean(graph)


def test_the_second_mainline_takes_back_what_the_branch_itself_had_done(graph: Graph) -> None:
    graph.create_branch("draft")
    change(graph, 'update Person set { age: 31 } where name = "Alice"', "draft")
    change(graph, 'update Person set { age: 26 } where name = "Bob"')
    merge_id = merged(graph, "draft").commit_id
    assert merge_id is not None
    reverted(graph, merge_id, mainline=2)
    assert (people(graph)["Alice"], people(graph)["Bob"]) == (31, 25)


def test_a_commit_that_a_merge_brought_can_be_reverted_alone(graph: Graph) -> None:
    graph.create_branch("draft")
    change(graph, 'update Person set { age: 31 } where name = "Alice"', "draft")
    wrong = head(graph, "draft")
    change(graph, 'update Person set { age: 51 } where name = "Dan"', "draft")
    change(graph, 'update Person set { age: 26 } where name = "Bob"')
    merged(graph, "draft")
    reverted(graph, wrong)
    assert people(graph) == {"Alice": 30, "Bob": 26, "Carol": 40, "Dan": 51}


# --- bad input --------------------------------------------------------------------------------------------


def test_what_cannot_be_reverted_is_refused_with_its_reason_and_changes_nothing(graph: Graph, tmp_path: Path) -> None:
    graph.create_branch("draft")
    change(graph, 'insert Person { name: "Eve", age: 22 }', "draft")
    genesis, last, elsewhere = graph.commits()[-1].commit_id, head(graph), head(graph, "draft")
    refused = {
        genesis: "it is the first commit of the graph",
        elsewhere: "it is not in the history of 'main'",
        f"{last}..{last}": "the range is empty",
        f"{elsewhere}..{last}": "is not among its first parents",
    }
    for what, reason in refused.items():
        with pytest.raises(CannotRevert, match=reason):
            reverted(graph, what)
    with pytest.raises(CannotRevert, match="it is not a merge"):
        reverted(graph, last, mainline=1)
    with pytest.raises(CommitNotFound):
        reverted(graph, head(make(tmp_path / "other")))
    with pytest.raises(PreconditionFailed):
        reverted(graph, last, if_commit=genesis)
    with pytest.raises(OpenedReadOnly):
        reverted(Graph.open(str(tmp_path / "g"), read_only=True), last)
    assert head(graph) == last


def test_a_commit_that_changed_the_schema_is_refused() -> None:
    with rust_graph("evolved") as found:
        graph = Graph.open(found.uri, durability="os")
        with pytest.raises(CannotRevert, match="it changed the schema"):
            reverted(graph, graph.commits()[1].commit_id)


# --- any last commit --------------------------------------------------------------------------------------

STATEMENTS = st.lists(
    st.one_of(
        st.sampled_from("ABC").map(lambda name: f'insert Person {{ name: "{name}", age: 1 }}'),
        st.tuples(st.sampled_from(["Alice", "Bob", "A"]), st.integers(0, 3)).map(
            lambda pair: f'update Person set {{ age: {pair[1]} }} where name = "{pair[0]}"'
        ),
        st.sampled_from(["Carol", "Bob", "A"]).map(lambda name: f'delete Person where name = "{name}"'),
    ),
    min_size=1,
    max_size=4,
)


@settings(max_examples=12, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(STATEMENTS)
def test_reverting_the_last_commit_restores_the_state_before_it(
    tmp_path_factory: pytest.TempPathFactory, statements: list[str]
) -> None:
    folder = tmp_path_factory.mktemp("any")
    make(folder / "template")
    graph = copy_of(folder / "template", folder / "g")
    states = [content(graph)]
    for statement in statements:
        before = head(graph)
        try:
            change(graph, statement)
        except OmniGraphError:  # for example a key that is taken: there was no commit
            continue
        if head(graph) != before:
            states.append(content(graph))
    commits = [commit.commit_id for commit in graph.commits()][: len(states) - 1]
    for commit_id, state in zip(commits, reversed(states[:-1]), strict=True):
        reverted(graph, commit_id)
        assert content(graph) == state
    assert_clean(graph)
