"""The commit graph against a naive reference: sets of ancestors, computed in full."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from omnigraph.history.commit_graph import AheadBehind, CommitGraph

Dag = dict[str, tuple[str, ...]]


@st.composite
def dags(draw: st.DrawFn) -> Dag:
    """Histories as branches make them: each commit has one parent or two, all of them older."""
    dag: Dag = {"c00": ()}
    for number in range(1, draw(st.integers(2, 14))):
        older = sorted(dag)
        parents = [draw(st.sampled_from(older))]
        if draw(st.booleans()):
            other = draw(st.sampled_from(older))
            parents += [other] if other != parents[0] else []
        dag[f"c{number:02}"] = tuple(parents)
    return dag


def ancestors(dag: Dag, commit: str) -> set[str]:
    return {commit}.union(*(ancestors(dag, parent) for parent in dag[commit]))


def reference_bases(dag: Dag, source: str, target: str) -> set[str]:
    common = ancestors(dag, source) & ancestors(dag, target)
    return {one for one in common if not any(one != other and one in ancestors(dag, other) for other in common)}


@settings(max_examples=300)
@given(dags(), st.data())
def test_merge_bases_are_the_common_ancestors_that_no_other_one_contains(dag: Dag, data: st.DataObject) -> None:
    source, target = (data.draw(st.sampled_from(sorted(dag))) for _ in range(2))
    graph = CommitGraph(dag.__getitem__)
    assert set(graph.merge_bases(source, target)) == reference_bases(dag, source, target)
    assert graph.merge_bases(source, target) == graph.merge_bases(target, source)


@settings(max_examples=300)
@given(dags(), st.data())
def test_ahead_and_behind_count_what_only_one_side_has(dag: Dag, data: st.DataObject) -> None:
    source, target = (data.draw(st.sampled_from(sorted(dag))) for _ in range(2))
    own, other = ancestors(dag, source), ancestors(dag, target)
    assert CommitGraph(dag.__getitem__).ahead_behind(source, target) == AheadBehind(len(own - other), len(other - own))


@settings(max_examples=100)
@given(dags(), st.data())
def test_a_commit_is_an_ancestor_of_what_contains_it(dag: Dag, data: st.DataObject) -> None:
    older, younger = (data.draw(st.sampled_from(sorted(dag))) for _ in range(2))
    assert CommitGraph(dag.__getitem__).is_ancestor(older, younger) == (older in ancestors(dag, younger))


def test_branches_that_merged_each_other_have_two_merge_bases() -> None:
    dag = {"root": (), "a1": ("root",), "b1": ("root",), "a2": ("a1", "b1"), "b2": ("b1", "a1")}
    assert set(CommitGraph(dag.__getitem__).merge_bases("a2", "b2")) == {"a1", "b1"}


def test_a_walk_does_not_go_below_what_both_sides_share() -> None:
    dag: Dag = {"c0": ()} | {f"c{number}": (f"c{number - 1}",) for number in range(1, 1001)}
    dag |= {"left": ("c1000",), "right": ("c1000",)}
    graph = CommitGraph(dag.__getitem__)
    graph.generation("left")
    asked: list[str] = []
    graph.parents = lambda commit: asked.append(commit) or dag[commit]
    assert graph.merge_bases("left", "right") == ("c1000",)
    assert len(set(asked)) <= 4


def test_a_history_of_many_thousand_commits_is_walked_without_recursion() -> None:
    dag: Dag = {"c0": ()} | {f"c{number}": (f"c{number - 1}",) for number in range(1, 20_001)}
    assert CommitGraph(dag.__getitem__).ahead_behind("c20000", "c0") == AheadBehind(20_000, 0)
