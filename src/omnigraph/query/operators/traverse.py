"""The operators that follow edges: to a new variable, between two bound ones, and to what several lead to."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from omnigraph.query.entities import Entities
from omnigraph.query.frames import TAG, Frame, Positions, Rows, Runs, multiplied, tags_of
from omnigraph.query.operators.shared_results import Pairs, Relation
from omnigraph.query.plan import Close, Hop, Intersect, Traverse
from omnigraph.query.topology import (
    Adjacency,
    Neighbours,
    Reached,
    common_counts,
    common_neighbours,
    connected,
    entries_from,
    reach,
    walk,
)

if TYPE_CHECKING:
    from omnigraph.query.operators.run_plan import Run


def traverse(run: Run, step: Traverse, frames: Iterator[Frame]) -> Iterator[Frame]:
    """To a variable that is not bound yet."""
    hop = step.hop
    if hop.is_empty:
        return
    for frame in frames:
        known = _where_bound(frame, hop.src_var)
        if not known.length:
            continue
        related = _related(run, step, known)
        if related is not None:
            yield from _along(run, hop, known, related.adjacency, related.places(known.columns[hop.src_var]))
        elif not hop.is_single:
            yield from _reaching(run, step, known)
        elif _only_counts(step):
            yield _counted(run, step, known)
        else:
            yield from _stepping(run, step, known)


def _only_counts(step: Traverse) -> bool:
    """Nobody looks at the destination: how many there are is all that matters."""
    return step.merges and not step.conditions and step.hop.dst_var not in step.live and step.hop.edge_binding is None


def _counted(run: Run, step: Traverse, frame: Frame) -> Frame:
    source = frame.columns[step.hop.src_var]
    degrees = adjacency_of(run, step.hop, source).degrees(source)
    weights = multiplied(frame.weights, degrees) if run.weighs else None
    return Frame(frame.length, frame.columns, weights).where(degrees > 0)


def _stepping(run: Run, step: Traverse, frame: Frame) -> Iterator[Frame]:
    hop = step.hop
    adjacency = adjacency_of(run, hop, frame.columns[hop.src_var])
    keep = step.live | tags_of(frame)
    for part in _morsels(run, frame, adjacency.degrees(frame.columns[hop.src_var])):
        kept = part.only(keep)
        if not kept.columns and kept.weights is None and hop.edge_binding is None:
            yield _ends_alone(run, step, adjacency, part)
            continue
        sources = part.columns[hop.src_var]
        if not step.conditions and hop.edge_binding is None:
            yield _neighbours(kept, sources, adjacency, hop.dst_var)
            continue
        parents, entries = walk(adjacency, sources)
        targets = adjacency.targets[entries]
        if step.conditions:
            passing = run.evaluation.passing(step.conditions, hop.dst_var, targets)
            parents, entries, targets = parents[passing], entries[passing], targets[passing]
        made = kept.take(parents).with_columns(**{hop.dst_var: targets})
        if hop.edge_binding is not None:
            assert adjacency.edges is not None
            made = made.with_columns(**{hop.edge_binding: adjacency.edges[entries]})
        yield made


def _neighbours(kept: Frame, sources: Rows, adjacency: Adjacency, variable: str) -> Frame:
    degrees = adjacency.degrees(sources)
    leads = degrees > 0
    if not leads.all():
        kept, sources, degrees = kept.where(leads), sources[leads], degrees[leads]
    return Runs(kept, degrees, Neighbours(variable, adjacency, sources)).frame()


def _ends_alone(run: Run, step: Traverse, adjacency: Adjacency, frame: Frame) -> Frame:
    """Nobody asks where a walk came from: the ends are all there is."""
    targets = adjacency.targets.take(entries_from(adjacency, frame.columns[step.hop.src_var]))
    if step.conditions:
        targets = targets[run.evaluation.passing(step.conditions, step.hop.dst_var, targets)]
    return Frame(len(targets), {step.hop.dst_var: targets})


def _reaching(run: Run, step: Traverse, frame: Frame) -> Iterator[Frame]:
    """Several hops: destinations per distinct source, then per row."""
    sources, places = np.unique(frame.columns[step.hop.src_var], return_inverse=True)
    for positions, targets in _pairs(run, step, sources):
        by_source = np.argsort(positions, kind="stable")
        counts = np.bincount(positions, minlength=len(sources))
        offsets = np.concatenate([[0], np.cumsum(counts)])
        yield from _along(run, step.hop, frame, Adjacency(offsets, targets[by_source]), places.astype(np.int32))


def _pairs(run: Run, step: Traverse, sources: Rows) -> Iterator[Pairs]:
    """Every destination that passes, with the position of its source, for parts of the sources at a time."""
    for positions, targets in (_stepped if step.hop.is_single else _reached)(run, step.hop, sources):
        if step.conditions:
            passing = run.evaluation.passing(step.conditions, step.hop.dst_var, targets)
            targets, positions = targets[passing], positions[passing]
        yield positions, targets


def _along(run: Run, hop: Hop, frame: Frame, local: Adjacency, places: Rows) -> Iterator[Frame]:
    """The rows of a frame with everything that an adjacency has for them; `places` says where in it."""
    ordered = Frame(frame.length, {**frame.columns, TAG + "source": places}, frame.weights)
    ordered = ordered.take(np.argsort(places, kind="stable"))
    for part in _morsels(run, ordered, local.degrees(ordered.columns[TAG + "source"])):
        parents, entries = walk(local, part.columns[TAG + "source"])
        rows = part.take(parents).with_columns(**{hop.dst_var: local.targets[entries]})
        yield rows.only(frozenset(rows.columns) - {TAG + "source"})


def _related(run: Run, step: Traverse, frame: Frame) -> Relation | None:
    """Where the sources lead to, when another step of the plan walks the same way; None when it is not shared."""
    if step.shared is None:
        return None
    sources = np.unique(frame.columns[step.hop.src_var])
    return run.shared.relation(step.shared.number, sources, lambda missing: _pairs(run, step, missing))


def close(run: Run, step: Close, frames: Iterator[Frame]) -> Iterator[Frame]:
    """Between two variables that are bound: the rows where a hop connects them."""
    hop = step.hop
    for frame in frames:
        known = _where_bound(_where_bound(frame, hop.src_var), hop.dst_var)
        if not known.length or hop.is_empty:
            continue
        if not hop.is_single:
            yield from _within_reach(run, hop, known)
        elif hop.edge_binding is None:
            source, target = known.columns[hop.src_var], known.columns[hop.dst_var]
            yield known.where(connected(adjacency_of(run, hop, source), source, target))
        else:
            yield from _connecting(run, hop, known)


def _connecting(run: Run, hop: Hop, frame: Frame) -> Iterator[Frame]:
    """One row per edge between the two ends."""
    assert hop.edge_binding is not None
    adjacency = adjacency_of(run, hop, frame.columns[hop.src_var])
    assert adjacency.edges is not None
    for part in _morsels(run, frame, adjacency.degrees(frame.columns[hop.src_var])):
        parents, entries = walk(adjacency, part.columns[hop.src_var])
        same = adjacency.targets[entries] == part.columns[hop.dst_var][parents]
        made = part.take(parents[same])
        yield made.with_columns(**{hop.edge_binding: adjacency.edges[entries[same]]})


def _within_reach(run: Run, hop: Hop, frame: Frame) -> Iterator[Frame]:
    sources, places = np.unique(frame.columns[hop.src_var], return_inverse=True)
    wanted = places.astype(np.int64) << 32 | frame.columns[hop.dst_var]
    hit = np.zeros(frame.length, np.bool_)
    for reached in _reach(run, hop, sources):
        hit |= np.isin(wanted, reached.positions << 32 | reached.targets)
    yield frame.where(hit)


def _stepped(run: Run, hop: Hop, sources: Rows) -> Iterator[Pairs]:
    """Where one hop leads to, with the positions of the sources."""
    adjacency = adjacency_of(run, hop, sources)
    placed = Frame(len(sources), {"at": np.arange(len(sources), dtype=np.int32), "from": sources})
    for part in _morsels(run, placed, adjacency.degrees(sources)):
        parents, entries = walk(adjacency, part.columns["from"])
        yield part.columns["at"][parents].astype(np.int64), adjacency.targets[entries]


def _reached(run: Run, hop: Hop, sources: Rows) -> Iterator[Pairs]:
    return ((reached.positions, reached.targets) for reached in _reach(run, hop, sources))


def _reach(run: Run, hop: Hop, sources: Rows) -> Iterator[Reached]:
    topology = run.evaluation.view.topology(hop.edge_type)
    one, other = _ends(run, hop)
    return reach(
        lambda rows: topology.adjacency(hop.direction, "simple", rows),
        lambda: max(one.size, other.size),
        sources,
        hop.min_hops,
        hop.max_hops if hop.src_type == hop.dst_type else 1,
        run.evaluation.guard,
    )


def _ends(run: Run, hop: Hop) -> tuple[Entities, Entities]:
    view = run.evaluation.view
    return view.entities("node", hop.src_type), view.entities("node", hop.dst_type)


def adjacency_of(run: Run, hop: Hop, rows: Rows) -> Adjacency:
    topology = run.evaluation.view.topology(hop.edge_type)
    return topology.adjacency(hop.direction, "simple" if hop.edge_binding is None else "edges", rows)


def _morsels(run: Run, frame: Frame, sizes: Positions) -> Iterator[Frame]:
    """Pieces of a frame that each make about `morsel_rows` rows."""
    total = int(sizes.sum())
    if total <= run.morsel_rows:
        run.require(frame, total)
        if total:
            yield frame
        return
    ends = np.cumsum(sizes)
    start = 0
    while start < frame.length:
        done = int(ends[start - 1]) if start else 0
        stop = max(start + 1, int(np.searchsorted(ends, done + run.morsel_rows, "right")))
        run.require(frame, int(ends[min(stop, frame.length) - 1]) - done)
        yield frame.slice(start, stop)
        start = stop


def intersect(run: Run, step: Intersect, frames: Iterator[Frame]) -> Iterator[Frame]:
    """Walks, row by row, the shorter of the first two neighbour lists, and asks the others."""
    for frame in frames:
        known = frame
        for hop in step.hops:
            known = _where_bound(known, hop.src_var)
        if not known.length:
            continue
        first, second = (adjacency_of(run, hop, known.columns[hop.src_var]) for hop in step.hops[:2])
        one, other = (known.columns[hop.src_var] for hop in step.hops[:2])
        shorter = first.degrees(one) <= second.degrees(other)
        yield from _common(run, step, known.where(shorter), first, second, (0, 1))
        yield from _common(run, step, known.where(~shorter), second, first, (1, 0))


def _common(
    run: Run, step: Intersect, frame: Frame, lead: Adjacency, asked: Adjacency, which: tuple[int, int]
) -> Iterator[Frame]:
    if not frame.length:
        return
    new, view = step.hops[0].dst_var, run.evaluation.view
    walked, holders = (frame.columns[step.hops[place].src_var] for place in which)
    size = view.entities("node", step.hops[0].dst_type).size
    only_counts = step.merges and not step.conditions and new not in step.live and len(step.hops) == 2
    if only_counts:
        counts = common_counts(lead, asked, walked, holders, size, run.evaluation.guard.check)
        weights = multiplied(frame.weights, counts) if run.weighs else None
        yield Frame(frame.length, frame.columns, weights).where(counts > 0)
        return
    for places, targets in common_neighbours(lead, asked, walked, holders, size):
        run.require(frame, len(places))
        made = frame.take(places).with_columns(**{new: targets})
        for hop in step.hops[2:]:
            source = made.columns[hop.src_var]
            made = made.where(connected(adjacency_of(run, hop, source), source, made.columns[new]))
        if step.conditions:
            made = made.where(run.evaluation.passing(step.conditions, new, made.columns[new]))
        yield made


def _where_bound(frame: Frame, variable: str) -> Frame:
    return frame.where(frame.columns[variable] >= 0)
