"""Merging back and forth: histories on which a row could be lost, or a conflict be found where there is none."""

from __future__ import annotations

from pathlib import Path

import pytest

from merge.merging import (
    assert_clean,
    change,
    conflicts,
    content,
    head,
    make,
    merged,
    node,
    people,
    put,
)
from omnigraph.graph import Graph
from omnigraph.merge import MergeConflicts

SCHEMA = "node Person { name: String @key  age: I32? @index }"


def start(tmp_path: Path, *names: str) -> Graph:
    return make(tmp_path / "g", SCHEMA, [node("Person", name=name, age=0) for name in names])


def set_age(graph: Graph, branch: str, name: str, age: int) -> None:
    put(graph, branch, node("Person", name=name, age=age))


def remove(graph: Graph, branch: str, name: str) -> None:
    change(graph, f'delete Person where name = "{name}"', branch)


def test_merging_back_and_forth_never_drops_a_row_that_nobody_deleted(tmp_path: Path) -> None:
    """The sequence on which the Rust releases delete M from main."""
    graph = start(tmp_path, "B", "C")
    graph.create_branch("b0")
    graph.create_branch("f")
    set_age(graph, "f", "F", 1)
    set_age(graph, "f", "B", 5)
    remove(graph, "f", "C")
    set_age(graph, "b0", "X", 1)
    assert merged(graph, "f", "b0").outcome == "merged"
    set_age(graph, "b0", "B", 0)
    set_age(graph, "b0", "C", 0)
    assert merged(graph, "b0").outcome == "fast_forward"
    set_age(graph, "main", "M", 1)
    assert merged(graph, "main", "b0").outcome == "fast_forward"
    assert people(graph, "b0") == {"B": 0, "C": 0, "F": 1, "X": 1, "M": 1}
    set_age(graph, "b0", "Z", 1)
    merged(graph, "b0")
    assert people(graph) == {"B": 0, "C": 0, "F": 1, "X": 1, "M": 1, "Z": 1}
    assert_clean(graph)


def test_tx_M62_a_branch_catches_up_although_its_versions_are_ahead_of_mains(tmp_path: Path) -> None:
    graph = start(tmp_path, "A")
    graph.create_branch("b0")
    for number in range(6):
        set_age(graph, "b0", f"N{number}", number)
    assert merged(graph, "b0").outcome == "fast_forward"
    set_age(graph, "main", "M", 1)
    assert merged(graph, "main", "b0").outcome == "fast_forward"
    assert people(graph, "b0") == people(graph)
    assert "M" in people(graph, "b0")
    assert_clean(graph)


def test_tx_M63_a_child_branch_stays_readable_when_its_parent_catches_up_and_goes_on(tmp_path: Path) -> None:
    graph = start(tmp_path, "A")
    graph.create_branch("b0")
    set_age(graph, "b0", "N", 1)
    graph.branch("b0").create_branch("b1")
    before = content(graph, "b1")
    merged(graph, "b0")
    set_age(graph, "main", "M", 1)
    merged(graph, "main", "b0")
    set_age(graph, "b0", "P", 1)
    assert content(Graph.open(graph.uri, durability="os"), "b1") == before
    assert merged(graph, "b1").outcome == "already_up_to_date"
    set_age(graph, "b1", "Q", 1)
    merged(graph, "b1", "b0")
    assert set(people(graph, "b0")) == {"A", "N", "M", "P", "Q"}
    assert_clean(graph)


@pytest.mark.parametrize("x_is", ["alive", "deleted"])
@pytest.mark.parametrize("indexed", [False, True])
def test_tx_M64_two_branches_that_merged_a_third_one_merge_without_a_false_conflict(
    tmp_path: Path, x_is: str, indexed: bool
) -> None:
    graph = start(tmp_path, "a", "b", "c")
    if indexed:
        graph.optimize()
    for name in ("x", "s", "t"):
        graph.create_branch(name)
    set_age(graph, "x", "a", 1)
    shared = head(graph, "x")
    merged(graph, "x", "s")
    merged(graph, "x", "t")
    if x_is == "deleted":
        graph.delete_branch("x")
    set_age(graph, "s", "a", 2)
    set_age(graph, "s", "b", 2)
    set_age(graph, "t", "c", 3)
    result = merged(graph, "s", "t")
    assert (result.outcome, result.base_commit_ids) == ("merged", (shared,))
    assert people(graph, "t") == {"a": 2, "b": 2, "c": 3}
    assert_clean(graph)


