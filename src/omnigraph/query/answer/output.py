"""Output: from the rows of the pattern to the columns of the answer: ranked, grouped, made distinct, ordered, cut."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from omnigraph.language.query import (
    Aggregate,
    AliasRef,
    BoundParams,
    Column,
    Expr,
    Nearest,
    QueryIR,
    Rank,
    Rrf,
    ranked_variable,
    row_count,
)
from omnigraph.query.answer.aggregation import Grouping
from omnigraph.query.answer.equal_values import identities, value_identities
from omnigraph.query.answer.ordering import SortColumn, candidates, sorted_places
from omnigraph.query.expressions import Evaluation
from omnigraph.query.frames import Frame, Positions, distinct, joined, members
from omnigraph.query.limits import MORSEL_ROWS
from omnigraph.query.plan import variables_of
from omnigraph.storage.tables import arrow_type

CUT_ROWS = 4 << 20
"""An ordered query with a limit sorts and cuts whenever it holds this many rows."""


@dataclass(slots=True)
class Output:
    """Turns frames into the answer of one query."""

    query: QueryIR
    columns: tuple[Column, ...]
    evaluation: Evaluation
    bound: BoundParams
    scans_whole: bool = False
    """The pattern is one whole type: an index can rank it without a list of its rows."""
    _start: int = field(init=False, default=0)
    _count: int | None = field(init=False, default=None)

    def table(self, frames: Iterator[Frame]) -> pa.Table:
        self._start = row_count(self.query.offset, self.bound) or 0
        self._count = row_count(self.query.limit, self.bound)
        if fusions := self._other_fusions():
            frames = self._placed(fusions, frames)
        if self.query.rank is not None:
            frames = self._ranked(self.query.rank, frames)
        if self.query.grouped:
            return self._grouped(frames)
        if self.query.distinct:
            return self._distinct(frames)
        return self._plain(frames)

    @property
    def _last(self) -> int | None:
        return None if self._count is None else self._start + self._count

    # --- ranks --------------------------------------------------------------------------------------------

    def _ranked(self, rank: Rank, frames: Iterator[Frame]) -> Iterator[Frame]:
        """Ranks the rows that the pattern leaves; those without a rank are no results."""
        variable = ranked_variable(rank)
        entities = self.evaluation.entities(variable)
        cut = None if self.query.grouped or self.query.distinct else self._last
        best_first = isinstance(rank, Nearest) or self.query.order_by[0].descending
        limits = {"limit": cut if best_first else None, "depth": cut}
        if self.scans_whole:
            ranked = self.evaluation.ranking.rank(rank, None, entities, self.bound, **limits)
            yield Frame(len(ranked.rows), {variable: ranked.rows})
            return
        whole = self._held(frames)
        rows = whole.columns[variable]
        ranked = self.evaluation.ranking.rank(rank, distinct(rows, entities.size), entities, self.bound, **limits)
        yield whole.where(members(rows, ranked.rows, entities.size))

    def _other_fusions(self) -> list[Rrf]:
        """Fusions that are returned and do not order the query."""
        returned = (self._behind(item.expr) for item in self.query.return_exprs)
        found = (expr.arg if isinstance(expr, Aggregate) else expr for expr in returned)
        return [expr for expr in found if isinstance(expr, Rrf) and expr != self.query.rank]

    def _placed(self, fusions: list[Rrf], frames: Iterator[Frame]) -> Iterator[Frame]:
        """A place is one among all rows of the pattern, so all of them must be there first."""
        whole = self._held(frames)
        for rank in fusions:
            variable = ranked_variable(rank)
            entities = self.evaluation.entities(variable)
            rows = distinct(whole.columns[variable], entities.size)
            self.evaluation.ranking.rank(rank, rows, entities, self.bound, limit=None)
        yield whole

    def _held(self, frames: Iterator[Frame]) -> Frame:
        held = []
        for frame in frames:
            self.evaluation.guard.hold(frame.nbytes)
            held.append(frame)
        if held:
            return joined(held)
        nothing = np.empty(0, np.int32)
        return Frame(0, {bound.name: nothing for bound in self.query.bindings})

    # --- rows as they are ---------------------------------------------------------------------------------

    def _plain(self, frames: Iterator[Frame]) -> pa.Table:
        if not self.query.order_by:
            return self._first_rows(frames)
        held: list[Frame] = []
        rows = 0
        for frame in frames:
            frame = frame.unweighted()
            self.evaluation.guard.hold(frame.nbytes)
            held.append(frame)
            rows += frame.length
            if self._last is not None and rows > max(CUT_ROWS, 2 * self._last):
                self.evaluation.guard.release(sum(each.nbytes for each in held))
                held = [self._best(joined(held), self._last)]
                self.evaluation.guard.hold(held[0].nbytes)
                rows = held[0].length
        whole = self._best(joined(held), self._last) if held else self._held(iter(()))
        return self._projected(whole.slice(self._start, whole.length) if self._start else whole)

    def _first_rows(self, frames: Iterator[Frame]) -> pa.Table:
        """Any rows will do: they become columns as they come, and no more of them are made than are needed."""
        parts: list[pa.Table] = []
        rows, last = 0, self._last
        for frame in frames if last != 0 else ():
            frame = frame.unweighted()
            stop = frame.length if last is None else min(frame.length, last - rows)
            start = max(0, self._start - rows)
            rows += frame.length
            if start < stop:
                parts.append(self._projected(frame.slice(start, stop)))
            if last is not None and rows >= last:
                break
        return pa.concat_tables(parts) if parts else self._projected(self._held(iter(())))

    def _best(self, frame: Frame, limit: int | None) -> Frame:
        """The rows in order, at most `limit` of them."""
        keys = self.query.order_by
        first = SortColumn(self.evaluation.array(self._behind(keys[0].expr), frame), keys[0].descending)
        if limit is not None:
            kept = candidates(first, limit)
            if kept is not None:
                frame = frame.where(kept)
                first = SortColumn(first.values.filter(pa.array(kept)), first.descending)
        columns = [first]
        columns += [SortColumn(self.evaluation.array(self._behind(k.expr), frame), k.descending) for k in keys[1:]]
        columns += [SortColumn(self.evaluation.entities(n).ids(frame.columns[n])) for n in self.query.tie_break]
        return frame.take(sorted_places(columns, frame.length, limit))

    def _behind(self, expr: Expr) -> Expr:
        """The expression of an output column, for an alias."""
        while isinstance(expr, AliasRef):
            expr = self.query.return_exprs[expr.column].expr
        return expr

    def _projected(self, frame: Frame) -> pa.Table:
        """The columns of these rows, made piece by piece so that a limit is noticed before it is far exceeded."""
        exprs = [self._behind(item.expr) for item in self.query.return_exprs]
        parts = []
        for start in range(0, max(1, frame.length), MORSEL_ROWS):
            self.evaluation.guard.check()
            piece = frame if frame.length <= MORSEL_ROWS else frame.slice(start, start + MORSEL_ROWS)
            parts.append(self._finished([self.evaluation.array(expr, piece) for expr in exprs]))
        return parts[0] if len(parts) == 1 else pa.concat_tables(parts)

    def _finished(self, arrays: list[pa.Array]) -> pa.Table:
        """The columns under their names, each in the type that its declaration has."""
        cast = []
        for array, column in zip(arrays, self.columns, strict=True):
            wanted = array.type if column.type is None else arrow_type(column.type)
            cast.append(array if array.type == wanted else array.cast(wanted))
        table = pa.table(cast, names=[column.name for column in self.columns])
        self.evaluation.guard.hold(table.nbytes)
        return table

    # --- groups -------------------------------------------------------------------------------------------

    def _grouped(self, frames: Iterator[Frame]) -> pa.Table:
        rank = self.query.rank
        grouping = Grouping(self.query, self.evaluation, rank, best_is_least=isinstance(rank, Nearest))
        grouping.add(frames)
        made = grouping.result()
        return self._ordered(self._finished(made.columns), made.best)

    def _ordered(self, table: pa.Table, best: pa.Array | None) -> pa.Table:
        """Sorts by output columns; equal rows stay in the order in which they were met."""
        if self.query.distinct and self.query.grouped:
            table, best = _unique(table), None if best is None else best
        keys = []
        for key in self.query.order_by:
            if isinstance(key.expr, AliasRef):
                values = table.column(key.expr.column).combine_chunks()
            elif best is not None:
                values = best
            else:
                values = table.column(self._column_of(key.expr)).combine_chunks()
            keys.append(SortColumn(values, key.descending))
        if keys:
            keys.append(SortColumn(pa.array(np.arange(table.num_rows))))
            table = table.take(pa.array(sorted_places(keys, table.num_rows, self._last)))
        stop = table.num_rows if self._last is None else min(self._last, table.num_rows)
        return table.slice(self._start, max(0, stop - self._start))

    def _column_of(self, expr: Expr) -> int:
        return next(i for i, item in enumerate(self.query.return_exprs) if self._behind(item.expr) == expr)

    # --- distinct -----------------------------------------------------------------------------------------

    def _distinct(self, frames: Iterator[Frame]) -> pa.Table:
        """Equal output rows once. Nodes and entities are compared by their row numbers."""
        exprs = [self._behind(item.expr) for item in self.query.return_exprs]
        held: list[tuple[Frame, pa.Table]] = []
        for frame in frames:
            if not frame.length:
                continue
            frame = Frame(frame.length, frame.columns)
            keys = pa.table([identities(expr, frame, self.evaluation) for expr in exprs], names=_names(exprs))
            places = first_places(keys)
            part = (frame.take(places), keys.take(pa.array(places)))
            self.evaluation.guard.hold(part[0].nbytes + part[1].nbytes)
            held.append(part)
        if not held:
            nothing = np.empty(0, np.int32)
            names = {name for expr in exprs for name in variables_of(expr)}
            return self._ordered(self._projected(Frame(0, dict.fromkeys(names, nothing))), None)
        frame = joined([part[0] for part in held])
        if len(held) > 1:
            frame = frame.take(first_places(pa.concat_tables([part[1] for part in held])))
        return self._ordered(self._projected(frame), None)


def first_places(keys: pa.Table) -> Positions:
    """The first place of every distinct row, in order. NULL equals NULL."""
    if not keys.num_columns or not keys.num_rows:
        return np.zeros(min(1, keys.num_rows), np.int64)
    if keys.num_columns == 1 and pa.types.is_int32(keys.schema.field(0).type) and not keys.column(0).null_count:
        _, first = np.unique(keys.column(0).to_numpy(), return_index=True)
        return np.sort(first).astype(np.int64)
    numbered = keys.append_column("__place", pa.array(np.arange(keys.num_rows)))
    found = numbered.group_by(keys.column_names, use_threads=False).aggregate([("__place", "min")])
    return np.sort(found["__place_min"].to_numpy()).astype(np.int64)


def _unique(table: pa.Table) -> pa.Table:
    keys = [value_identities(column.combine_chunks()) for column in table.columns]
    return table.take(pa.array(first_places(pa.table(keys, names=_names(table.column_names)))))


def _names(items: list[Expr] | list[str]) -> list[str]:
    return [f"c{i}" for i in range(len(items))]
