"""Branches that edit and merge into each other in random order and direction, against a reference model."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from merge.merging import assert_clean, change, head, make, merged, node, people, put
from merge.reference import Content, Model
from omnigraph.graph import Graph
from omnigraph.merge import MergeConflicts, table_merge
from omnigraph.storage.failpoints import InjectedFault, Point, armed

SCHEMA = "node Person { name: String @key  age: I32? }"
BRANCHES = ("main", "b1", "b2", "b3")
FAULTS = (Point.MUTATION_ARMED, Point.MUTATION_TABLE_COMMITTED, Point.SIDECAR_CONFIRM, Point.PUBLISH_BEFORE)

branches = st.sampled_from(BRANCHES)
edit = st.tuples(st.just("put"), branches, st.sampled_from("abcd"), st.integers(1, 3))
removal = st.tuples(st.just("remove"), branches, st.sampled_from("abcd"))
merge_one = st.tuples(
    st.just("merge"),
    branches,
    branches,
    st.sampled_from([None, None, "ours", "theirs"]),
    st.none() | st.sampled_from(FAULTS),
)
upkeep = st.tuples(st.just("optimize"), branches)
histories = st.lists(st.one_of(edit, edit, removal, merge_one, merge_one, merge_one, upkeep), min_size=6, max_size=22)


class Pair:
    """The graph and the model, kept in step."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.model = Model()
        self.dropped = False
        """A branch was deleted: a merge may then ask where the model knows the answer."""
        self.follow("main", {"a": 0, "b": 0, "c": 0})
        for branch in BRANCHES[1:]:
            graph.create_branch(branch)
            self.model.heads[branch] = self.model.heads["main"]

    def follow(self, branch: str, content: Content, merged_id: str | None = None) -> None:
        """The model takes the new head of a branch over, if there is one."""
        commit_id = head(self.graph, branch)
        if commit_id != self.model.heads.get(branch):
            self.model.add(branch, commit_id, content, merged_id)

    def perform(self, step: tuple[Any, ...]) -> None:
        match step:
            case ("put", branch, name, age):
                put(self.graph, branch, node("Person", name=name, age=age))
                self.follow(branch, {**self.model.content(branch), name: age})
            case ("remove", branch, name):
                change(self.graph, f'delete Person where name = "{name}"', branch)
                rest = {each: age for each, age in self.model.content(branch).items() if each != name}
                self.follow(branch, rest)
            case ("optimize", branch):
                Graph.open(self.graph.uri, branch=branch, durability="os").optimize()
                for commit in reversed(self.graph.commits(branch)):
                    if commit.commit_id not in self.model.commits and commit.py.get("kind") in UPKEEP:
                        self.model.add(branch, commit.commit_id, self.model.content(branch))
            case ("drop", branch):
                self.graph.delete_branch(branch)
                self.graph.create_branch(branch)
                self.model.heads[branch] = self.model.heads["main"]
                self.dropped = True
            case ("merge", source, target, on_conflict, fault) if source != target:
                self.merge(source, target, None if self.dropped else on_conflict, fault)

    def merge(self, source: str, target: str, on_conflict: str | None, fault: Point | None) -> None:
        expected, conflicts = self.model.merged(source, target)
        theirs = self.model.content(source)
        for name in conflicts if on_conflict == "theirs" else ():
            expected = {**expected, name: theirs.get(name)}
        expected = {name: age for name, age in expected.items() if age is not None}
        outcome = self.attempt(source, target, on_conflict, fault)
        if outcome == "failed":  # a merge that was taken back leaves a commit of recovery, which changes nothing
            self.follow(target, self.model.content(target))
        elif outcome == "merged":
            assert on_conflict is not None or not conflicts
            self.follow(target, expected, self.model.heads[source])
        else:
            assert on_conflict is None
            assert outcome == sorted(conflicts) or (self.dropped and set(outcome) > set(conflicts))

    def attempt(self, source: str, target: str, on_conflict: str | None, fault: Point | None) -> str | list[str | None]:
        try:
            with armed(fault) if fault is not None else nullcontext():
                merged(self.graph, source, target, on_conflict=on_conflict)
        except MergeConflicts as error:
            return [each.entity_id for each in error.conflicts]
        except InjectedFault:
            return "failed"
        return "merged"

    def check(self) -> None:
        for branch in BRANCHES:
            assert people(self.graph, branch) == self.model.content(branch)


UPKEEP = ("optimize", "ensure_indices")


@settings(max_examples=18)
@given(history=histories, look_up=st.booleans())
def test_branches_that_merge_each_other_at_random_agree_with_the_model(
    tmp_path_factory: pytest.TempPathFactory, history: list[tuple[Any, ...]], look_up: bool
) -> None:
    lines = [node("Person", name=name, age=0) for name in "abc"]
    pair = Pair(make(tmp_path_factory.mktemp("history") / "g", SCHEMA, lines))
    with pytest.MonkeyPatch.context() as patch:
        if look_up:  # as in a target that moved far
            patch.setattr(table_merge, "MOVED_FAR_ROWS", -1)
            patch.setattr(table_merge, "MOVED_FAR_TIMES", 0)
        for step in history:
            pair.perform(step)
    pair.check()
    assert_clean(pair.graph)


drop = st.tuples(st.just("drop"), st.sampled_from(BRANCHES[1:]))
shorter = st.lists(st.one_of(edit, edit, removal, merge_one, merge_one, merge_one, drop), min_size=8, max_size=24)


@settings(max_examples=18)
@given(history=shorter)
def test_a_deleted_branch_costs_a_question_at_most_and_never_an_edit(
    tmp_path_factory: pytest.TempPathFactory, history: list[tuple[Any, ...]]
) -> None:
    lines = [node("Person", name=name, age=0) for name in "abc"]
    pair = Pair(make(tmp_path_factory.mktemp("history") / "g", SCHEMA, lines))
    for step in history:
        pair.perform(step)
    pair.check()
    assert_clean(pair.graph)
