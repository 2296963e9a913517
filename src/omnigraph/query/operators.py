"""Operators: every step of a plan as a function from frames to frames. Lazy: a frame is made when it is asked for."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np

from omnigraph.language.query.ir import Condition
from omnigraph.query.adjacency import Adjacency, connected, entries_from, walk
from omnigraph.query.entities import Entities
from omnigraph.query.evaluation import Evaluation
from omnigraph.query.frames import NO_ROW, Frame, Mask, Positions, Rows, Weights, distinct_rows, joined, merged
from omnigraph.query.intersection import common_counts, common_neighbours
from omnigraph.query.limits import MORSEL_ROWS
from omnigraph.query.plan import (
    Absent,
    Close,
    Either,
    Hop,
    Intersect,
    Keep,
    Optionally,
    PlanStep,
    ScanNodes,
    Traverse,
)
from omnigraph.query.pushdown import key_values, predicate_of
from omnigraph.query.reach import Reached, reach
from omnigraph.storage import All, Predicate

TAG = "__tag"
"""Hidden columns that say which outer row an inner row belongs to begin with this."""
PUSHED_RESIDENT_SHARE = 0.02
"""A resident scan asks the table's indexes only when it expects fewer than this share of the rows."""


@dataclass(slots=True)
class StepTimes:
    """What a step did in this run, for `explain --analyze`."""

    rows: int = 0
    seconds: float = 0.0


