"""After a merged branch is deleted, later merges give what they would have given with it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from omnigraph.graph import Graph
from omnigraph.storage.failpoints import Point, armed

SCHEMA = "node P { name: String @key  v: String? }\nedge K: P -> P\n"


def put(graph: Graph, name: str, value: str | None = None) -> None:
    graph.mutate("query q($n: String, $v: String?) { insert P { name: $n, v: $v } }", {"n": name, "v": value})


def remove(graph: Graph, name: str) -> None:
    graph.mutate("query q($n: String) { delete P where name = $n }", {"n": name})


def change(graph: Graph, name: str, value: str) -> None:
    graph.mutate("query q($n: String, $v: String) { update P set { v: $v } where name = $n }", {"n": name, "v": value})


def people(graph: Graph) -> dict[str, str | None]:
    rows = graph.query("query q() { match { $p: P } return { $p.name as n, $p.v as v } }")
    return {row["n"]: row["v"] for row in rows}


def edges(graph: Graph) -> int:
    return sum(b'"edge"' in line for line in graph.export())


def caught_up_and_merged_twice(graph: Graph, drop: Callable[[str], None]) -> None:
    source, draft = graph.create_branch("s"), graph.create_branch("d")
    put(graph, "F")
    source.merge("main")
    draft.merge("main")
    put(draft, "G")
    graph.merge("d")
    source.merge("d")
    drop("d")
    remove(graph, "F")


def two_branches_merged_twice(graph: Graph, drop: Callable[[str], None]) -> None:
    source = graph.create_branch("s")
    for name in "de":
        put(graph.create_branch(name), name.upper())
    for name in "de":
        graph.merge(name)
        source.merge(name)
    drop("d")
    drop("e")
    remove(graph, "D")
    remove(graph, "E")


def merged_where_it_brought_nothing(graph: Graph, drop: Callable[[str], None]) -> None:
    source, draft = graph.create_branch("s"), graph.create_branch("d")
    put(source, "E")
    put(draft, "E")
    source.merge("d")
    put(draft, "G")
    graph.merge("d")
    drop("d")
    remove(graph, "E")


def changed_after_it_came(graph: Graph, drop: Callable[[str], None]) -> None:
    source, draft, other = graph.create_branch("s"), graph.create_branch("d"), graph.create_branch("o")
    put(other, "F", "b")
    draft.merge("o")
    put(draft, "G")
    graph.merge("d")
    source.merge("d")
    drop("d")
    change(graph, "F", "a")


@pytest.mark.parametrize(
    "history",
    [
        caught_up_and_merged_twice,
        two_branches_merged_twice,
        merged_where_it_brought_nothing,
        changed_after_it_came,
    ],
    ids=lambda history: history.__name__.replace("_", " "),
)
@pytest.mark.parametrize("direction", ["into main", "into the branch"])
def test_what_one_side_removed_or_changed_stays_so(
    history: Callable[[Graph, Callable[[str], None]], None], direction: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    results = []
    for is_deleted in (False, True):
        graph = Graph.init(str(tmp_path_factory.mktemp("g") / "g"), SCHEMA, durability="os")
        history(graph, graph.delete_branch if is_deleted else lambda _: None)
        target, source = (graph, "s") if direction == "into main" else (graph.branch("s"), "main")
        target.merge(source)
        results.append(people(target))
        assert graph.verify().ok
    assert results[0] == results[1]


def test_a_commit_that_lands_on_the_source_meanwhile_keeps_the_branch(graph: Graph) -> None:
    source = graph.create_branch("s")
    put(source, "A")
    with armed(Point.MUTATION_STAGED, lambda: put(source, "B")):
        result = graph.merge("s", delete_branch=True)
    assert result.branch_deleted is False
    assert result.branch_delete_error is not None
    assert set(people(graph.branch("s"))) == {"A", "B"}
    graph.merge("s", delete_branch=True)
    assert set(people(graph)) == {"A", "B"}
    assert graph.branches() == ["main"]


ADD = 'query q() { insert K { from: "A", to: "B" } }'


def test_converging_keeps_a_parallel_edge_beside_one_that_both_sides_took_from_a_deleted_branch(graph: Graph) -> None:
    put(graph, "A")
    put(graph, "B")
    source, draft = graph.create_branch("s"), graph.create_branch("d")
    draft.mutate(ADD)
    graph.merge("d")
    source.merge("d")
    graph.delete_branch("d")
    source.mutate(ADD)
    put(graph, "Z")
    graph.merge("s", merge_edges="converge")
    assert edges(graph) == 2


def test_converging_keeps_a_parallel_edge_beside_one_of_the_same_id(graph: Graph) -> None:
    put(graph, "A")
    put(graph, "B")
    source = graph.create_branch("s")
    same = b'{"edge": "K", "from": "A", "to": "B", "data": {"id": "x"}}\n'
    other = b'{"edge": "K", "from": "A", "to": "B", "data": {"id": "y"}}\n'
    graph.load([same], mode="append")
    source.load([same, other], mode="append")
    graph.merge("s", merge_edges="converge")
    assert edges(graph) == 2
