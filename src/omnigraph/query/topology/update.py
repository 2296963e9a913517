"""Updating a topology after a small commit: the arrays are patched where edges came or went, not built anew."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from omnigraph.language.query import Direction
from omnigraph.model.late_dataclass import dataclass
from omnigraph.query.entities import ResidentEntities
from omnigraph.query.frames import NO_ROW, Mask, Rows
from omnigraph.query.topology.adjacency import Adjacency
from omnigraph.query.topology.edge_topology import Kind, ResidentTopology

CHANGES_MAX = 50_000
CHANGES_SHARE = 0.05
"""Beyond this many changed edges, or this share of all, building anew is cheaper."""
REMOVED_PAIRS_MAX = 64
"""So many removed edges are looked up for parallels; beyond it the arrays without parallels are built anew."""

Numbers = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class _Change:
    """What happened to the edges, by edge number. A rewritten edge is in both."""

    removed: Numbers
    added: Numbers
    src: Rows
    dst: Rows
    """The endpoints of every edge now."""


def updated(
    base: ResidentTopology, edges: ResidentEntities, sources: ResidentEntities, targets: ResidentEntities
) -> ResidentTopology | None:
    """The topology over newer entities that descend from those of `base`; None when it must be built anew."""
    pairs = ((base.edges, edges), (base.sources, sources), (base.targets, targets))
    if any(old.token not in new.ancestors for old, new in pairs):
        return None
    change = _change(base, edges, sources, targets)
    if change is None:
        return None
    made: dict[tuple[Direction, Kind], Adjacency] = {}
    for (direction, kind), adjacency in base.made().items():
        size = targets.size if direction == "in" else sources.size
        patched = _patched(adjacency, base, change, direction, size)
        if patched is not None:
            made[direction, kind] = patched
    shares_ends = change.src is base.src
    known = base.known_dangling if shares_ends else None
    return ResidentTopology(edges, sources, targets, change.src, change.dst, made, known_dangling=known)


def _change(
    base: ResidentTopology, edges: ResidentEntities, sources: ResidentEntities, targets: ResidentEntities
) -> _Change | None:
    has_grown = sources.size > base.sources.size or targets.size > base.targets.size
    if has_grown and base.has_dangling():
        return None  # a node may have come that such an edge leads to
    if edges is base.edges and not _died(base.sources, sources) and not _died(base.targets, targets):
        nothing = np.empty(0, np.int64)
        return _Change(nothing, nothing, base.src, base.dst)
    added = edges.written_since(base.edges)
    removed = _went(base.edges, edges, added)
    src, dst = (_grown(ends, edges.size) for ends in (base.src, base.dst))
    orphaned = _at_dead_nodes(src, base.sources, sources) | _at_dead_nodes(dst, base.targets, targets)
    removed = np.union1d(removed, np.flatnonzero(orphaned))
    removed = removed[(base.src[removed] >= 0) & (base.dst[removed] >= 0)]
    if len(added) + len(removed) > max(1024, min(CHANGES_MAX, CHANGES_SHARE * edges.size)):
        return None
    src[removed], dst[removed] = NO_ROW, NO_ROW
    src[added] = _ends(edges, "src", added, sources)
    dst[added] = _ends(edges, "dst", added, targets)
    gone = (src[added] < 0) | (dst[added] < 0)
    return _Change(removed, added[~gone], src, dst)


def _went(old: ResidentEntities, new: ResidentEntities, came: Numbers) -> Numbers:
    """The numbers that were live and are not, or that were written again."""
    was = np.ones(old.size, np.bool_) if old.live is None else old.live
    still = np.ones(old.size, np.bool_) if new.live is None else new.live[: old.size]
    gone = was & ~still
    gone[came[came < old.size]] = True
    return np.flatnonzero(gone & was)


def _died(old: ResidentEntities, new: ResidentEntities) -> bool:
    """Whether a row that was live is not any more."""
    if new.live is None:
        return False
    return bool((~new.live[: old.size] if old.live is None else old.live & ~new.live[: old.size]).any())


def _at_dead_nodes(ends: Rows, old: ResidentEntities, new: ResidentEntities) -> Mask:
    if new.live is None:
        return np.zeros(len(ends), np.bool_)
    dead = np.append(~new.live, False)  # the last one is what -1 points at
    return dead[ends]


def _grown(ends: Rows, size: int) -> Rows:
    return np.concatenate([ends, np.full(size - len(ends), NO_ROW, np.int32)])


def _ends(edges: ResidentEntities, column: str, numbers: Numbers, nodes: ResidentEntities) -> Rows:
    if not len(numbers):
        return np.empty(0, np.int32)
    ids = edges.values(column, numbers.astype(np.int32), pa.string())
    return nodes.find(ids.to_pylist())


def _patched(
    adjacency: Adjacency, base: ResidentTopology, change: _Change, direction: Direction, size: int
) -> Adjacency | None:
    out = _directed(base.src[change.removed], base.dst[change.removed], change.removed, direction)
    came = _directed(change.src[change.added], change.dst[change.added], change.added, direction)
    grown = np.concatenate([adjacency.offsets, np.full(size - adjacency.sources, adjacency.offsets[-1], np.int64)])
    adjacency = Adjacency(grown, adjacency.targets, adjacency.edges)
    if adjacency.edges is None:
        if len(out[0]) > REMOVED_PAIRS_MAX:
            return None
        pairs = zip(out[0].tolist(), out[1].tolist(), strict=True)
        keep = np.array([not _is_pair(change, direction, source, target) for source, target in pairs], np.bool_)
        out = (out[0][keep], out[1][keep], out[2][keep])
    return _inserted(_without(adjacency, out), came)


_Entries = tuple[Rows, Rows, Numbers]


def _directed(src: Rows, dst: Rows, numbers: Numbers, direction: Direction) -> _Entries:
    if direction == "out":
        return src, dst, numbers
    if direction == "in":
        return dst, src, numbers
    back = src != dst
    return (
        np.concatenate([src, dst[back]]),
        np.concatenate([dst, src[back]]),
        np.concatenate([numbers, numbers[back]]),
    )


def _is_pair(change: _Change, direction: Direction, source: int, target: int) -> bool:
    """Whether an edge that is left connects the two."""
    ways = {"out": ((source, target),), "in": ((target, source),), "both": ((source, target), (target, source))}
    return any(bool(((change.src == s) & (change.dst == d)).any()) for s, d in ways[direction])


def _without(adjacency: Adjacency, entries: _Entries) -> Adjacency:
    sources, targets, numbers = entries
    if not len(sources):
        return adjacency
    if adjacency.edges is not None:
        places = np.flatnonzero(np.isin(adjacency.edges, numbers.astype(np.int32)))
    else:
        pairs = np.unique(sources.astype(np.int64) << 32 | targets)
        places = np.array([_place(adjacency, int(pair >> 32), int(pair & 0xFFFFFFFF), "left") for pair in pairs])
        sources = (pairs >> 32).astype(np.int32)
    counts = np.bincount(sources, minlength=adjacency.sources)
    offsets = adjacency.offsets - np.concatenate([[0], np.cumsum(counts)])
    edges = None if adjacency.edges is None else np.delete(adjacency.edges, places)
    return Adjacency(offsets, np.delete(adjacency.targets, places), edges)


def _inserted(adjacency: Adjacency, entries: _Entries) -> Adjacency:
    sources, targets, numbers = entries
    if not len(sources):
        return adjacency
    order = np.lexsort((numbers, targets, sources))
    sources, targets, numbers = sources[order], targets[order], numbers[order]
    if adjacency.edges is None:
        fresh = _fresh_pairs(adjacency, sources, targets)
        sources, targets, numbers = sources[fresh], targets[fresh], numbers[fresh]
    pairs = zip(sources.tolist(), targets.tolist(), strict=True)
    places = np.array([_place(adjacency, source, target, "right") for source, target in pairs], np.int64)
    offsets = adjacency.offsets + np.concatenate([[0], np.cumsum(np.bincount(sources, minlength=adjacency.sources))])
    edges = None
    if adjacency.edges is not None:
        edges = np.insert(adjacency.edges, places, numbers.astype(np.int32))
    return Adjacency(offsets, np.insert(adjacency.targets, places, targets), edges)


def _fresh_pairs(adjacency: Adjacency, sources: Rows, targets: Rows) -> Mask:
    """The pairs that are not there yet, each once; sorted input."""
    fresh = np.ones(len(sources), np.bool_)
    fresh[1:] = (sources[1:] != sources[:-1]) | (targets[1:] != targets[:-1])
    for place, (source, target) in enumerate(zip(sources.tolist(), targets.tolist(), strict=True)):
        at = _place(adjacency, source, target, "left")
        if at < adjacency.offsets[source + 1] and adjacency.targets[at] == target:
            fresh[place] = False
    return fresh


def _place(adjacency: Adjacency, source: int, target: int, side: str) -> int:
    start, stop = int(adjacency.offsets[source]), int(adjacency.offsets[source + 1])
    found = np.searchsorted(adjacency.targets[start:stop], target, "left" if side == "left" else "right")
    return start + int(found)
