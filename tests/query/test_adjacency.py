"""Kernels over adjacencies give what a loop over the edges gives."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from omnigraph.query.limits import Guard, QueryLimits
from omnigraph.query.topology import adjacency as adjacencies
from omnigraph.query.topology import intersection
from omnigraph.query.topology.adjacency import Neighbours, connected, edge_adjacency, simple_adjacency, walk
from omnigraph.query.topology.intersection import common_counts, common_neighbours
from omnigraph.query.topology.reachability import reach

NODES = 7
MANY_NODES = intersection.MARK_BYTES
"""So many that marks by node would not fit."""
Edges = list[tuple[int, int]]
edges_of = st.lists(st.tuples(st.integers(-1, NODES - 1), st.integers(-1, NODES - 1)), max_size=30)
rows_of = st.lists(st.integers(0, NODES - 1), max_size=8)


def columns(edges: Edges) -> tuple[np.ndarray, np.ndarray]:
    return np.array([a for a, _ in edges], np.int32), np.array([b for _, b in edges], np.int32)


def neighbours(edges: Edges) -> dict[int, set[int]]:
    found: dict[int, set[int]] = defaultdict(set)
    for a, b in edges:
        if a >= 0 and b >= 0:
            found[a].add(b)
    return found


@given(edges_of, rows_of)
def test_a_walk_visits_each_neighbour_once(edges: Edges, rows: list[int]) -> None:
    adjacency = simple_adjacency(*columns(edges), NODES)
    parents, entries = walk(adjacency, np.array(rows, np.int32))
    found = list(zip(parents.tolist(), adjacency.targets[entries].tolist(), strict=True))
    assert found == [(place, b) for place, row in enumerate(rows) for b in sorted(neighbours(edges)[row])]


@given(edges_of, rows_of)
def test_a_walk_by_edges_visits_each_edge_once(edges: Edges, rows: list[int]) -> None:
    src, dst = columns(edges)
    adjacency = edge_adjacency(src, dst, np.arange(len(edges), dtype=np.int32), NODES)
    parents, entries = walk(adjacency, np.array(rows, np.int32))
    assert adjacency.edges is not None
    found = list(zip(parents.tolist(), adjacency.edges[entries].tolist(), strict=True))
    whole = [(number, a, b) for number, (a, b) in enumerate(edges) if a >= 0 and b >= 0]
    wanted = [(place, n) for place, row in enumerate(rows) for n, a, _ in sorted(whole, key=lambda e: e[2]) if a == row]
    assert found == wanted


@pytest.mark.parametrize(
    "numbers", [np.arange(NODES, dtype=np.int32) - 3, np.arange(NODES) / 4, np.arange(NODES) % 2 == 0]
)
@pytest.mark.parametrize("whole_share", [0, 10**9])
@given(edges=edges_of, rows=rows_of)
def test_sums_over_neighbours_are_the_same_by_picking_and_by_adding_up_everybody(
    edges: Edges, rows: list[int], numbers: np.ndarray, whole_share: int
) -> None:
    adjacency = simple_adjacency(*columns(edges), NODES)
    sources = [row for row in rows if neighbours(edges)[row]]
    if not sources:
        return
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(adjacencies, "WHOLE_SHARE", whole_share)
        patch.setattr(adjacencies, "SUMMED_AT_A_TIME", 2)
        for asked in (sources, sorted(set(sources))):
            found = Neighbours("f", adjacency, np.array(asked, np.int32)).sums(numbers)
            assert found.tolist() == [sum(numbers[b] for b in neighbours(edges)[row]) for row in asked]


@given(edges_of, st.lists(st.tuples(st.integers(0, NODES - 1), st.integers(0, NODES - 1)), max_size=12))
def test_connected_knows_every_pair(edges: Edges, pairs: Edges) -> None:
    adjacency = simple_adjacency(*columns(edges), NODES)
    answer = connected(adjacency, *columns(pairs)).tolist()
    assert answer == [b in neighbours(edges)[a] for a, b in pairs]


@settings(max_examples=60)
@given(edges_of, edges_of, st.lists(st.tuples(st.integers(0, NODES - 1), st.integers(0, NODES - 1)), max_size=12))
def test_common_neighbours_are_the_same_by_marks_by_hashes_and_by_search(
    one: Edges, other: Edges, pairs: Edges
) -> None:
    lead, asked = (simple_adjacency(*columns(edges), NODES) for edges in (one, other))
    many = pairs * 500  # enough of them for marks
    for given_pairs, size in ((pairs, NODES), (many, NODES), (many, MANY_NODES)):
        walked, holders = columns(given_pairs)
        wanted = [sorted(neighbours(one)[a] & neighbours(other)[b]) for a, b in given_pairs]
        found: list[list[int]] = [[] for _ in given_pairs]
        for places, targets in common_neighbours(lead, asked, walked, holders, size):
            for place, target in zip(places.tolist(), targets.tolist(), strict=True):
                found[place].append(target)
        assert [sorted(each) for each in found] == wanted
        counts = common_counts(lead, asked, walked, holders, size, lambda: None)
        assert counts.tolist() == [len(each) for each in wanted]


def test_common_neighbours_in_a_large_graph_are_found_over_many_rounds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(intersection, "HELD_MAX", 500)
    monkeypatch.setattr(intersection, "PIECE_STEPS", 700)
    monkeypatch.setattr(intersection, "TABLE_BITS", 9)  # so small that most of what it says is wrong
    rng = np.random.default_rng(4)
    src, dst = rng.integers(0, 300, (2, 9_000), dtype=np.int32)
    adjacency = simple_adjacency(src, dst, 300)
    pairs = rng.integers(0, 300, (2, 5_000), dtype=np.int32)
    sets = [set(adjacency.targets[adjacency.offsets[n] : adjacency.offsets[n + 1]].tolist()) for n in range(300)]
    wanted = [len(sets[a] & sets[b]) for a, b in zip(*pairs.tolist(), strict=True)]
    assert common_counts(adjacency, adjacency, *pairs, MANY_NODES, lambda: None).tolist() == wanted


@given(edges_of, rows_of, st.integers(1, 3), st.integers(0, 3) | st.none())
def test_reach_finds_the_shortest_distances(edges: Edges, rows: list[int], least: int, more: int | None) -> None:
    most = None if more is None else least + more
    adjacency = simple_adjacency(*columns(edges), NODES)
    sources = np.array(rows, np.int32)
    found = set()
    for part in reach(lambda _: adjacency, lambda: NODES, sources, least, most, Guard(QueryLimits())):
        found |= set(zip(part.positions.tolist(), part.targets.tolist(), part.distances.tolist(), strict=True))
    wanted = {
        (place, node, hops)
        for place, row in enumerate(rows)
        for node, hops in distances(edges, row).items()
        if hops >= least and (most is None or hops <= most)
    }
    assert found == wanted


def distances(edges: Edges, start: int) -> dict[int, int]:
    """Shortest distances of at least one; the start itself by an edge to itself alone."""
    found: dict[int, int] = {}
    frontier, hops = {start}, 0
    while frontier:
        hops += 1
        fresh = {b for a in frontier for b in neighbours(edges)[a]} - found.keys()
        fresh = {b for b in fresh if b != start or hops == 1}
        found.update(dict.fromkeys(fresh, hops))
        frontier = fresh
    return found
