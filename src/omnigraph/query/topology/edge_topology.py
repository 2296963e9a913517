"""Topology: which row leads to which, for one edge type. Two kinds with one face, as with entities.

A resident topology holds the endpoints of every edge as row numbers and makes the adjacency of a direction when it is
first walked. An interned one fetches the edges of the rows that a query stands on, through the index on the endpoint.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Literal, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from omnigraph.language.query import Direction
from omnigraph.query.entities import PROBE_CHUNK_IDS, InternedEntities, Parts, ResidentEntities
from omnigraph.query.frames import NO_ROW, Rows
from omnigraph.query.topology.adjacency import Adjacency, edge_adjacency, simple_adjacency
from omnigraph.storage import OneOf

Kind = Literal["simple", "edges"]
Saved = Callable[[str, Callable[[], Adjacency]], Adjacency]
"""Gives an adjacency by its name from where it is kept, or makes and keeps it."""


class Topology(Protocol):
    """`simple` has each neighbour once; `edges` has one entry per edge, with the edge's row number."""

    def adjacency(self, direction: Direction, kind: Kind, rows: Rows) -> Adjacency:
        """An adjacency in which these rows (none NULL) are complete."""
        ...


class ResidentTopology:
    """The endpoints of every edge of a version, in the numbers of these node entities. Safe to share."""

    def __init__(
        self,
        edges: ResidentEntities,
        sources: ResidentEntities,
        targets: ResidentEntities,
        src: Rows,
        dst: Rows,
        made: dict[tuple[Direction, Kind], Adjacency] | None = None,
        saved: Saved | None = None,
        known_dangling: bool | None = None,
    ) -> None:
        self.edges, self.sources, self.targets = edges, sources, targets
        self.src, self.dst = src, dst
        """By edge number; -1 where the node or the edge is gone."""
        self._made = made or {}
        self._saved = saved
        self.known_dangling = known_dangling
        self._lock = threading.Lock()

    @classmethod
    def of(
        cls, edges: ResidentEntities, sources: ResidentEntities, targets: ResidentEntities, saved: Saved | None = None
    ) -> ResidentTopology:
        """Reads the endpoint columns; both are turned into numbers at the same time."""
        with ThreadPoolExecutor(2) as pool:
            src = pool.submit(_endpoints, edges, "src", sources)
            dst = pool.submit(_endpoints, edges, "dst", targets)
            return cls(edges, sources, targets, src.result(), dst.result(), saved=saved)

    @property
    def ends(self) -> tuple[ResidentEntities, ResidentEntities, ResidentEntities]:
        """Its edges and the nodes at both ends."""
        return self.edges, self.sources, self.targets

    def has_dangling(self) -> bool:
        """Whether an edge that is there leads from or to a node that is not."""
        if self.known_dangling is None:
            dangling = (self.src < 0) | (self.dst < 0)
            if self.edges.live is not None:
                dangling &= self.edges.live
            self.known_dangling = bool(dangling.any())
        return self.known_dangling

    def parts(self) -> Parts:
        """What it holds, its entities too: they stay as long as it does."""
        for entities in self.ends:
            yield from entities.parts()
        adjacencies = self.made().values()
        arrays = (array for each in adjacencies for array in (each.offsets, each.targets, each.edges))
        for array in (self.src, self.dst, *arrays):
            if array is not None:
                yield array, int(array.nbytes)

    def adjacency(self, direction: Direction, kind: Kind, rows: Rows | None = None) -> Adjacency:
        made = self._made.get((direction, kind))
        if made is None:
            with self._lock:
                made = self._made.get((direction, kind))
                if made is None:
                    made = self._made[direction, kind] = self._make(direction, kind)
        return made

    def counts(self, direction: Direction) -> npt.NDArray[np.int64]:
        """How many neighbours every node has; where no adjacency tells, how many edges."""
        made = self._made.get((direction, "simple"))
        if made is not None:
            return np.diff(made.offsets)
        if direction == "both":
            return self.counts("out") + self.counts("in")
        there = (self.src >= 0) & (self.dst >= 0)
        ends, size = (self.src, self.sources.size) if direction == "out" else (self.dst, self.targets.size)
        return np.bincount(ends if there.all() else ends[there], minlength=size)

    def made(self) -> dict[tuple[Direction, Kind], Adjacency]:
        return dict(self._made)

    def is_made(self, direction: Direction, kind: Kind) -> bool:
        return (direction, kind) in self._made

    def _make(self, direction: Direction, kind: Kind) -> Adjacency:
        if self._saved is None:
            return self._build(direction, kind)
        return self._saved(f"{direction}-{kind}", lambda: self._build(direction, kind))

    def _build(self, direction: Direction, kind: Kind) -> Adjacency:
        numbers = np.arange(len(self.src), dtype=np.int32)
        src, dst = (self.dst, self.src) if direction == "in" else (self.src, self.dst)
        size = self.targets.size if direction == "in" else self.sources.size
        if direction == "both":
            src, dst, numbers = _undirected(self.src, self.dst, numbers)
        return simple_adjacency(src, dst, size) if kind == "simple" else edge_adjacency(src, dst, numbers, size)