@dataclass(slots=True)
class Run:
    """One execution of a plan's steps."""

    evaluation: Evaluation
    morsel_rows: int = MORSEL_ROWS
    times: dict[int, StepTimes] | None = None
    """By the identity of the step; None when nobody looks."""
    weighs: bool = True
    """Whether it matters how often a row occurs."""
    _tags: list[int] = field(default_factory=list)

    def pipeline(self, steps: tuple[PlanStep, ...], frames: Iterator[Frame]) -> Iterator[Frame]:
        for step in steps:
            frames = self._merged(step, self._timed(step, self._operator(step)(step, frames)))
        return frames

    def _operator(self, step: PlanStep) -> Callable[..., Iterator[Frame]]:
        operators: dict[type, Callable[..., Iterator[Frame]]] = {
            ScanNodes: self.scan,
            Traverse: self.traverse,
            Close: self.close,
            Intersect: self.intersect,
            Keep: self.keep,
            Absent: self.absent,
            Either: self.either,
            Optionally: self.optionally,
        }
        return operators[type(step)]

    def _merged(self, step: PlanStep, frames: Iterator[Frame]) -> Iterator[Frame]:
        """Without what nobody needs any more; with equal rows made one where that is allowed."""
        for frame in frames:
            self.evaluation.guard.check()
            kept = _pruned(frame, step.live)
            changed = kept is not frame or isinstance(step, Traverse | Intersect | Optionally)
            if step.merges and changed and len(kept.columns) < 2:
                yield from self._collected(step, kept, frames)
                return
            yield kept

    def _collected(self, step: PlanStep, first: Frame, rest: Iterator[Frame]) -> Iterator[Frame]:
        """With one variable left, all frames become one: a weight per row number."""
        sizes = {name: self.evaluation.entities(name).size for name in first.columns}
        held = merged(first, sizes, weighs=self.weighs)
        for frame in rest:
            self.evaluation.guard.check()
            sizes = {name: self.evaluation.entities(name).size for name in first.columns}
            more = merged(_pruned(frame, step.live), sizes, weighs=self.weighs)
            held = merged(joined([held, more]), sizes, weighs=self.weighs)
        yield held

    def _timed(self, step: PlanStep, frames: Iterator[Frame]) -> Iterator[Frame]:
        if self.times is None:
            yield from frames
            return
        spent = self.times.setdefault(id(step), StepTimes())
        while True:
            started = time.perf_counter()
            frame = next(frames, None)
            spent.seconds += time.perf_counter() - started
            if frame is None:
                return
            spent.rows += frame.total
            yield frame

    # --- scans --------------------------------------------------------------------------------------------

    def scan(self, step: ScanNodes, frames: Iterator[Frame]) -> Iterator[Frame]:
        rows: Rows | None = None
        for frame in frames:
            if rows is None:
                rows = self._scanned(step)
            yield from self._crossed(frame, step.variable, rows)

    def _scanned(self, step: ScanNodes) -> Rows:
        """The nodes that pass: by key, through the table's indexes, or by looking at every node."""
        evaluation = self.evaluation
        entities = evaluation.entities(step.variable)
        node = evaluation.view.catalog.node_types[step.type_name]
        for condition in step.conditions:
            ids = key_values(condition, step.variable, node, evaluation.bound)
            if ids is not None:
                found = entities.find(ids)
                rest = tuple(each for each in step.conditions if each is not condition)
                return self._passing(rest, step.variable, np.unique(found[found >= 0]))
        pushed, rest = self._pushed(step, entities)
        rows = entities.every() if pushed is None else entities.where(pushed)
        return self._passing(rest, step.variable, rows)

    def _pushed(self, step: ScanNodes, entities: Entities) -> tuple[Predicate | None, tuple[Condition, ...]]:
        """What the table's own scan filters. Resident nodes are filtered in memory unless few are expected."""
        pin = entities.table.pin
        if self.evaluation.view.is_resident:
            return None, step.conditions
        parts, rest = [], []
        for condition in step.conditions:
            part = predicate_of(condition, step.variable, entities.table.schema, self.evaluation.bound)
            if part is None:
                rest.append(condition)
            else:
                parts.append(part)
        return (All(tuple(parts)) if parts and pin.row_count else None), tuple(rest)

    def _passing(self, conditions: tuple[Condition, ...], variable: str, rows: Rows) -> Rows:
        return rows[self.evaluation.passing(conditions, variable, rows)] if conditions and len(rows) else rows

    def _crossed(self, frame: Frame, variable: str, rows: Rows) -> Iterator[Frame]:
        """Every row with every node."""
        if frame.length == 1 and not frame.columns:
            yield from self._sliced(Frame(len(rows), {variable: rows}, _repeated(frame, len(rows))))
            return
        per_part = max(1, self.morsel_rows // max(1, len(rows)))
        for start in range(0, frame.length, per_part):
            part = frame.slice(start, start + per_part)
            self._require(part, part.length * len(rows))
            made = part.take(np.repeat(np.arange(part.length), len(rows)))
            yield from self._sliced(made.with_columns(**{variable: np.tile(rows, part.length)}))

    def _sliced(self, frame: Frame) -> Iterator[Frame]:
        if frame.length <= self.morsel_rows:
            yield frame
            return
        for start in range(0, frame.length, self.morsel_rows):
            yield frame.slice(start, start + self.morsel_rows)

    def _require(self, frame: Frame, rows: int) -> None:
        self.evaluation.guard.check()
        self.evaluation.guard.require(rows * (8 * (len(frame.columns) + 2) + 16))

    # --- traversals ---------------------------------------------------------------------------------------

    def traverse(self, step: Traverse, frames: Iterator[Frame]) -> Iterator[Frame]:
        hop = step.hop
        if hop.is_empty:
            return
        for frame in frames:
            source = frame.columns[hop.src_var]
            known = _where_bound(frame, source)
            if not known.length:
                continue
            if not hop.is_single:
                yield from self._reaching(step, known)
            elif self._only_counts(step):
                yield self._counted(step, known)
            else:
                yield from self._stepping(step, known)

    def _only_counts(self, step: Traverse) -> bool:
        """Nobody looks at the destination: how many there are is all that matters."""
        return (
            step.merges and not step.conditions and step.hop.dst_var not in step.live and step.hop.edge_binding is None
        )

    def _counted(self, step: Traverse, frame: Frame) -> Frame:
        source = frame.columns[step.hop.src_var]
        degrees = self._adjacency(step.hop, source).degrees(source)
        weights = frame.counts() * degrees
        return Frame(frame.length, frame.columns, weights).where(degrees > 0)

    def _stepping(self, step: Traverse, frame: Frame) -> Iterator[Frame]:
        hop = step.hop
        adjacency = self._adjacency(hop, frame.columns[hop.src_var])
        keep = _kept(step.live, hop.src_var, frame)
        for part in self._morsels(frame, adjacency.degrees(frame.columns[hop.src_var])):
            kept = part.only(keep)
            if not kept.columns and kept.weights is None and hop.edge_binding is None:
                yield self._ends_alone(step, adjacency, part)
                continue
            parents, entries = walk(adjacency, part.columns[hop.src_var])
            targets = adjacency.targets[entries]
            if step.conditions:
                passing = self.evaluation.passing(step.conditions, hop.dst_var, targets)
                parents, entries, targets = parents[passing], entries[passing], targets[passing]
            made = kept.take(parents).with_columns(**{hop.dst_var: targets})
            if hop.edge_binding is not None:
                assert adjacency.edges is not None
                made = made.with_columns(**{hop.edge_binding: adjacency.edges[entries]})
            yield made

    def _ends_alone(self, step: Traverse, adjacency: Adjacency, frame: Frame) -> Frame:
        """Nobody asks where a walk came from: the ends are all there is."""
        targets = adjacency.targets[entries_from(adjacency, frame.columns[step.hop.src_var])]
        if step.conditions:
            targets = targets[self.evaluation.passing(step.conditions, step.hop.dst_var, targets)]
        return Frame(len(targets), {step.hop.dst_var: targets})

    def _reaching(self, step: Traverse, frame: Frame) -> Iterator[Frame]:
        """Several hops: destinations per distinct source, then per row."""
        hop = step.hop
        sources, places = np.unique(frame.columns[hop.src_var], return_inverse=True)
        order = np.argsort(places, kind="stable")
        for reached in self._reach(hop, sources):
            targets, positions = reached.targets, reached.positions
            if step.conditions:
                passing = self.evaluation.passing(step.conditions, hop.dst_var, targets)
                targets, positions = targets[passing], positions[passing]
            by_source = np.argsort(positions, kind="stable")
            counts = np.bincount(positions, minlength=len(sources))
            offsets = np.concatenate([[0], np.cumsum(counts)])
            local = Adjacency(offsets, targets[by_source])
            ordered = Frame(frame.length, {**frame.columns, TAG + "source": places.astype(np.int32)}, frame.weights)
            ordered = ordered.take(order)
            for part in self._morsels(ordered, local.degrees(ordered.columns[TAG + "source"])):
                parents, entries = walk(local, part.columns[TAG + "source"])
                rows = part.take(parents).with_columns(**{hop.dst_var: local.targets[entries]})
                yield rows.only(frozenset(rows.columns) - {TAG + "source"})

    def _reach(self, hop: Hop, sources: Rows) -> Iterator[Reached]:
        topology = self.evaluation.view.topology(hop.edge_type)
        one, other = self._ends(hop)
        return reach(
            lambda rows: topology.adjacency(hop.direction, "simple", rows),
            lambda: max(one.size, other.size),
            sources,
            hop.min_hops,
            hop.max_hops if hop.src_type == hop.dst_type else 1,
            self.evaluation.guard,
        )

    def _ends(self, hop: Hop) -> tuple[Entities, Entities]:
        view = self.evaluation.view
        return view.entities("node", hop.src_type), view.entities("node", hop.dst_type)

    def _adjacency(self, hop: Hop, rows: Rows) -> Adjacency:
        topology = self.evaluation.view.topology(hop.edge_type)
        return topology.adjacency(hop.direction, "simple" if hop.edge_binding is None else "edges", rows)

    def _morsels(self, frame: Frame, sizes: Positions) -> Iterator[Frame]:
        """Pieces of a frame that each make about `morsel_rows` rows."""
        total = int(sizes.sum())
        if total <= self.morsel_rows:
            self._require(frame, total)
            if total:
                yield frame
            return
        ends = np.cumsum(sizes)
        start = 0
        while start < frame.length:
            done = int(ends[start - 1]) if start else 0
            stop = max(start + 1, int(np.searchsorted(ends, done + self.morsel_rows, "right")))
            self._require(frame, int(ends[min(stop, frame.length) - 1]) - done)
            yield frame.slice(start, stop)
            start = stop

    # --- closing cycles -----------------------------------------------------------------------------------

    def close(self, step: Close, frames: Iterator[Frame]) -> Iterator[Frame]:
        hop = step.hop
        for frame in frames:
            known = _where_bound(_where_bound(frame, frame.columns[hop.src_var]), None, hop.dst_var)
            if not known.length or hop.is_empty:
                continue
            if not hop.is_single:
                yield from self._within_reach(hop, known)
            elif hop.edge_binding is None:
                source, target = known.columns[hop.src_var], known.columns[hop.dst_var]
                yield known.where(connected(self._adjacency(hop, source), source, target))
            else:
                yield from self._connecting(hop, known)

    def _connecting(self, hop: Hop, frame: Frame) -> Iterator[Frame]:
        """One row per edge between the two ends."""
        assert hop.edge_binding is not None
        adjacency = self._adjacency(hop, frame.columns[hop.src_var])
        assert adjacency.edges is not None
        for part in self._morsels(frame, adjacency.degrees(frame.columns[hop.src_var])):
            parents, entries = walk(adjacency, part.columns[hop.src_var])
            same = adjacency.targets[entries] == part.columns[hop.dst_var][parents]
            made = part.take(parents[same])
            yield made.with_columns(**{hop.edge_binding: adjacency.edges[entries[same]]})

    def _within_reach(self, hop: Hop, frame: Frame) -> Iterator[Frame]:
        sources, places = np.unique(frame.columns[hop.src_var], return_inverse=True)
        wanted = places.astype(np.int64) << 32 | frame.columns[hop.dst_var]
        hit = np.zeros(frame.length, np.bool_)
        for reached in self._reach(hop, sources):
            hit |= np.isin(wanted, reached.positions << 32 | reached.targets)
        yield frame.where(hit)

    def intersect(self, step: Intersect, frames: Iterator[Frame]) -> Iterator[Frame]:
        """Walks, row by row, the shorter of the first two neighbour lists, and asks the others."""
        for frame in frames:
            known = frame
            for hop in step.hops:
                known = _where_bound(known, known.columns[hop.src_var])
            if not known.length:
                continue
            first, second = (self._adjacency(hop, known.columns[hop.src_var]) for hop in step.hops[:2])
            one, other = (known.columns[hop.src_var] for hop in step.hops[:2])
            shorter = first.degrees(one) <= second.degrees(other)
            yield from self._common(step, known.where(shorter), first, second, (0, 1))
            yield from self._common(step, known.where(~shorter), second, first, (1, 0))

    def _common(
        self, step: Intersect, frame: Frame, lead: Adjacency, asked: Adjacency, which: tuple[int, int]
    ) -> Iterator[Frame]:
        if not frame.length:
            return
        new, view = step.hops[0].dst_var, self.evaluation.view
        walked, holders = (frame.columns[step.hops[place].src_var] for place in which)
        size = view.entities("node", step.hops[0].dst_type).size
        only_counts = step.merges and not step.conditions and new not in step.live and len(step.hops) == 2
        if only_counts:
            counts = common_counts(lead, asked, walked, holders, size)
            weights = counts if frame.weights is None else frame.weights * counts
            yield Frame(frame.length, frame.columns, weights).where(counts > 0)
            return
        for places, targets in common_neighbours(lead, asked, walked, holders, size):
            self._require(frame, len(places))
            made = frame.take(places).with_columns(**{new: targets})
            for hop in step.hops[2:]:
                source = made.columns[hop.src_var]
                made = made.where(connected(self._adjacency(hop, source), source, made.columns[new]))
            if step.conditions:
                made = made.where(self.evaluation.passing(step.conditions, new, made.columns[new]))
            yield made

    # --- conditions and blocks ----------------------------------------------------------------------------

    def keep(self, step: Keep, frames: Iterator[Frame]) -> Iterator[Frame]:
        for frame in frames:
            if frame.length:
                yield frame.where(self.evaluation.holds(step.condition, frame))

    def absent(self, step: Absent, frames: Iterator[Frame]) -> Iterator[Frame]:
        for frame in frames:
            if frame.length:
                yield frame.where(~self._matched(step.inner, step.uses, frame))

    def either(self, step: Either, frames: Iterator[Frame]) -> Iterator[Frame]:
        for frame in frames:
            if not frame.length:
                continue
            found = np.zeros(frame.length, np.bool_)
            for inner, uses in zip(step.alternatives, step.uses, strict=True):
                rest = np.flatnonzero(~found)
                if not len(rest):
                    break
                found[rest] = self._matched(inner, uses, frame.take(rest))
            yield frame.where(found)

    def _matched(self, inner: tuple[PlanStep, ...], uses: tuple[str, ...], frame: Frame) -> Mask:
        """Which rows the inside makes something of. Rows that agree in what it looks at are asked once."""
        first, places = distinct_rows(frame, uses)
        has_neighbour = self._has_neighbour(inner, uses, frame, first)
        if has_neighbour is not None:
            return has_neighbour[places]
        tag = self._fresh_tag()
        outer = Frame(len(first), {name: frame.columns[name][first] for name in uses})
        outer = outer.with_columns(**{tag: np.arange(len(first), dtype=np.int32)})
        found = np.zeros(len(first), np.bool_)
        for made in self.pipeline(inner, iter([outer])):
            found[made.columns[tag]] = True
        return found[places]

    def _has_neighbour(
        self, inner: tuple[PlanStep, ...], uses: tuple[str, ...], frame: Frame, first: Positions
    ) -> Mask | None:
        """A lone step from an outer variable: degrees tell."""
        if len(inner) != 1 or not isinstance(inner[0], Traverse) or len(uses) != 1:
            return None
        step = inner[0]
        if step.conditions or not step.hop.is_single:
            return None
        rows = frame.columns[uses[0]][first]
        known = rows >= 0
        answer = np.zeros(len(rows), np.bool_)
        answer[known] = self._adjacency(step.hop, rows[known]).degrees(rows[known]) > 0
        return answer

    def optionally(self, step: Optionally, frames: Iterator[Frame]) -> Iterator[Frame]:
        tag = self._fresh_tag()
        for frame in frames:
            if not frame.length:
                continue
            tagged = frame.with_columns(**{tag: np.arange(frame.length, dtype=np.int32)})
            matched = np.zeros(frame.length, np.bool_)
            for made in self.pipeline(step.inner, iter([tagged])):
                if made.length:
                    matched[made.columns[tag]] = True
                    yield made.only(frozenset(made.columns) - {tag})
            rest = _pruned(frame.where(~matched), step.live) if not matched.all() else None
            if rest is not None and rest.length:
                nothing = np.full(rest.length, NO_ROW, np.int32)
                yield rest.with_columns(**{each.name: nothing for each in step.exports if each.name in step.live})

    def _fresh_tag(self) -> str:
        self._tags.append(len(self._tags))
        return f"{TAG}{len(self._tags)}"


# --- parts ------------------------------------------------------------------------------------------------


def _pruned(frame: Frame, live: frozenset[str]) -> Frame:
    return frame.only(live | {name for name in frame.columns if name.startswith(TAG)})


def _kept(live: frozenset[str], source: str, frame: Frame) -> frozenset[str]:
    """What a walk has to copy: the variables that live on, and the tags of enclosing blocks."""
    return live | {name for name in frame.columns if name.startswith(TAG)}


def _where_bound(frame: Frame, rows: Rows | None, name: str | None = None) -> Frame:
    column = frame.columns[name] if name is not None else rows
    assert column is not None
    return frame.where(column >= 0)


def _repeated(frame: Frame, count: int) -> Weights | None:
    return None if frame.weights is None else np.repeat(frame.weights, count)
