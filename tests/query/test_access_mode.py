"""How a run follows edges: what is resident stays so, small tables are read at once, large ones when asked twice."""

from __future__ import annotations

from pathlib import Path

import pytest

import omnigraph.query.plan.access_mode as access_mode
from omnigraph.graph import Graph
from omnigraph.query.resident.cache import resident_cache
from support.graphs.people import fx

BY_KEY = 'query q() { match { $p: Person { name: "Alice" } $p knows $f } return { $f.name } }'
ALL = "query q() { match { $p: Person $p knows $f } return { $p.name, $f.name } }"
FAR = 'query q() { match { $p: Person { name: "Alice" } $p knows{1,9} $f } return { $f.name } }'


@pytest.fixture
def graph(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Graph:
    """A graph whose tables count as large, in a process that has asked nothing yet."""
    monkeypatch.setattr(access_mode, "SMALL_ROWS", 0)
    resident_cache().clear()
    made = fx(tmp_path / "g")
    made.ensure_indices()
    return made


def mode_of(graph: Graph, text: str) -> str:
    return graph.explain(text).mode


def test_a_first_question_from_few_nodes_goes_through_the_indexes(graph: Graph) -> None:
    plan = graph.explain(BY_KEY)
    assert (plan.mode, plan.to_json()["steps"][0]["operator"]) == ("indexed", "scan")  # type: ignore[index]


def test_a_question_that_is_asked_again_is_answered_from_memory(graph: Graph) -> None:
    assert [mode_of(graph, BY_KEY), mode_of(graph, BY_KEY)] == ["indexed", "csr"]


def test_many_hops_are_walked_in_memory(graph: Graph) -> None:
    assert mode_of(graph, FAR) == "csr"


def test_without_an_index_on_the_endpoints_several_hops_are_walked_in_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(access_mode, "SMALL_ROWS", 1)
    resident_cache().clear()
    bare = fx(tmp_path / "bare")
    two = 'query q() { match { $p: Person { name: "Alice" } $p knows $f $f knows $g } return { $g.name } }'
    assert mode_of(bare, two) == "csr"


def test_what_is_resident_is_used(graph: Graph) -> None:
    graph.query(ALL, mode="csr")
    assert "resident" in graph.explain(BY_KEY).reason


@pytest.mark.parametrize("mode", ["indexed", "csr"])
def test_the_environment_decides_when_the_caller_does_not(
    graph: Graph, monkeypatch: pytest.MonkeyPatch, mode: str
) -> None:
    monkeypatch.setenv("OMNIGRAPH_TRAVERSAL_MODE", mode)
    assert mode_of(graph, ALL) == mode
    other = "csr" if mode == "indexed" else "indexed"
    assert graph.explain(ALL, mode=other).mode == other  # type: ignore[arg-type]


def test_the_ceiling_of_the_frontier_comes_from_the_environment(graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMNIGRAPH_EXPAND_INDEXED_MAX_FRONTIER", "0")
    assert mode_of(graph, BY_KEY) == "csr"


class TestPlans:
    def steps(self, graph: Graph, text: str) -> list[str]:
        return [str(step["detail"]) for step in graph.explain(text).to_json()["steps"]]  # type: ignore[index,union-attr,call-overload]

    def test_a_plan_starts_at_the_most_selective_end(self, graph: Graph) -> None:
        text = 'query q() { match { $p: Person $p worksAt $c $c.name = "Acme" } return { $p.name } }'
        assert self.steps(graph, text) == ['$c: Company where $c.name = "Acme"', "$c <-[WorksAt]- $p: Person"]

    def test_a_cycle_is_closed_by_intersecting_neighbours(self, graph: Graph) -> None:
        text = "query q() { match { $a: Person $a knows $b $b knows $c $c knows $a } return { count($a) as n } }"
        kinds = [line.operator for line in graph.explain(text).lines]
        assert kinds == ["scan", "traverse", "intersect"]

    def test_analyze_says_what_each_step_did(self, graph: Graph) -> None:
        plan = graph.explain(ALL, analyze=True)
        assert [line.rows for line in plan.lines] == [4, 3]
        assert plan.rows == 3
        assert "ms" in plan.text
