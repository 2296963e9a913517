"""Deciding conflicts: for a kind at once, entity by entity from a list, or by a function."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from merge.merging import assert_clean, change, conflicts, content, edges, head, make, merged, people
from omnigraph.graph import Graph
from omnigraph.merge import InvalidResolution, MergeConflict, MergeConflicts
from omnigraph.model.errors import BadRequest, InvalidValue


@pytest.fixture
def graph(tmp_path: Path) -> Graph:
    """Three conflicts, one of each kind: Alice was changed twice, Bob changed and removed, Eve added twice."""
    graph = make(tmp_path / "g")
    change(graph, 'delete Knows where from = "Bob"')
    graph.create_branch("feature")
    for branch, age in (("feature", 1), ("main", 2)):
        change(graph, f'update Person set {{ age: {age} }} where name = "Alice"', branch)
        change(graph, f'insert Person {{ name: "Eve", age: {age} }}', branch)
    change(graph, 'update Person set { age: 1 } where name = "Bob"', "feature")
    change(graph, 'delete Person where name = "Bob"')
    return graph


def named(entity_id: str, **how: Any) -> dict[str, Any]:
    return {"entity_kind": "node", "type_name": "Person", "entity_id": entity_id, **how}


def test_without_a_decision_every_conflict_is_told_in_order_of_ids(graph: Graph) -> None:
    before = head(graph), content(graph)
    with pytest.raises(MergeConflicts) as caught:
        merged(graph, "feature")
    assert conflicts(caught.value) == [
        ("divergent_update", "Person", "Alice"),
        ("delete_vs_update", "Person", "Bob"),
        ("divergent_insert", "Person", "Eve"),
    ]
    assert caught.value.code == "merge_conflicts"
    alice, bob, eve = caught.value.details()["conflicts"]
    assert (alice["base"]["properties"]["age"], bob["target"], eve["base"]) == (30, None, None)
    assert list(alice) == ["entity_kind", "type_name", "entity_id", "kind", "message", "base", "source", "target"]
    assert (head(graph), content(graph)) == before


def test_ours_keeps_the_target(graph: Graph) -> None:
    result = merged(graph, "feature", on_conflict="ours")
    assert people(graph) == {"Alice": 2, "Carol": 40, "Dan": 50, "Eve": 2}
    assert result.resolved == 3
    assert result.commit is not None
    assert result.commit.py["on_conflict"] == "ours"
    assert merged(graph, "feature").outcome == "already_up_to_date"


def test_theirs_takes_the_source(graph: Graph) -> None:
    merged(graph, "feature", on_conflict="theirs")
    assert people(graph) == {"Alice": 1, "Bob": 1, "Carol": 40, "Dan": 50, "Eve": 1}
    assert_clean(graph)


def test_theirs_removes_what_the_source_removed(graph: Graph) -> None:
    merged(graph, "main", "feature", on_conflict="theirs")
    assert people(graph, "feature") == {"Alice": 2, "Carol": 40, "Dan": 50, "Eve": 2}


def test_a_decision_for_one_kind_leaves_the_others_open(graph: Graph) -> None:
    with pytest.raises(MergeConflicts) as caught:
        merged(graph, "feature", on_conflict={"divergent_insert": "ours", "divergent_update": "theirs"})
    assert conflicts(caught.value) == [("delete_vs_update", "Person", "Bob")]


def test_entities_are_decided_one_by_one(graph: Graph) -> None:
    decisions = [named("Alice", take="base"), named("Bob", take="theirs"), named("Eve", take="delete")]
    merged(graph, "feature", resolve=decisions)
    assert people(graph) == {"Alice": 30, "Bob": 1, "Carol": 40, "Dan": 50}
    assert_clean(graph)


def test_values_of_the_callers_own_go_over_the_image_that_is_there(graph: Graph) -> None:
    decisions = [
        named("Alice", properties={"age": 99, "name": "Alice"}),
        named("Bob", properties={"age": 98}),
        named("Eve", take="ours"),
    ]
    merged(graph, "feature", resolve=decisions)
    assert people(graph) == {"Alice": 99, "Bob": 98, "Carol": 40, "Dan": 50, "Eve": 2}
    [alice] = [json.loads(line)["data"] for line in graph.export() if b'"id":"Alice"' in line]
    assert alice["nick"] == ""


def test_a_function_is_shown_each_conflict_and_none_leaves_it_open(graph: Graph) -> None:
    shown: list[MergeConflict] = []

    def decide(conflict: MergeConflict) -> Any:
        shown.append(conflict)
        return {"Alice": "theirs", "Bob": {"take": "delete"}}.get(conflict.entity_id or "")

    with pytest.raises(MergeConflicts) as caught:
        merged(graph, "feature", resolve=decide)
    assert conflicts(caught.value) == [("divergent_insert", "Person", "Eve")]
    assert [each.entity_id for each in shown] == ["Alice", "Bob", "Eve"]
    merged(graph, "feature", resolve=decide, on_conflict={"divergent_insert": "theirs"})
    assert people(graph) == {"Alice": 1, "Carol": 40, "Dan": 50, "Eve": 1}


def test_edges_are_decided_with_their_endpoints(tmp_path: Path) -> None:
    graph = make(tmp_path / "g")
    [edge_id] = [json.loads(line)["data"]["id"] for line in graph.export() if b'"edge"' in line]
    graph.create_branch("feature")
    for branch, since in (("feature", "2020-01-01"), ("main", "2021-01-01")):
        line = {"edge": "Knows", "from": "Bob", "to": "Carol", "data": {"id": edge_id, "since": since}}
        graph.load([json.dumps(line).encode()], mode="merge", branch=branch)
    decision = {"entity_kind": "edge", "type_name": "Knows", "entity_id": edge_id, "properties": {}, "to": "Dan"}
    merged(graph, "feature", resolve=[decision])
    assert edges(graph) == {("Bob", "Dan"): 1}
    assert_clean(graph)


def test_a_decision_that_breaks_a_rule_is_a_conflict_of_the_merged_state(tmp_path: Path) -> None:
    graph = make(tmp_path / "g")
    graph.create_branch("feature")
    change(graph, 'update Person set { age: 1 } where name = "Carol"', "feature")
    change(graph, 'update Person set { age: 2 } where name = "Carol"')
    with pytest.raises(MergeConflicts) as caught:
        merged(graph, "feature", resolve=[named("Carol", take="delete")])
    assert [each[0] for each in conflicts(caught.value)] == ["orphan_edge"]
    assert "merge again" in (caught.value.hint or "")


@pytest.mark.parametrize(
    ("decision", "reason"),
    [
        (named("Dan", take="ours"), "Person 'Dan' is not in conflict"),
        (named("Alice", take="mine"), "'take' is 'mine'"),
        (named("Alice"), "needs either 'take' or 'properties'"),
        (named("Alice", take="ours", properties={}), "needs either 'take' or 'properties'"),
        (named("Alice", properties={"height": 3}), "has no property 'height'"),
        (named("Alice", properties={"name": "Bob"}), "keeps its key"),
        (named("Alice", properties={}, to="Bob"), "is a node"),
        ({"type_name": "Person", "take": "ours"}, "does not name an entity"),
        (named("Alice", take="ours", why="because"), "unknown member 'why'"),
    ],
)
def test_a_resolution_that_cannot_be_meant_is_refused_and_changes_nothing(
    graph: Graph, decision: dict[str, Any], reason: str
) -> None:
    before = head(graph), content(graph)
    with pytest.raises(InvalidResolution) as caught:
        merged(graph, "feature", resolve=[decision], on_conflict="ours")
    assert reason in caught.value.sentence()
    assert (head(graph), content(graph)) == before


def test_a_resolution_that_is_given_twice_is_refused(graph: Graph) -> None:
    with pytest.raises(InvalidResolution, match="a second time"):
        merged(graph, "feature", resolve=[named("Alice", take="ours"), named("Alice", take="theirs")])


def test_a_value_of_the_wrong_type_is_refused(graph: Graph) -> None:
    with pytest.raises(InvalidValue):
        merged(graph, "feature", resolve=[named("Alice", properties={"age": "old"})], on_conflict="ours")


def test_a_side_or_a_kind_that_does_not_exist_is_refused(graph: Graph) -> None:
    with pytest.raises(BadRequest, match="unknown on_conflict 'mine'"):
        merged(graph, "feature", on_conflict="mine")
    with pytest.raises(BadRequest, match="cannot decide 'orphan_edge'"):
        merged(graph, "feature", on_conflict={"orphan_edge": "ours"})


@pytest.mark.parametrize(
    "options",
    [
        {"on_conflict": 5},
        {"on_conflict": ["ours"]},
        {"resolve": 5},
        {"resolve": lambda _: 5},
        {"resolve": lambda _: []},
        {"merge_edges": None},
        {"resolve": [{"entity_kind": "node", "type_name": "Person", "entity_id": "Alice", "from": 5}]},
    ],
    ids=["number", "list", "no list", "answer is a number", "answer is a list", "no policy", "end is a number"],
)
def test_a_decision_of_a_wrong_kind_is_refused_and_changes_nothing(graph: Graph, options: dict[str, Any]) -> None:
    before = head(graph)
    with pytest.raises(BadRequest):
        graph.merge("feature", **options)
    assert head(graph) == before
