"""Adjacency: the neighbours of dense row numbers as three arrays, and the kernels that walk them."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from omnigraph.model.late_dataclass import dataclass
from omnigraph.query.frames import Mask, Positions, Rows

Offsets = npt.NDArray[np.int64]
Keys = npt.NDArray[np.int64]

WHOLE_SHARE = 3
"""All neighbours are added up when at least one in so many of them is wanted."""
SUMMED_AT_A_TIME = 1 << 12
"""Rows whose neighbours are added up in one piece: what it takes stays near the processor."""


@dataclass(frozen=True, slots=True)
class Adjacency:
    """`targets[offsets[r]:offsets[r + 1]]` are the neighbours of row r, ascending. `edges`, where it is kept, are the
    edges that lead there, one entry per edge; without it each neighbour occurs once."""

    offsets: Offsets
    targets: Rows
    edges: Rows | None = None

    @property
    def sources(self) -> int:
        return len(self.offsets) - 1

    @property
    def nbytes(self) -> int:
        return int(self.offsets.nbytes + self.targets.nbytes + (0 if self.edges is None else self.edges.nbytes))

    def degrees(self, rows: Rows) -> Offsets:
        degrees: Offsets = self.offsets[rows + 1] - self.offsets[rows]
        return degrees


def simple_adjacency(src: Rows, dst: Rows, sources: int) -> Adjacency:
    """Each pair once, targets ascending. Pairs with a missing end (-1) are left out."""
    keys = packed(src, dst)
    keys.sort()
    if len(keys) > 1:
        fresh = np.empty(len(keys), np.bool_)
        fresh[0] = True
        np.not_equal(keys[1:], keys[:-1], out=fresh[1:])
        if not fresh.all():
            keys = keys[fresh]
    return Adjacency(_offsets(keys >> 32, sources), (keys & 0xFFFFFFFF).astype(np.int32))


def edge_adjacency(src: Rows, dst: Rows, edges: Rows, sources: int) -> Adjacency:
    """One entry per edge, by source, then target, then edge."""
    present = (src >= 0) & (dst >= 0)
    if not present.all():
        src, dst, edges = src[present], dst[present], edges[present]
    keys = (src.astype(np.int64) << 32) | dst
    order = np.argsort(keys, kind="stable")
    return Adjacency(_offsets(src[order].astype(np.int64), sources), dst[order], edges[order])


def packed(src: Rows, dst: Rows) -> Keys:
    """Pairs as numbers that sort by source, then target."""
    present = (src >= 0) & (dst >= 0)
    if not present.all():
        src, dst = src[present], dst[present]
    keys: Keys = src.astype(np.int64)
    keys <<= 32
    keys |= dst
    return keys


def _offsets(sorted_sources: npt.NDArray[np.int64], sources: int) -> Offsets:
    counts = np.bincount(sorted_sources, minlength=sources)
    offsets = np.zeros(sources + 1, np.int64)
    np.cumsum(counts, out=offsets[1:])
    return offsets


# --- kernels ----------------------------------------------------------------------------------------------


def walk(adjacency: Adjacency, rows: Rows) -> tuple[Positions, Positions]:
    """Every step from these rows (none of them NULL): the position in `rows` and the entry in the adjacency."""
    lengths = adjacency.degrees(rows)
    return np.repeat(np.arange(len(rows)), lengths), entries_from(adjacency, rows)


def entries_from(adjacency: Adjacency, rows: Rows) -> Positions:
    """The entries of every step from these rows, without saying from which of them."""
    starts = adjacency.offsets[rows]
    lengths = adjacency.offsets[rows + 1] - starts
    if len(rows) == 1:
        start, length = int(starts[0]), int(lengths[0])
        return np.arange(start, start + length)
    ends = np.cumsum(lengths)
    entries: Positions = np.arange(int(ends[-1]) if len(ends) else 0)
    entries += np.repeat(starts - ends + lengths, lengths)
    return entries


@dataclass(frozen=True, slots=True)
class Neighbours:
    """The neighbours of rows that have some, as the ends of a step; see `frames.Ends`."""

    variable: str
    adjacency: Adjacency
    sources: Rows

    def rows(self) -> Rows:
        return self.adjacency.targets.take(entries_from(self.adjacency, self.sources))

    def sums(self, numbers: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Where ascending rows have a good part of all neighbours between them, adding up everybody's is cheaper than
        picking out whose are wanted."""
        kind = np.int64 if numbers.dtype.kind in "iub" else np.float64
        offsets, ascend = self.adjacency.offsets, bool((self.sources[1:] > self.sources[:-1]).all())
        low, high = int(self.sources[0]), int(self.sources[-1]) + 1
        lengths = self.adjacency.degrees(self.sources)
        if not ascend or int(lengths.sum()) * WHOLE_SHARE < int(offsets[high] - offsets[low]):
            found: npt.NDArray[Any] = np.add.reduceat(
                numbers.take(self.rows()), np.cumsum(lengths) - lengths, dtype=kind
            )
            return found
        picked: npt.NDArray[Any] = self._sums_between(low, high, numbers, kind).take(self.sources - low)
        return picked

    def _sums_between(self, low: int, high: int, numbers: npt.NDArray[Any], kind: type) -> npt.NDArray[Any]:
        """Of every row from `low` on and below `high`, in pieces that share one buffer: new memory costs as much as the
        sums."""
        bounds = np.append(np.arange(low, high, SUMMED_AT_A_TIME), high)
        cuts = self.adjacency.offsets[bounds]
        buffer = np.empty(int(np.diff(cuts).max(initial=0)), numbers.dtype)
        sums: npt.NDArray[Any] = np.zeros(high - low, kind)
        for first, last, begin, end in zip(bounds[:-1], bounds[1:], cuts[:-1], cuts[1:], strict=True):
            starts = self.adjacency.offsets[first:last]
            leads = np.flatnonzero(self.adjacency.offsets[first + 1 : last + 1] > starts)
            if len(leads):
                values = numbers.take(self.adjacency.targets[begin:end], out=buffer[: end - begin], mode="clip")
                sums[first - low + leads] = np.add.reduceat(values, starts[leads] - begin, dtype=kind)
        return sums


def connected(adjacency: Adjacency, src: Rows, dst: Rows) -> Mask:
    """Row by row: does an edge lead from `src` to `dst`? A binary search in the neighbours of `src`."""
    low = adjacency.offsets[src]
    high = adjacency.offsets[src + 1]
    end = high.copy()
    targets = adjacency.targets
    if not len(targets):
        return np.zeros(len(src), np.bool_)
    rounds = int((high - low).max(initial=0)).bit_length()
    last = len(targets) - 1
    for _ in range(rounds):
        middle = (low + high) >> 1
        less = (middle < high) & (targets[np.minimum(middle, last)] < dst)
        low = np.where(less, middle + 1, low)
        high = np.where(less, high, middle)
    found: Mask = (low < end) & (targets[np.minimum(low, last)] == dst)
    return found
