"""Aggregation: grouped queries. Frames become partial groups one by one; partial groups become one at the end."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.language.query.ir import Aggregate, Expr, PropAccess, QueryIR, Rank, Variable
from omnigraph.query.evaluation import Evaluation
from omnigraph.query.frames import Frame, Weights, frame_sum_is_exact
from omnigraph.query.mentions import is_row_count, variables_of

_WIDE = pa.decimal128(38, 0)
Codes = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class GroupedTable:
    """The groups, in order of their first row: one column per output, and the best score where a rank orders them."""

    columns: list[pa.Array]
    best: pa.Array | None = None
    count: int = 0


class Grouping:
    """Groups the rows of one query. `rank` is the rank that orders it: a group is as good as its best row."""

    def __init__(self, query: QueryIR, evaluation: Evaluation, rank: Rank | None, *, best_is_least: bool) -> None:
        self._exprs = [item.expr for item in query.return_exprs]
        self._keys = [expr for expr in self._exprs if not isinstance(expr, Aggregate)]
        self._aggregates = [expr for expr in self._exprs if isinstance(expr, Aggregate)]
        self._evaluation = evaluation
        self._rank = rank
        self._best = "min" if best_is_least else "max"
        self._partials: list[pa.Table] = []
        self._distinct: dict[int, list[pa.Table]] = {}
        self._kinds: dict[int, pa.DataType] = {}

    def add(self, frames: Iterable[Frame]) -> None:
        for frame in frames:
            if frame.length:
                self._add(frame)

    # --- partial groups -----------------------------------------------------------------------------------

    def _add(self, frame: Frame) -> None:
        codes, firsts = self._group(frame)
        groups = len(firsts)
        weights = frame.counts()
        one_per_group = frame.take(firsts)
        columns = {f"k{i}": self._key(expr, one_per_group) for i, expr in enumerate(self._keys)}
        for i, aggregate in enumerate(self._aggregates):
            if aggregate.distinct and aggregate.func in ("count", "sum", "avg"):
                self._add_distinct(i, aggregate, frame, columns, codes)
            else:
                columns |= self._partial(i, aggregate, frame, codes, groups, weights)
        if self._rank is not None:
            scores = self._evaluation.array(self._rank, frame)
            columns["best"] = _extreme(scores, codes, groups, self._best)
        columns.setdefault("rows", pa.array(np.bincount(codes, minlength=groups)))
        made = pa.table(columns)
        self._evaluation.guard.hold(made.nbytes)
        self._partials.append(made)

    def _key(self, expr: Expr, frame: Frame) -> pa.Array:
        """Nodes are grouped by their row numbers; their ids are read at the end."""
        if isinstance(expr, Variable):
            rows = frame.columns[expr.name]
            return pa.array(rows, mask=rows < 0)
        return self._evaluation.array(expr, frame)

    def _group(self, frame: Frame) -> tuple[Codes, npt.NDArray[np.int64]]:
        """The group of every row, and the first row of every group."""
        if not self._keys:
            return np.zeros(frame.length, np.int64), np.zeros(1, np.int64)
        codes = self._codes(self._keys[0], frame)
        for expr in self._keys[1:]:
            more = self._codes(expr, frame)
            span = int(more.max(initial=0)) + 1
            if int(codes.max(initial=0)) + 1 > 2**62 // span:
                _, codes = np.unique(codes, return_inverse=True)
            codes = codes * span + more
        return _first_seen(codes)

    def _codes(self, expr: Expr, frame: Frame) -> Codes:
        """Equal values get equal numbers, NULL one of its own. Encoded per node when there are more rows than nodes."""
        if isinstance(expr, Variable):
            return frame.columns[expr.name].astype(np.int64) + 1
        if isinstance(expr, PropAccess) and self._evaluation.view.is_resident:
            entities = self._evaluation.entities(expr.variable)
            rows = frame.columns[expr.variable]
            if len(rows) > entities.size and not (rows < 0).any():
                every = Frame(entities.size, {expr.variable: np.arange(entities.size, dtype=np.int32)})
                return _encoded(self._evaluation.array(expr, every))[rows]
        return _encoded(self._evaluation.array(expr, frame))

    def _partial(
        self, i: int, aggregate: Aggregate, frame: Frame, codes: Codes, groups: int, weights: Weights
    ) -> dict[str, pa.Array]:
        if is_row_count(aggregate):
            return {f"n{i}": pa.array(_total(codes, weights, groups))}
        values = self._argument(aggregate.arg, frame)
        if aggregate.func in ("min", "max"):
            return {f"v{i}": _extreme(values, codes, groups, aggregate.func)}
        valid = values.is_valid().to_numpy(zero_copy_only=False)
        counted = {f"n{i}": pa.array(_total(codes[valid], weights[valid], groups))}
        if aggregate.func == "count":
            return counted
        self._kinds[i] = values.type
        return {**counted, f"v{i}": _sum(values.filter(pa.array(valid)), codes[valid], weights[valid], groups)}

    def _argument(self, arg: Expr, frame: Frame) -> pa.Array:
        """The values that are aggregated; per node when there are more rows than nodes, then spread."""
        if isinstance(arg, PropAccess) and self._evaluation.view.is_resident and not arg.type.is_list:
            entities = self._evaluation.entities(arg.variable)
            rows = frame.columns[arg.variable]
            if len(rows) > 4 * entities.size and pa.types.is_primitive(
                self._evaluation.array(arg, frame.slice(0, 0)).type
            ):
                every = Frame(entities.size, {arg.variable: np.arange(entities.size, dtype=np.int32)})
                return _spread(self._evaluation.array(arg, every), rows)
        if isinstance(arg, Variable) and len(frame.columns[arg.name]):
            return self._evaluation.entities(arg.name).ids(frame.columns[arg.name])
        return self._evaluation.array(arg, frame)

    def _add_distinct(
        self, i: int, aggregate: Aggregate, frame: Frame, keys: dict[str, pa.Array], codes: Codes
    ) -> None:
        """The distinct values per group, to be counted when all are known."""
        arg = aggregate.arg
        if isinstance(arg, Variable):
            rows = frame.columns[arg.name]
            values = pa.array(rows, mask=rows < 0)
        else:
            values = self._evaluation.array(arg, frame)
        pairs = pa.table({"group": codes, "value": values}).filter(values.is_valid())
        pairs = pairs.group_by(["group", "value"], use_threads=False).aggregate([])
        places = pairs["group"]
        columns = {name: column.take(places) for name, column in keys.items() if name.startswith("k")}
        made = pa.table({**columns, "value": pairs["value"]})
        self._evaluation.guard.hold(made.nbytes)
        self._distinct.setdefault(i, []).append(made)

    # --- the end ------------------------------------------------------------------------------------------

    def result(self) -> GroupedTable:
        """The groups. Without rows: one group if there are no keys, else none."""
        names = [f"k{i}" for i in range(len(self._keys))]
        if not self._partials:
            return self._nothing()
        table = self._partials[0] if len(self._partials) == 1 else self._combined(names)
        finished: list[pa.Array] = []
        keys, aggregates = iter(range(len(self._keys))), iter(range(len(self._aggregates)))
        for expr in self._exprs:
            if isinstance(expr, Aggregate):
                finished.append(self._finished(next(aggregates), expr, table, names))
            else:
                finished.append(self._ids(expr, table[f"k{next(keys)}"].combine_chunks()))
        best = table["best"].combine_chunks() if self._rank is not None else None
        return GroupedTable(finished, best, table.num_rows)

    def _combined(self, names: list[str]) -> pa.Table:
        whole = pa.concat_tables(self._partials, promote_options="permissive")
        folds = []
        for name in whole.column_names:
            if name in names:
                continue
            number = int(name[1:]) if name[1:].isdigit() else -1
            func = "sum"
            if name == "best":
                func = self._best
            elif name.startswith("v") and self._aggregates[number].func in ("min", "max"):
                func = self._aggregates[number].func
            folds.append((name, func))
        if not names:
            columns = {
                name: pa.array([getattr(pc, func)(whole[name]).as_py()], whole[name].type) for name, func in folds
            }
            return pa.table(columns)
        grouped = whole.group_by(names, use_threads=False).aggregate(folds)
        return grouped.rename_columns([*names, *(name for name, _ in folds)])

    def _finished(self, i: int, aggregate: Aggregate, table: pa.Table, names: list[str]) -> pa.Array:
        if aggregate.distinct and aggregate.func in ("count", "sum", "avg"):
            return self._distinct_result(i, aggregate, table, names)
        if aggregate.func == "count":
            return table[f"n{i}"].combine_chunks().cast(pa.int64())
        if aggregate.func in ("min", "max"):
            return table[f"v{i}"].combine_chunks()
        counts = table[f"n{i}"].to_pylist()
        return _sums_or_means(aggregate.func, table[f"v{i}"].to_pylist(), counts)

    def _distinct_result(self, i: int, aggregate: Aggregate, table: pa.Table, names: list[str]) -> pa.Array:
        pairs = pa.concat_tables(self._distinct[i]) if i in self._distinct else None
        found: dict[tuple[Any, ...], list[Any]] = {}
        if pairs is not None:
            pairs = pairs.group_by([*names, "value"], use_threads=False).aggregate([])
            rows = zip(*(pairs[name].to_pylist() for name in [*names, "value"]), strict=True)
            for *group, value in rows:
                found.setdefault(tuple(group), []).append(value)
        groups = list(zip(*(table[name].to_pylist() for name in names), strict=True)) if names else [()]
        values = [found.get(tuple(group), []) for group in groups]
        if aggregate.func == "count":
            return pa.array([len(each) for each in values], pa.int64())
        return _sums_or_means(aggregate.func, [sum(each) for each in values], [len(each) for each in values])

    def _ids(self, expr: Expr, column: pa.Array) -> pa.Array:
        if not isinstance(expr, Variable):
            return column
        rows = column.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int32)
        return self._evaluation.entities(expr.name).ids(rows)

    def _nothing(self) -> GroupedTable:
        """No rows at all: counts are 0, the rest is NULL; with keys there is no group."""
        count = 0 if self._keys else 1
        columns = []
        for expr in self._exprs:
            if isinstance(expr, Aggregate) and expr.func == "count":
                columns.append(pa.array([0] * count, pa.int64()))
            elif isinstance(expr, Aggregate) and expr.func in ("sum", "avg"):
                columns.append(pa.nulls(count, pa.float64()))
            else:
                columns.append(self._empty(expr).take(pa.array([None] * count, pa.int64())))
        return GroupedTable(columns, pa.nulls(count, pa.float64()) if self._rank is not None else None, count)

    def _empty(self, expr: Expr) -> pa.Array:
        inner = expr.arg if isinstance(expr, Aggregate) else expr
        nothing = np.empty(0, np.int32)
        return self._evaluation.array(inner, Frame(0, dict.fromkeys(variables_of(inner), nothing)))


# --- parts ------------------------------------------------------------------------------------------------


def _first_seen(codes: Codes) -> tuple[Codes, npt.NDArray[np.int64]]:
    """Groups numbered by their first row."""
    span = int(codes.max(initial=0)) + 1
    if span <= 4 * len(codes) + 1024:
        first = np.full(span, len(codes), np.int64)
        np.minimum.at(first, codes, np.arange(len(codes))) if span > len(codes) else _fill_first(first, codes)
        used = np.flatnonzero(first < len(codes))
        order = used[np.argsort(first[used])]
        numbers = np.empty(span, np.int64)
        numbers[order] = np.arange(len(order))
        return numbers[codes], first[order]
    _, firsts, inverse = np.unique(codes, return_index=True, return_inverse=True)
    order = np.argsort(firsts)
    numbers = np.empty(len(order), np.int64)
    numbers[order] = np.arange(len(order))
    return numbers[inverse], firsts[order].astype(np.int64)


def _fill_first(first: npt.NDArray[np.int64], codes: Codes) -> None:
    """The first row of each code: written from the last row to the first, the first one stays."""
    first[codes[::-1]] = np.arange(len(codes) - 1, -1, -1)


def _encoded(values: pa.Array) -> Codes:
    """Equal values, equal numbers; NULL is 0."""
    indices = values.dictionary_encode().indices
    codes: Codes = indices.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64) + 1
    return codes


def _spread(values: pa.Array, rows: npt.NDArray[np.int32]) -> pa.Array:
    """Values by row number, per row: through numpy, which is faster than `take` on millions of rows."""
    plain = values.fill_null(0) if values.null_count else values
    if pa.types.is_boolean(values.type) or pa.types.is_temporal(values.type):
        return values.take(pa.array(rows, mask=rows < 0))
    data = plain.to_numpy(zero_copy_only=False)[rows]
    gone = rows < 0
    if values.null_count:
        gone = gone | values.is_null().to_numpy(zero_copy_only=False)[rows]
    return pa.array(data, values.type, mask=gone if gone.any() else None)


def _total(codes: Codes, weights: Weights, groups: int) -> npt.NDArray[np.int64]:
    if frame_sum_is_exact(weights):
        return np.bincount(codes, weights=weights, minlength=groups).astype(np.int64)
    totals = np.zeros(groups, np.int64)
    np.add.at(totals, codes, weights)
    return totals


def _sum(values: pa.Array, codes: Codes, weights: Weights, groups: int) -> pa.Array:
    """Per group, each value as often as its row counts. Integers are added exactly, whatever their size."""
    if pa.types.is_floating(values.type):
        numbers = values.to_numpy(zero_copy_only=False).astype(np.float64)
        return pa.array(np.bincount(codes, weights=numbers * weights, minlength=groups))
    bounds = pc.min_max(values).as_py()
    largest = max(abs(bounds["min"] or 0), abs(bounds["max"] or 0))
    total = int(weights.sum()) if frame_sum_is_exact(weights) else sum(weights.tolist())
    if largest * total < 2**53:
        numbers = values.to_numpy(zero_copy_only=False).astype(np.float64)
        sums = np.bincount(codes, weights=numbers * weights, minlength=groups)
        return pa.array(sums.astype(np.int64)).cast(_WIDE)
    exact = [0] * groups
    for code, value, weight in zip(codes.tolist(), values.to_pylist(), weights.tolist(), strict=True):
        exact[code] += value * weight
    return pa.array(exact, _WIDE)


def _sums_or_means(func: str, sums: list[Any], counts: list[int]) -> pa.Array:
    """F64 results. NULL where nothing was added."""
    made: list[float | None] = []
    for total, count in zip(sums, counts, strict=True):
        if not count:
            made.append(None)
            continue
        exact = total if isinstance(total, float) else int(total)
        made.append(float(exact) if func == "sum" else exact / count)
    return pa.array(made, pa.float64())


def _extreme(values: pa.Array, codes: Codes, groups: int, func: str) -> pa.Array:
    table = pa.table({"group": codes, "value": values}).group_by("group", use_threads=False)
    made = table.aggregate([("value", func)])
    order = np.argsort(made["group"].to_numpy())
    found = made[f"value_{func}"].combine_chunks().take(pa.array(order))
    if len(found) == groups:
        return found
    places = np.searchsorted(np.sort(made["group"].to_numpy()), np.arange(groups))
    return found.take(pa.array(places))
