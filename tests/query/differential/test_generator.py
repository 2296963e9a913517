"""The generator itself: the same seeds give the same cases, and the cases cover the language."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from language.query.oracle import whole_answer
from omnigraph.language.query import compile_query
from query.differential.compare import difference
from query.differential.coverage import EXPECTED
from query.differential.graphs import SCALARS, random_graph
from query.differential.loading import halves, load
from query.differential.queries import random_query
from query.differential.shrink import shrink
from query.differential.trials import expected, queries_of

GRAPHS, QUERIES = 30, 40


def test_same_seed_gives_the_same_graph_and_queries() -> None:
    for seed in range(5):
        one, other = random_graph(seed), random_graph(seed)
        assert (one.schema, one.lines()) == (other.schema, other.lines())
        assert [random_query(one, n) for n in range(20)] == [random_query(other, n) for n in range(20)]


def test_queries_cover_the_language_and_most_of_them_compile() -> None:
    seen: Counter[str] = Counter()
    for seed in range(GRAPHS):
        for _ in queries_of(random_graph(seed), QUERIES, seen):
            pass
    assert {feature for feature in EXPECTED if seen[feature] == 0} == set()
    assert seen["answered"] >= 0.85 * seen["drawn"]
    assert seen["with rows"] >= 0.4 * seen["answered"]


def test_graphs_cover_types_nulls_loops_and_parallel_edges() -> None:
    kinds, nulls, loops, parallel = set[str](), 0, 0, 0
    for seed in range(GRAPHS):
        graph = random_graph(seed)
        kinds |= {kind for entity in (*graph.nodes, *graph.edges) for kind in entity.properties.values()}
        edges = [edge for found in graph.data.edges.values() for edge in found]
        loops += sum(edge["from"] == edge["to"] for edge in edges)
        parallel += sum(
            count > 1
            for name in graph.data.edges
            for count in Counter((edge["from"], edge["to"]) for edge in graph.data.edges[name]).values()
        )
        nulls += sum(
            value is None for nodes in graph.data.nodes.values() for n in nodes.values() for value in n.values()
        )
    assert set(SCALARS) <= kinds
    assert any(kind.startswith("[") for kind in kinds)
    assert min(nulls, loops, parallel) > 20


def test_two_loads_are_the_whole_graph() -> None:
    for seed in range(GRAPHS):
        records = random_graph(seed).records
        early, late = halves(records)
        assert len(early) + len(late) == len(records)


def test_every_graph_can_be_loaded(tmp_path: Path) -> None:
    for seed in range(4):
        graph = random_graph(seed)
        made = load(graph, tmp_path / str(seed))
        counts = {pin.table_key.type_name: pin.row_count for pin in made.snapshot().tables}
        assert counts == {name: len(rows) for name, rows in (graph.data.nodes | graph.data.edges).items()}


def test_comparison_takes_any_rows_where_the_language_leaves_the_choice() -> None:
    graph = next(g for g in map(random_graph, range(50)) if len(g.data.nodes[g.nodes[0].name]) >= 5)
    name = graph.nodes[0].name
    compiled = compile_query(f"query q() {{ match {{ $a: {name} }} return {{ $a }} limit 2 }}", graph.catalog)
    whole = whole_answer(compiled, {}, graph.data)
    assert difference(whole.rows[2:4], whole) is None
    assert difference(whole.rows[:1], whole) is not None
    assert difference([whole.rows[0], whole.rows[0]], whole) is not None
    assert difference([["nobody"], whole.rows[0]], whole) is not None


def test_shrinking_leaves_what_makes_a_query_fail() -> None:
    graph = random_graph(1)
    large = next(
        query
        for query in (random_query(graph, seed) for seed in range(500))
        if any("<" in clause for clause in query.clauses) and len(query.clauses) > 3 and expected(query, graph)
    )
    small = shrink(large, lambda query: "<" in query.text and expected(query, graph) is not None)
    assert "<" in small.text
    assert len(small.clauses) < len(large.clauses)
    assert len(small.items) == 1
