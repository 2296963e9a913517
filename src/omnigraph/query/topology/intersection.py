"""Intersection: the common neighbours of pairs of rows, as cycles need them.

For a pair, the shorter of two neighbour lists is walked and the longer one is asked. The longer lists of some rows at a
time are laid out as marks in memory that stays near, so that asking is one look-up: one byte per row and node where
there are not too many nodes, else a table by a hash of both, whose answer "yes" is checked in the list itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import numpy.typing as npt

from omnigraph.query.frames import Positions, Rows
from omnigraph.query.topology.adjacency import Adjacency, connected, entries_from, walk

MARK_BYTES = 4 << 20
"""Marks of one round; about what a processor core keeps at hand."""
CANDIDATES_MAX = 1 << 20
HOLDERS_MIN = 32
"""Marks by node are used when so many rows can be laid out in one round; with fewer the rounds are too many."""
TABLE_BITS = 22
HELD_MAX = 1 << 18
"""Entries of the hash table in one round: one in sixteen is taken, so one in sixteen wrong guesses is checked."""
PIECE_STEPS = 1 << 18
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
    for places, cells, targets in _looked_up(lead, asked, walked, holders, size):
        parents = np.repeat(np.arange(len(places)), lead.degrees(walked[places]))
        yield places[parents[cells]], targets[cells]


def common_counts(
    lead: Adjacency, asked: Adjacency, walked: Rows, holders: Rows, size: int, check: Callable[[], None]
) -> npt.NDArray[np.int64]:
    """How many targets both rows of each pair have. `check` is called now and then, and may end it."""
    counts = np.zeros(len(walked), np.int64)
    if len(walked) < MARKED_FROM_PAIRS:
        for parents, _ in common_neighbours(lead, asked, walked, holders, size):
            counts += np.bincount(parents, minlength=len(counts))
        return counts
    for places, hits, _ in _looked_up(lead, asked, walked, holders, size):
        check()
        lengths = lead.degrees(walked[places])
        ends = np.cumsum(lengths)
        running = np.concatenate([[0], np.cumsum(hits, dtype=np.int64)])
        counts[places] = running[ends] - running[ends - lengths]
    return counts


def _looked_up(
    lead: Adjacency, asked: Adjacency, walked: Rows, holders: Rows, size: int
) -> Iterator[tuple[Positions, npt.NDArray[np.bool_], Rows]]:
    """Rounds: some pairs, for every step from them whether the other row has its target too, and the target."""
    if size * HOLDERS_MIN <= MARK_BYTES:
        return _marked(lead, asked, walked, holders, size)
    return _hashed(lead, asked, walked, holders)


def _hashed(
    lead: Adjacency, asked: Adjacency, walked: Rows, holders: Rows
) -> Iterator[tuple[Positions, npt.NDArray[np.bool_], Rows]]:
    order, ordered, fresh = _by_holder(holders)
    firsts = np.append(np.flatnonzero(fresh), len(ordered))
    held = np.cumsum(asked.degrees(ordered[firsts[:-1]]))
    table = np.zeros(1 << TABLE_BITS, np.bool_)
    begin = 0
    while begin < len(held):
        done = int(held[begin - 1]) if begin else 0
        end = max(begin + 1, int(np.searchsorted(held, done + HELD_MAX, "right")))
        holding = ordered[firsts[begin:end]]
        cells = _cells(np.repeat(holding, asked.degrees(holding)), asked.targets[entries_from(asked, holding)])
        table[cells] = True
        places = order[firsts[begin] : firsts[end]]
        for start, stop in _pieces(lead.degrees(walked[places]), PIECE_STEPS):
            yield _checked(lead, asked, walked, holders, places[start:stop], table)
        table[cells] = False
        begin = end


def _checked(
    lead: Adjacency, asked: Adjacency, walked: Rows, holders: Rows, places: Positions, table: npt.NDArray[np.bool_]
) -> tuple[Positions, npt.NDArray[np.bool_], Rows]:
    """The steps of these pairs; what the table says is there is looked for in the list."""
    targets = lead.targets[entries_from(lead, walked[places])]
    asking = np.repeat(holders[places], lead.degrees(walked[places]))
    hit = table[_cells(asking, targets)]
    likely = np.flatnonzero(hit)
    hit[likely] = connected(asked, asking[likely], targets[likely])
    return places, hit, targets


def _cells(holders: Rows, targets: Rows) -> npt.NDArray[np.uint32]:
    """Where a pair is in the table."""
    cells = holders.astype(np.uint32)
    cells *= np.uint32(0x9E3779B1)
    cells ^= targets.astype(np.uint32)
    cells *= np.uint32(0x85EBCA6B)
    cells >>= np.uint32(32 - TABLE_BITS)
    return cells


def _by_holder(holders: Rows) -> tuple[Positions, Rows, npt.NDArray[np.bool_]]:
    """Pairs in the order of their holders, and where a new holder begins."""
    order = np.argsort(holders, kind="stable") if np.any(holders[1:] < holders[:-1]) else np.arange(len(holders))
    ordered = holders[order]
    return order, ordered, np.concatenate([[True], ordered[1:] != ordered[:-1]])


def _marked(
    lead: Adjacency, asked: Adjacency, walked: Rows, holders: Rows, size: int
) -> Iterator[tuple[Positions, npt.NDArray[np.bool_], Rows]]:
    order, ordered, fresh = _by_holder(holders)
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


def _pieces(sizes: Positions, most: int = CANDIDATES_MAX) -> Iterator[tuple[int, int]]:
    ends = np.cumsum(sizes)
    start = 0
    while start < len(sizes):
        done = int(ends[start - 1]) if start else 0
        stop = max(start + 1, int(np.searchsorted(ends, done + most, "right")))
        yield start, stop
        start = stop
