"""A branch that a load makes for itself: it goes with a load that fails, unless somebody else has put it to use."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from omnigraph.graph import Graph
from omnigraph.model.errors import OmniGraphError, ReadSetChanged
from omnigraph.storage.failpoints import InjectedFault, Point, armed
from support.graphs.people import INSERT_PERSON, fx, lines, people, person

COMPANY = lines({"type": "Company", "data": {"name": "Initech"}})
KNOWS = lines({"edge": "Knows", "from": "Alice", "to": "Bob"})
BOTH = [*COMPANY, *lines(person("Zoe"))]


@pytest.fixture
def graph(tmp_path: Path) -> Graph:
    return fx(tmp_path / "g")


def overtaken(graph: Graph, overtake: Callable[[Graph], object]) -> OmniGraphError:
    """A load that makes the branch 'new' for itself, and fails because of what another client did there meanwhile."""
    other = Graph.open(graph.uri, durability="os")
    with armed(Point.MUTATION_STAGED, lambda: overtake(other) and None), pytest.raises(OmniGraphError) as failed:
        graph.load(KNOWS, mode="overwrite", branch="new", base="main")
    return failed.value


def told(error: BaseException) -> str:
    return " ".join(getattr(error, "__notes__", ()))


def test_a_failed_load_leaves_the_commits_that_others_made_on_its_branch(graph: Graph) -> None:
    error = overtaken(graph, lambda other: other.mutate(INSERT_PERSON, n="Eve", branch="new"))
    assert isinstance(error, ReadSetChanged)
    assert "Eve" in people(graph, "new")
    assert "branch 'new'" in told(error)
    assert "is kept" in told(error)


def test_a_failed_load_leaves_a_branch_of_the_same_name_that_somebody_else_made(graph: Graph) -> None:
    def make_it_anew(other: Graph) -> None:
        other.delete_branch("new")
        other.create_branch("new")

    error = overtaken(graph, make_it_anew)
    assert graph.branches() == ["main", "new"]
    assert "'new'" in told(error)


def test_a_failed_load_leaves_a_branch_that_another_branch_was_made_from(graph: Graph) -> None:
    def use_it(other: Graph) -> None:
        other.create_branch("child", source="new")
        other.mutate(INSERT_PERSON, n="Eve", branch="child")
        raise InjectedFault("after the other branch was made")

    other = Graph.open(graph.uri, durability="os")
    with armed(Point.MUTATION_STAGED, lambda: use_it(other)), pytest.raises(InjectedFault) as failed:
        graph.load(COMPANY, mode="append", branch="new", base="main")
    assert graph.branches() == ["child", "main", "new"]
    assert "'new'" in told(failed.value)


def test_a_load_whose_outcome_is_not_known_leaves_its_branch(graph: Graph) -> None:
    with (
        armed(Point.MUTATION_BEFORE_PUBLISH),
        armed(Point.ROLL_FORWARD_PUBLISH),
        pytest.raises(OmniGraphError) as failed,
    ):
        graph.load(COMPANY, mode="append", branch="new", base="main")
    assert "is kept: a write to it was interrupted" in told(failed.value)
    assert graph.branches() == ["main", "new"]
    Graph.open(graph.uri)
    assert len(list(graph.export("new", types=["Company"]))) == 3


@pytest.mark.parametrize("point", [Point.MUTATION_STAGED, Point.MUTATION_ARMED, Point.MUTATION_TABLE_COMMITTED])
def test_a_failed_load_takes_the_branch_with_it_that_nobody_else_used(graph: Graph, point: Point) -> None:
    with armed(point), pytest.raises(InjectedFault) as failed:
        graph.load(BOTH, mode="append", branch="new", base="main")
    assert graph.branches() == ["main"]
    assert told(failed.value) == ""
    assert graph.verify().ok


def test_a_branch_that_was_there_before_the_load_is_never_removed(graph: Graph) -> None:
    graph.create_branch("new")
    with armed(Point.MUTATION_STAGED), pytest.raises(InjectedFault):
        graph.load(COMPANY, mode="append", branch="new", base="main")
    assert graph.branches() == ["main", "new"]
