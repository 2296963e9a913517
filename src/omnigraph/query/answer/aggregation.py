"""Aggregation: grouped queries. Frames become partial groups one by one; partial groups become one at the end."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.language.query import Aggregate, Expr, PropAccess, QueryIR, Rank, Variable
from omnigraph.model.late_dataclass import dataclass
from omnigraph.query.answer.equal_values import entity_variable, identities, is_nested, restored
from omnigraph.query.expressions import Evaluation
from omnigraph.query.frames import (
    WEIGHT_MAX,
    Frame,
    Mask,
    Positions,
    Rows,
    Weights,
    countable,
    distinct,
    frame_sum_is_exact,
    summed,
    summed_runs,
)
from omnigraph.query.plan import is_row_count, variables_of
from omnigraph.query.result import stored_values
from omnigraph.storage.tables import arrow_type

_WIDE = pa.decimal128(38, 0)
RUNS_FROM_ROWS = 4096
RUN_LENGTH_MIN = 4
"""Runs are used when they are on average at least this long."""

Codes = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class GroupedTable:
    """The groups, in order of their first row: one column per output, and the best score where a rank orders them."""

    columns: list[pa.Array]
    best: pa.Array | None = None
    count: int = 0


@dataclass(frozen=True, slots=True)
class Argument:
    """What an aggregate adds up: numbers, zero where there is none, and which of them count."""

    numbers: npt.NDArray[Any] | None
    valid: Mask | None
    """None: all of them."""
    largest: float | None
    """No number is further from zero."""

    def of(self, rows: Rows) -> Argument:
        numbers = None if self.numbers is None else self.numbers.take(rows)
        return Argument(numbers, None if self.valid is None else self.valid.take(rows), self.largest)


@dataclass(frozen=True, slots=True)
class Buckets:
    """Which group each row belongs to. Rows may come in runs of the same group; then a code stands for a run."""

    codes: Codes
    groups: int
    starts: Positions | None
    length: int
    along_runs: bool = False
    """The runs are those that the frame knows of."""

    def per_row(self) -> Codes:
        if self.starts is None:
            return self.codes
        return np.repeat(self.codes, np.diff(np.append(self.starts, self.length)))

    def totals(self, weights: npt.NDArray[Any] | None) -> npt.NDArray[np.int64]:
        """How many rows each group has, counting each as often as its weight says. Exact."""
        if weights is None:
            if self.starts is None:
                return np.bincount(self.codes, minlength=self.groups)
            weights = np.diff(np.append(self.starts, self.length))
        elif self.starts is not None:
            weights = summed_runs(weights, self.starts)
        return summed(self.codes, weights, self.groups)

    def sums(self, numbers: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
        if self.starts is not None:
            numbers = np.add.reduceat(
                numbers, self.starts, dtype=np.int64 if numbers.dtype.kind in "iu" else np.float64
            )
        return np.bincount(self.codes, weights=numbers, minlength=self.groups).astype(np.float64, copy=False)


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
        self._node_codes: dict[Expr, Codes] = {}
        self._node_numbers: dict[Expr, Argument] = {}

    def add(self, frames: Iterable[Frame]) -> None:
        for frame in frames:
            if frame.length:
                self._add(frame)

    # --- partial groups -----------------------------------------------------------------------------------

    def _add(self, frame: Frame) -> None:
        buckets, one_per_group = self._group(frame)
        columns = {f"k{i}": identities(expr, one_per_group, self._evaluation) for i, expr in enumerate(self._keys)}
        columns |= {f"w:{name}": pa.array(one_per_group.columns[name]) for name in self._witnesses()}
        for i, aggregate in enumerate(self._aggregates):
            if aggregate.distinct and aggregate.func in ("count", "sum", "avg"):
                self._add_distinct(i, aggregate, frame, columns, buckets)
            else:
                columns |= self._partial(i, aggregate, frame, buckets)
        if self._rank is not None:
            scores = self._evaluation.array(self._rank, frame)
            columns["best"] = _extreme(scores, buckets, self._best)
        columns.setdefault("rows", pa.array(buckets.totals(None)))
        made = pa.table(columns)
        self._evaluation.guard.hold(made.nbytes)
        self._partials.append(made)

    def _group(self, frame: Frame) -> tuple[Buckets, Frame]:
        """The group of every row, and the first row of every group."""
        if not self._keys:
            nothing = np.zeros(1, np.int64)
            return Buckets(nothing, 1, nothing, frame.length), frame.take(nothing)
        rows, starts = self._runs(frame)
        along = frame.runs is not None and rows is frame.runs.heads
        codes = self._codes(self._keys[0], rows)
        for expr in self._keys[1:]:
            more = self._codes(expr, rows)
            span = int(more.max(initial=0)) + 1
            if int(codes.max(initial=0)) + 1 > 2**62 // span:
                _, codes = np.unique(codes, return_inverse=True)
            codes = codes * span + more
        codes, firsts = first_seen(codes)
        return Buckets(codes, len(firsts), starts, frame.length, along), rows.take(firsts)

    def _runs(self, frame: Frame) -> tuple[Frame, Positions | None]:
        """One row for each run of rows that agree in all keys, and where the runs begin; the frame itself when they are
        too short to be of use.

        A walk leaves the rows of one source together, so that its neighbours are added up before they are grouped.
        """
        names = {name for expr in self._keys for name in variables_of(expr)}
        if frame.length < RUNS_FROM_ROWS:
            return frame, None
        runs = frame.runs
        if runs is not None and names <= runs.heads.columns.keys():
            return (runs.heads, runs.starts()) if runs.heads.length * RUN_LENGTH_MIN <= frame.length else (frame, None)
        if len(names) != 1:
            return frame, None
        (rows,) = (frame.columns[name] for name in names)
        starts = np.flatnonzero(np.concatenate([[True], rows[1:] != rows[:-1]]))
        return (frame.take(starts), starts) if len(starts) * RUN_LENGTH_MIN <= frame.length else (frame, None)

    def _codes(self, expr: Expr, frame: Frame) -> Codes:
        """Equal values get equal numbers, NULL one of its own. Encoded per node when there are more rows than nodes."""
        variable = entity_variable(expr)
        if variable is not None:
            return frame.columns[variable].astype(np.int64) + 1
        if isinstance(expr, PropAccess) and self._evaluation.view.is_resident:
            entities = self._evaluation.entities(expr.variable)
            rows = frame.columns[expr.variable]
            if len(rows) > entities.size and not (rows < 0).any():
                if expr not in self._node_codes:
                    every = Frame(entities.size, {expr.variable: np.arange(entities.size, dtype=np.int32)})
                    self._node_codes[expr] = _encoded(identities(expr, every, self._evaluation))
                return self._node_codes[expr][rows]
        return _encoded(identities(expr, frame, self._evaluation))

    def _witnesses(self) -> list[str]:
        """The variables of keys whose identity is not their value: the group keeps a row that has it."""
        return sorted({name for expr in self._keys if is_nested(expr) for name in variables_of(expr)})

    def _partial(self, i: int, aggregate: Aggregate, frame: Frame, buckets: Buckets) -> dict[str, pa.Array]:
        weights: npt.NDArray[Any] | None = frame.weights
        if is_row_count(aggregate):
            return {f"n{i}": pa.array(buckets.totals(weights))}
        if aggregate.func in ("min", "max"):
            return {f"v{i}": _extreme(self._values(aggregate.arg, frame), buckets, aggregate.func)}
        along = self._along_runs(i, aggregate, frame, buckets)
        if along is not None:
            return along
        argument = self._numbers(aggregate.arg, frame) or _counted(self._values(aggregate.arg, frame))
        if argument.valid is not None:  # a NULL counts for nothing, and adds the zero that stands for it
            weights = argument.valid if weights is None else np.where(argument.valid, weights, 0)
        counted = {f"n{i}": pa.array(buckets.totals(weights))}
        return counted if aggregate.func == "count" else {**counted, f"v{i}": _sum(argument, buckets, frame.weights)}

    def _along_runs(self, i: int, aggregate: Aggregate, frame: Frame, buckets: Buckets) -> dict[str, pa.Array] | None:
        """The sums of runs without their rows, for numbers of the variable that the last step added; None elsewhere."""
        runs, arg = frame.runs, aggregate.arg
        if runs is None or not buckets.along_runs or frame.weights is not None:
            return None
        if not isinstance(arg, PropAccess) or arg.variable != runs.ends.variable:
            return None
        argument = self._node_argument(arg, frame.length, rows_per_node=1)
        if argument is None or not _sums_fit_a_double(argument.largest, frame.length, None):
            return None
        per_run = Buckets(buckets.codes, buckets.groups, None, len(buckets.codes))
        counts = runs.lengths if argument.valid is None else runs.ends.sums(argument.valid)
        counted = {f"n{i}": pa.array(per_run.totals(counts))}
        if aggregate.func == "count":
            return counted
        assert argument.numbers is not None, "only numbers can be added"
        sums = pa.array(per_run.sums(runs.ends.sums(argument.numbers)))
        exact = argument.numbers.dtype.kind in "iu"
        return {**counted, f"v{i}": sums.cast(pa.int64()).cast(_WIDE) if exact else sums}

    def _numbers(self, arg: Expr, frame: Frame) -> Argument | None:
        """The argument from numbers per node, when there are many more rows than nodes; None when it is no number."""
        if not isinstance(arg, PropAccess):
            return None
        argument = self._node_argument(arg, frame.length, rows_per_node=4)
        if argument is None or (frame.columns[arg.variable] < 0).any():
            return None
        return argument.of(frame.columns[arg.variable])

    def _node_argument(self, arg: PropAccess, rows: int, *, rows_per_node: int) -> Argument | None:
        """The numbers of all nodes, when so many rows ask for them that it pays; None when it is no number."""
        if not self._evaluation.view.is_resident or not _is_plain_number(arg):
            return None
        entities = self._evaluation.entities(arg.variable)
        if arg not in self._node_numbers:
            if rows <= rows_per_node * entities.size or not entities.size:
                return None
            every = Frame(entities.size, {arg.variable: np.arange(entities.size, dtype=np.int32)})
            self._node_numbers[arg] = _counted(self._evaluation.array(arg, every))
        return self._node_numbers[arg]

    def _values(self, arg: Expr, frame: Frame) -> pa.Array:
        if isinstance(arg, Variable):
            return self._evaluation.entities(arg.name).ids(frame.columns[arg.name])
        return self._evaluation.array(arg, frame)

    def _add_distinct(
        self, i: int, aggregate: Aggregate, frame: Frame, keys: dict[str, pa.Array], buckets: Buckets
    ) -> None:
        """The distinct values per group, to be counted when all are known."""
        arg = aggregate.arg
        if isinstance(arg, Variable) and not self._keys:
            size = self._evaluation.entities(arg.name).size
            pairs = pa.table({"value": _distinct_nodes(frame.columns[arg.name], size)})
        elif isinstance(arg, Variable):
            pairs = _distinct_pairs(buckets.per_row(), frame.columns[arg.name])
        else:
            codes = buckets.per_row()
            values = identities(arg, frame, self._evaluation)
            pairs = pa.table({"group": codes, "value": values}).filter(values.is_valid())
            pairs = pairs.group_by(["group", "value"], use_threads=False).aggregate([])
        grouped = {name: column for name, column in keys.items() if name.startswith("k")}
        columns = {name: column.take(pairs["group"]) for name, column in grouped.items()}
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
                finished.append(self._key_values(expr, table, f"k{next(keys)}"))
        best = table["best"].combine_chunks() if self._rank is not None else None
        return GroupedTable(finished, best, table.num_rows)

    def _combined(self, names: list[str]) -> pa.Table:
        whole = _with_wide_counts(pa.concat_tables(self._partials, promote_options="permissive"))
        folds = [(name, self._fold(name)) for name in whole.column_names if name not in names]
        if not names:
            folded = {name: getattr(pc, func)(whole[name]) for name, func in folds}
            return _with_plain_counts(pa.table({name: pa.repeat(value, 1) for name, value in folded.items()}))
        grouped = whole.group_by(names, use_threads=False).aggregate(folds)
        return _with_plain_counts(grouped.rename_columns([*names, *(name for name, _ in folds)]))

    def _fold(self, name: str) -> str:
        """How the partial values of a column become one."""
        if name == "best":
            return self._best
        if name.startswith("w:"):
            return "max"  # any row of the group will do
        if name.startswith("v"):
            func = self._aggregates[int(name[1:])].func
            return func if func in ("min", "max") else "sum"
        return "sum"

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
        if pairs is not None and len(self._distinct[i]) > 1:
            pairs = pairs.group_by([*names, "value"], use_threads=False).aggregate([])
        if not names and aggregate.func == "count":
            return pa.array([0 if pairs is None else pairs.num_rows], pa.int64())
        found: dict[tuple[Any, ...], list[Any]] = {}
        if pairs is not None:
            rows = zip(*(stored_values(pairs[name]) for name in [*names, "value"]), strict=True)
            for *group, value in rows:
                found.setdefault(tuple(group), []).append(value)
        groups = list(zip(*(stored_values(table[name]) for name in names), strict=True)) if names else [()]
        values = [found.get(tuple(group), []) for group in groups]
        if aggregate.func == "count":
            return pa.array([len(each) for each in values], pa.int64())
        return _sums_or_means(aggregate.func, [sum(each) for each in values], [len(each) for each in values])

    def _key_values(self, expr: Expr, table: pa.Table, name: str) -> pa.Array:
        if is_nested(expr):
            rows = {each: table[f"w:{each}"].to_numpy().astype(np.int32) for each in variables_of(expr)}
            return self._evaluation.array(expr, Frame(table.num_rows, rows))
        kind = arrow_type(expr.type) if isinstance(expr, PropAccess) else None
        return restored(expr, table[name].combine_chunks(), self._evaluation, kind)

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


def _with_wide_counts(partials: pa.Table) -> pa.Table:
    """With counts in a type that holds their sum, where 64 bits might not."""
    for place, name in enumerate(partials.column_names):
        if name.startswith("n") and pc.sum(partials[name].cast(pa.float64())).as_py() > WEIGHT_MAX:
            partials = partials.set_column(place, name, partials[name].cast(_WIDE))
    return partials


def _with_plain_counts(groups: pa.Table) -> pa.Table:
    for place, name in enumerate(groups.column_names):
        if name.startswith("n") and groups.schema.field(place).type == _WIDE:
            countable(int(pc.max(groups[name]).as_py()))
            groups = groups.set_column(place, name, groups[name].cast(pa.int64()))
    return groups


def _distinct_pairs(codes: Codes, rows: Rows) -> pa.Table:
    """Every group with every node in it, once."""
    keys = codes[rows >= 0] << 32 | rows[rows >= 0]
    if not np.all(keys[1:] > keys[:-1]):
        keys = np.unique(keys)
    return pa.table({"group": keys >> 32, "value": (keys & 0xFFFFFFFF).astype(np.int32)})


def _distinct_nodes(rows: Rows, size: int) -> Rows:
    """Every node once. Rows that were merged are distinct already, and ascend."""
    ascends = len(rows) and int(rows[0]) >= 0 and bool(np.all(rows[1:] > rows[:-1]))
    return rows if ascends else distinct(rows, size)


def first_seen(codes: Codes) -> tuple[Codes, npt.NDArray[np.int64]]:
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


def _is_plain_number(arg: PropAccess) -> bool:
    return arg.type.scalar.is_numeric and not arg.type.is_list


def _counted(values: pa.Array) -> Argument:
    """An argument from its values; NULL is a zero that is not valid."""
    valid = values.is_valid().to_numpy(zero_copy_only=False) if values.null_count else None
    if not (pa.types.is_integer(values.type) or pa.types.is_floating(values.type)):
        return Argument(None, valid, None)
    filled = values.fill_null(0) if values.null_count else values
    bounds = pc.min_max(filled).as_py()
    largest = max(abs(bounds["min"] or 0), abs(bounds["max"] or 0))
    return Argument(filled.to_numpy(zero_copy_only=False), valid, largest)


def _sum(argument: Argument, buckets: Buckets, weights: Weights | None) -> pa.Array:
    """Per group, each value as often as its row counts. Integers are added exactly, whatever their size."""
    numbers = argument.numbers
    assert numbers is not None, "only numbers can be added"
    if numbers.dtype.kind == "f":
        return pa.array(buckets.sums(numbers if weights is None else numbers * weights))
    if _sums_fit_a_double(argument.largest, len(numbers), weights):
        sums = buckets.sums(numbers if weights is None else numbers * weights)
        return pa.array(sums.astype(np.int64)).cast(_WIDE)
    exact = [0] * buckets.groups
    each = [1] * len(numbers) if weights is None else weights.tolist()
    for code, value, weight in zip(buckets.per_row().tolist(), numbers.tolist(), each, strict=True):
        exact[code] += value * weight
    return pa.array(exact, _WIDE)


def _sums_fit_a_double(largest: float | None, count: int, weights: Weights | None) -> bool:
    if weights is None:
        return (largest or 0) * count < 2**53
    return frame_sum_is_exact(weights) and (largest or 0) * int(weights.sum()) < 2**53


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


def _extreme(values: pa.Array, buckets: Buckets, func: str) -> pa.Array:
    table = pa.table({"group": buckets.per_row(), "value": values}).group_by("group", use_threads=False)
    made = table.aggregate([("value", func)])
    order = np.argsort(made["group"].to_numpy())
    return made[f"value_{func}"].combine_chunks().take(pa.array(order))
