"""What holds of any history: direction does not matter, a diff leads to its end, a revert takes back just that."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from merge.merging import assert_clean, change, content, edge, head, make, merged, node, put
from omnigraph.graph import Graph
from omnigraph.history.diff import EntityChange
from omnigraph.merge import MergeConflicts
from support.size import sized

SCHEMA = """
node Person { name: String @key  age: I32?  tags: [String]?  born: Date? }
edge Knows: Person -> Person { since: I32? }
"""
NAMES = "abcde"

names = st.sampled_from(NAMES)
put_person = st.tuples(st.just("put"), names, st.integers(1, 3), st.sampled_from([None, [], ["x"], ["x", "y"]]))
remove = st.tuples(st.just("remove"), names)
connect = st.tuples(st.just("connect"), names, names)
disconnect = st.tuples(st.just("disconnect"), names)
upkeep = st.tuples(st.just("optimize"))
steps = st.one_of(put_person, put_person, remove, connect, disconnect, upkeep)
edits = st.lists(steps, min_size=1, max_size=5)


def new_graph(factory: pytest.TempPathFactory) -> Graph:
    lines = [node("Person", name=name, age=0, born="2001-02-03") for name in NAMES[:4]]
    return make(factory.mktemp("any") / "g", SCHEMA, [*lines, edge("Knows", "a", "b"), edge("Knows", "b", "c")])


def perform(graph: Graph, branch: str, step: tuple[Any, ...]) -> None:
    match step:
        case ("put", name, age, tags):
            put(graph, branch, node("Person", name=name, age=age, tags=tags, born=f"200{age}-01-01"))
        case ("remove", name):
            change(graph, f'delete Person where name = "{name}"', branch)
        case ("connect", src, dst):
            known = {each["data"]["id"] for each in lines_of(graph, branch) if "type" in each}
            if {src, dst} <= known:
                put(graph, branch, edge("Knows", src, dst))
        case ("disconnect", name):
            change(graph, f'delete Knows where from = "{name}"', branch)
        case ("optimize",):
            graph.branch(branch).optimize()


def lines_of(graph: Graph, branch: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in graph.export(branch=branch)]


def without_edge_ids(graph: Graph, branch: str) -> list[str]:
    """The content by what it says: edges that were added twice have ids of their own."""
    return sorted(json.dumps(each, sort_keys=True) for each in lines_of(graph, branch))


@settings(max_examples=sized(6, 200))
@given(ours=edits, theirs=edits)
def test_merging_one_way_and_the_other_gives_the_same_content(
    tmp_path_factory: pytest.TempPathFactory, ours: list[tuple[Any, ...]], theirs: list[tuple[Any, ...]]
) -> None:
    graph = new_graph(tmp_path_factory)
    for branch, own in (("one", ours), ("other", theirs)):
        graph.create_branch(branch)
        for step in own:
            perform(graph, branch, step)
    for branch in ("one", "other"):
        graph.create_branch(f"into-{branch}", source=branch)
    found: list[list[str] | set[tuple[str | None, str]]] = []
    for source, target in (("one", "into-other"), ("other", "into-one")):
        try:
            merged(graph, source, target)
            found.append(without_edge_ids(graph, target))
        except MergeConflicts as error:
            found.append({(each.entity_id, each.kind) for each in error.conflicts})
    assert found[0] == found[1], "the same content, or the same conflicts"
    assert_clean(graph)


Entity = tuple[str, str, str]


def entities(graph: Graph, branch: str) -> dict[Entity, Any]:
    """Every entity with its image, from the export and not from a diff."""
    found: dict[Entity, Any] = {}
    for each in lines_of(graph, branch):
        kind = "edge" if "edge" in each else "node"
        ends = {"endpoints": {"from": each["from"], "to": each["to"]}} if kind == "edge" else {}
        data = dict(each["data"])
        found[kind, each.get("edge") or each["type"], data.pop("id")] = {"properties": data, **ends}
    return found


def apply(changes: Iterable[EntityChange], state: dict[Entity, Any]) -> dict[Entity, Any]:
    """Carries a diff out. What it says of before must be what is there."""
    state = dict(state)
    for each in changes:
        key = (each.kind, each.type_name, each.id)
        assert state.pop(key, None) == (None if each.before is None else each.before.to_json())
        if each.after is not None:
            state[key] = each.after.to_json()
    return state


@settings(max_examples=sized(6, 200))
@given(ours=edits, theirs=edits)
def test_a_diff_that_is_carried_out_reproduces_its_end(
    tmp_path_factory: pytest.TempPathFactory, ours: list[tuple[Any, ...]], theirs: list[tuple[Any, ...]]
) -> None:
    graph = new_graph(tmp_path_factory)
    for branch, own in (("one", ours), ("other", theirs)):
        graph.create_branch(branch)
        for step in own:
            perform(graph, branch, step)
    states = {branch: entities(graph, branch) for branch in ("main", "one", "other")}
    for before, after in itertools.permutations(states, 2):
        assert apply(graph.diff(before, after), states[before]) == states[after]


@settings(max_examples=sized(3, 200))
@given(history=edits, merges=st.booleans())
def test_a_revert_of_the_last_commit_restores_the_state_before_it(
    tmp_path_factory: pytest.TempPathFactory, history: list[tuple[Any, ...]], merges: bool
) -> None:
    """Also when the last commit is a merge of all of them, and twice gives back what was reverted."""
    graph = new_graph(tmp_path_factory)
    history = [step for step in history if step != ("optimize",)]
    branch = "draft" if merges else "main"
    if merges:
        graph.create_branch("draft")
    for step in history:
        before, at = content(graph, branch), head(graph, branch)
        perform(graph, branch, step)
        if head(graph, branch) == at:
            continue
        after = content(graph, branch)
        graph.branch(branch).revert(head(graph, branch))
        assert content(graph, branch) == before
        if after != before:
            graph.branch(branch).revert(head(graph, branch))
            assert content(graph, branch) == after
    if merges:
        before = content(graph)
        merge_id = merged(graph, "draft").commit_id
        if merge_id is not None:
            graph.revert(merge_id, mainline=1)
            assert content(graph) == before
    assert_clean(graph)
