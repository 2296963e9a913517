"""Reach: which rows lie within some hops of others, by breadth-first search over many sources at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import numpy.typing as npt

from omnigraph.model.errors import ResourceLimitExceeded
from omnigraph.model.late_dataclass import dataclass
from omnigraph.query.frames import Rows
from omnigraph.query.limits import Guard
from omnigraph.query.topology.adjacency import Adjacency, walk

VISITED_CELLS = 1 << 26
"""Marks for all sources of a round together: one byte per source and node."""
SOURCES_MAX = 4096

AdjacencyFor = Callable[[Rows], Adjacency]


@dataclass(frozen=True, slots=True)
class Reached:
    """`targets[i]` is `distances[i]` hops from `sources[positions[i]]`."""

    positions: npt.NDArray[np.int64]
    targets: Rows
    distances: npt.NDArray[np.int32]


def reach(
    adjacency_for: AdjacencyFor,
    size_now: Callable[[], int],
    sources: Rows,
    min_hops: int,
    max_hops: int | None,
    guard: Guard,
) -> Iterator[Reached]:
    """Every destination with its shortest distance, for parts of the sources at a time.

    A source is its own destination by an edge to itself alone, at distance 1.
    """
    per_round = max(1, min(SOURCES_MAX, VISITED_CELLS // max(1, size_now())))
    for start in range(0, len(sources), per_round):
        part = sources[start : start + per_round]
        found = _search(adjacency_for, size_now, part, min_hops, max_hops, guard)
        yield Reached(found.positions + start, found.targets, found.distances)


def _search(
    adjacency_for: AdjacencyFor,
    size_now: Callable[[], int],
    sources: Rows,
    min_hops: int,
    max_hops: int | None,
    guard: Guard,
) -> Reached:
    visited = _Visited(len(sources))
    origins, frontier = np.arange(len(sources), dtype=np.int64), sources
    parts: list[tuple[npt.NDArray[np.int64], Rows, int]] = []
    hops = 0
    while len(frontier) and (max_hops is None or hops < max_hops):
        hops += 1
        if max_hops is None and hops > guard.limits.hops:
            raise ResourceLimitExceeded("traversal_hops", guard.limits.hops, hops)
        guard.check()
        adjacency = adjacency_for(frontier)
        guard.require(16 * int(adjacency.degrees(frontier).sum()))
        steps, entries = walk(adjacency, frontier)
        origins, frontier = visited.fresh(origins[steps], adjacency.targets[entries], size_now())
        if hops == 1:
            visited.mark(np.arange(len(sources), dtype=np.int64), sources)
        if hops >= min_hops:
            parts.append((origins, frontier, hops))
    positions = np.concatenate([part[0] for part in parts]) if parts else np.empty(0, np.int64)
    targets = np.concatenate([part[1] for part in parts]) if parts else np.empty(0, np.int32)
    distances = np.repeat(
        np.array([part[2] for part in parts], np.int32), np.array([len(part[0]) for part in parts], np.int64)
    )
    return Reached(positions, targets, distances)


class _Visited:
    """Marks of (source, node). Grows with the numbering: rows may be met while the search runs."""

    def __init__(self, sources: int) -> None:
        self._sources = sources
        self._size = 0
        self._marks = np.zeros((sources, 0), np.bool_)

    def fresh(self, origins: npt.NDArray[np.int64], nodes: Rows, size: int) -> tuple[npt.NDArray[np.int64], Rows]:
        """The pairs that were not marked, each once; they are marked now."""
        if size > self._size:
            wider = max(size, 2 * self._size) if self._size else size
            marks = np.zeros((self._sources, wider), np.bool_)
            marks[:, : self._size] = self._marks[:, : self._size]
            self._marks, self._size = marks, wider
        flat = self._marks.reshape(-1)
        cells = origins * self._size + nodes
        cells = cells[~flat[cells]]
        if not len(cells):
            return np.empty(0, np.int64), np.empty(0, np.int32)
        flat[cells] = True
        if self._sources * self._size <= 16 * len(cells):
            seen = np.zeros(len(flat), np.bool_)
            seen[cells] = True
            cells = np.flatnonzero(seen)
        else:
            cells = np.unique(cells)
        return cells // self._size, (cells % self._size).astype(np.int32)

    def mark(self, origins: npt.NDArray[np.int64], nodes: Rows) -> None:
        inside = nodes < self._size
        self._marks[origins[inside], nodes[inside]] = True