def test_a_real_conflict_over_what_a_deleted_branch_changed_is_still_found(tmp_path: Path) -> None:
    graph = start(tmp_path, "a", "b")
    for name in ("x", "s", "t"):
        graph.create_branch(name)
    set_age(graph, "x", "a", 1)
    remove(graph, "x", "b")
    for name in ("s", "t"):
        merged(graph, "x", name)
    graph.delete_branch("x")
    set_age(graph, "s", "a", 2)
    set_age(graph, "t", "a", 3)
    set_age(graph, "s", "b", 4)
    with pytest.raises(MergeConflicts) as caught:
        merged(graph, "s", "t")
    assert conflicts(caught.value) == [("divergent_update", "Person", "a")]
    [only] = caught.value.conflicts
    assert only.base is not None
    assert only.base.properties["age"] == 1, "what the deleted branch had made of it"


def test_a_deletion_that_a_deleted_branch_brought_is_not_undone(tmp_path: Path) -> None:
    graph = start(tmp_path, "a", "b")
    for name in ("x", "s", "t"):
        graph.create_branch(name)
    remove(graph, "x", "a")
    for name in ("s", "t"):
        merged(graph, "x", name)
    graph.delete_branch("x")
    set_age(graph, "s", "a", 7)
    set_age(graph, "t", "b", 1)
    merged(graph, "s", "t")
    assert people(graph, "t") == {"a": 7, "b": 1}, "s made it again after the shared deletion"


def test_branches_that_merged_each_other_keep_what_was_set_back_since(tmp_path: Path) -> None:
    """With either of the two merge bases alone, one of the two edits would be lost."""
    graph = start(tmp_path, "a", "b")
    for name in ("s", "t"):
        graph.create_branch(name)
    set_age(graph, "s", "a", 1)
    set_age(graph, "t", "b", 1)
    heads = {name: head(graph, name) for name in ("s", "t")}
    graph.branch("s").create_branch("s1")
    graph.branch("t").create_branch("t1")
    merged(graph, "t1", "s")
    merged(graph, "s1", "t")
    assert people(graph, "s") == people(graph, "t") == {"a": 1, "b": 1}
    set_age(graph, "s", "a", 0)
    set_age(graph, "t", "b", 0)
    result = merged(graph, "s", "t")
    assert set(result.base_commit_ids) == set(heads.values())
    assert people(graph, "t") == {"a": 0, "b": 0}
    merged(graph, "t", "s")
    assert people(graph, "s") == {"a": 0, "b": 0}
    assert_clean(graph)


def test_what_the_merge_bases_disagree_about_is_a_conflict_unless_both_sides_agree(tmp_path: Path) -> None:
    graph = start(tmp_path, "a", "b")
    for name in ("s", "t"):
        graph.create_branch(name)
    for name, age in (("s", 1), ("t", 2)):
        set_age(graph, name, "a", age)
        set_age(graph, name, "b", age)
        graph.branch(name).create_branch(f"{name}1")
    merged(graph, "t1", "s", on_conflict="theirs")
    merged(graph, "s1", "t", on_conflict="theirs")
    assert (people(graph, "s"), people(graph, "t")) == ({"a": 2, "b": 2}, {"a": 1, "b": 1})
    for name in ("s", "t"):
        set_age(graph, name, "b", 9)
    with pytest.raises(MergeConflicts) as caught:
        merged(graph, "s", "t")
    assert conflicts(caught.value) == [("divergent_update", "Person", "a")]
    assert caught.value.conflicts[0].base is None, "nobody knows it"


def test_a_commit_that_another_program_deleted_is_named_with_the_conflict(tmp_path: Path) -> None:
    graph = start(tmp_path, "a")
    for name in ("x", "s", "t"):
        graph.create_branch(name)
    set_age(graph, "x", "a", 1)
    gone = head(graph, "x")
    for name in ("s", "t"):
        merged(graph, "x", name)
    graph.delete_branch("x")
    graph._storage.objects.delete(f"__history/{gone}.json")  # the Rust releases keep nothing
    set_age(graph, "s", "a", 2)
    fresh = Graph.open(graph.uri, durability="os")
    result = merged(fresh, "s", "t", dry_run=True)
    assert result.conflicts_total == 0, "the target still has what both took from the deleted branch"
    set_age(graph, "t", "a", 3)
    result = merged(fresh, "s", "t", dry_run=True)
    assert result.conflicts_total == 1
    with pytest.raises(MergeConflicts, match=f"Commit {gone} is not known any more"):
        merged(fresh, "s", "t")


def test_merging_one_way_and_the_other_way_gives_the_same_content(tmp_path: Path) -> None:
    results = []
    for number, (source, target) in enumerate((("s", "t"), ("t", "s"))):
        graph = make(tmp_path / str(number), SCHEMA, [node("Person", name=name, age=0) for name in "abcd"])
        for name in ("s", "t"):
            graph.create_branch(name)
        set_age(graph, "s", "a", 1)
        remove(graph, "s", "b")
        set_age(graph, "t", "c", 2)
        set_age(graph, "t", "e", 3)
        merged(graph, source, target)
        results.append(people(graph, target))
    assert results[0] == results[1] == {"a": 1, "c": 2, "d": 0, "e": 3}
