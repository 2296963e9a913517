"""Intersection: the common neighbours of pairs of rows, as cycles need them.

For a pair, the shorter of two neighbour lists is walked and the longer one is asked. The longer lists of a few rows at
a time are laid out as marks, one byte per row and node, so that asking is one look-up in memory that stays near.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from omnigraph.query.adjacency import Adjacency, connected, entries_from, walk
from omnigraph.query.frames import Positions, Rows

MARK_BYTES = 4 << 20
"""Marks of one round; about what a processor core keeps at hand."""
CANDIDATES_MAX = 1 << 20
MARKED_FROM_PAIRS = 4096
"""Fewer pairs are answered by binary search: laying out marks would cost more."""


def common_neighbours(
    lead: Adjacency, asked: Adjacency, walked: Rows, holders: Rows, size: int
) -> Iterator[tuple[Positions, Rows]]:
    """For each pair (walked[i], holders[i]): the targets that both have, as (i, target), some pairs at a time."""
    if len(walked) < MARKED_FROM_PAIRS:
        for start, stop in _pieces(lead.degrees(walked)):
            parents, entries = walk(lead, walked[start:stop])
            targets = lead.targets[entries]
            hit = connected(asked, holders[start:stop][parents], targets)
            yield parents[hit] + start, targets[hit]
        return
    for places, cells, targets in _marked(lead, asked, walked, holders, size):
        parents = np.repeat(np.arange(len(places)), lead.degrees(walked[places]))
        yield places[parents[cells]], targets[cells]


def common_counts(lead: Adjacency, asked: Adjacency, walked: Rows, holders: Rows, size: int) -> npt.NDArray[np.int64]:
    """How many targets both rows of each pair have."""
    counts = np.zeros(len(walked), np.int64)
    if len(walked) < MARKED_FROM_PAIRS:
        for parents, _ in common_neighbours(lead, asked, walked, holders, size):
            counts += np.bincount(parents, minlength=len(counts))
        return counts
    for places, hits, _ in _marked(lead, asked, walked, holders, size):
        lengths = lead.degrees(walked[places])
        ends = np.cumsum(lengths)
        running = np.concatenate([[0], np.cumsum(hits, dtype=np.int64)])
        counts[places] = running[ends] - running[ends - lengths]
    return counts


def _marked(
    lead: Adjacency, asked: Adjacency, walked: Rows, holders: Rows, size: int
) -> Iterator[tuple[Positions, npt.NDArray[np.bool_], Rows]]:
    """Rounds: the pairs, and for every step from them whether its target is marked, and the target."""
    order = np.argsort(holders, kind="stable") if np.any(holders[1:] < holders[:-1]) else np.arange(len(holders))
    ordered = holders[order]
    fresh = np.concatenate([[True], ordered[1:] != ordered[:-1]])
    numbers = np.cumsum(fresh) - 1
    per_round = max(1, MARK_BYTES // max(1, size))
    marks = np.zeros(per_round * size, np.bool_)
    ends = np.cumsum(lead.degrees(walked[order]))
    start = 0
    while start < len(order):
        first = int(numbers[start])
        stop = int(np.searchsorted(numbers, first + per_round))
        done = int(ends[start - 1]) if start else 0
        stop = min(stop, max(start + 1, int(np.searchsorted(ends, done + CANDIDATES_MAX, "right"))))
        holding = ordered[start:stop][fresh[start:stop]]
        if not fresh[start]:
            holding = np.concatenate([ordered[start : start + 1], holding])
        rows, entries = walk(asked, holding)
        cells = rows * size + asked.targets[entries]
        marks[cells] = True
        places = order[start:stop]
        targets = lead.targets[entries_from(lead, walked[places])]
        base = np.repeat((numbers[start:stop] - first) * size, lead.degrees(walked[places]))
        base += targets
        yield places, marks[base], targets
        marks[cells] = False
        start = stop


def _pieces(sizes: Positions) -> Iterator[tuple[int, int]]:
    ends = np.cumsum(sizes)
    start = 0
    while start < len(sizes):
        done = int(ends[start - 1]) if start else 0
        stop = max(start + 1, int(np.searchsorted(ends, done + CANDIDATES_MAX, "right")))
        yield start, stop
        start = stop