def _undirected(src: Rows, dst: Rows, numbers: Rows) -> tuple[Rows, Rows, Rows]:
    """Every edge both ways; a loop leads to itself once."""
    back = src != dst
    return (
        np.concatenate([src, dst[back]]),
        np.concatenate([dst, src[back]]),
        np.concatenate([numbers, numbers[back]]),
    )


def _endpoints(edges: ResidentEntities, column: str, nodes: ResidentEntities) -> Rows:
    """The row numbers of one end, by edge number."""
    whole = pa.chunked_array([segment.column(column) for segment in edges.segments])
    by_slot = nodes.numbers_of(whole)
    for segment in edges.segments:
        segment.drop(column)  # strings that nobody asks for again
    numbers = by_slot if edges.slots is None else by_slot[edges.slots]
    if edges.live is not None:
        numbers = np.where(edges.live, numbers, np.int32(NO_ROW))
    return numbers


class InternedTopology:
    """The edges of the rows that were asked about, as they were fetched. For one query."""

    def __init__(self, edges: InternedEntities, sources: InternedEntities, targets: InternedEntities) -> None:
        self.edges, self.sources, self.targets = edges, sources, targets
        self._fetched: dict[Literal["out", "in"], _Fetched] = {"out": _Fetched(), "in": _Fetched()}

    def adjacency(self, direction: Direction, kind: Kind, rows: Rows) -> Adjacency:
        sides: tuple[Literal["out", "in"], ...] = ("out", "in") if direction == "both" else (direction,)
        for side in sides:
            self._fetch(side, rows)
        size = (self.targets if direction == "in" else self.sources).size
        if len(sides) == 1:
            src, dst, edges = self._fetched[sides[0]].arrays()
        else:
            # Rows of one type: an edge between two of the rows is found from both ends, a loop only once.
            (s1, d1, e1), (s2, d2, e2) = (self._fetched[side].arrays() for side in ("out", "in"))
            back = s2 != d2
            src, dst, edges = (np.concatenate(p) for p in ((s1, s2[back]), (d1, d2[back]), (e1, e2[back])))
        return simple_adjacency(src, dst, size) if kind == "simple" else edge_adjacency(src, dst, edges, size)

    def _fetch(self, side: Literal["out", "in"], rows: Rows) -> None:
        near, far = (self.sources, self.targets) if side == "out" else (self.targets, self.sources)
        near_column, far_column = ("src", "dst") if side == "out" else ("dst", "src")
        fetched = self._fetched[side]
        missing = np.array([row for row in np.unique(rows).tolist() if row not in fetched.known], np.int32)
        for start in range(0, len(missing), PROBE_CHUNK_IDS):
            chunk = missing[start : start + PROBE_CHUNK_IDS]
            wanted = OneOf(near_column, tuple(near.ids(chunk).to_pylist()))
            for batch in self.edges.table.scan(("id", "src", "dst", "_rowid"), wanted):
                numbers = self.edges.intern(batch.column("id").to_pylist(), batch.column("_rowid").to_pylist())
                fetched.add(
                    near.find(batch.column(near_column).to_pylist()),
                    far.find(batch.column(far_column).to_pylist()),
                    numbers,
                )
        fetched.known.update(missing.tolist())


class _Fetched:
    """The edges that were fetched from one side."""

    def __init__(self) -> None:
        self.known: set[int] = set()
        self._parts: list[tuple[Rows, Rows, Rows]] = []

    def add(self, near: Rows, far: Rows, edges: Rows) -> None:
        self._parts.append((near, far, edges))

    def arrays(self) -> tuple[Rows, Rows, Rows]:
        if not self._parts:
            nothing = np.empty(0, np.int32)
            return nothing, nothing, nothing
        if len(self._parts) > 1:
            near, far, edges = (np.concatenate([part[i] for part in self._parts]) for i in range(3))
            self._parts = [(near, far, edges)]
        return self._parts[0]
