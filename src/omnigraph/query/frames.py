"""Frames: a bag of rows as columns of row numbers, one column per variable. All operators take and make frames.

A row number names an entity of the variable's type within one query (see `entities`); -1 stands for NULL. A frame may
carry a weight per row: how many equal rows it stands for. Only variables that are still needed are in a frame, so
walks that differ in nothing that matters any more are one row with a weight, and counting never materialises them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from omnigraph.model.errors import ResourceLimitExceeded
from omnigraph.model.late_dataclass import dataclass

Rows = npt.NDArray[np.int32]
Weights = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]
Positions = npt.NDArray[np.int64]

NO_ROW = -1
TAG = "__tag"
"""Hidden columns that say which outer row an inner row belongs to begin with this."""
BYTES_PER_CELL = 4
MARKS_SHARE = 64
"""Marks, one per row number, are laid out for at most so many times more of them than rows; else rows are sorted."""
WEIGHT_MAX = 2**62
"""No row and no sum of rows may weigh more: the query is refused, because a count that overflowed would be wrong."""


class LateColumns(Mapping[str, Rows]):
    """Columns that are made when somebody looks at them, which may be nobody."""

    __slots__ = ("_made", "_makers")

    def __init__(self, makers: Mapping[str, Callable[[], Rows]], made: Mapping[str, Rows]) -> None:
        self._makers, self._made = makers, dict(made)

    def __getitem__(self, name: str) -> Rows:
        if name not in self._made:
            self._made[name] = self._makers[name]()
        return self._made[name]

    def __iter__(self) -> Iterator[str]:
        return iter({**self._makers, **self._made})

    def __len__(self) -> int:
        return len(self._makers.keys() | self._made.keys())

    def with_more(self, added: Mapping[str, Rows]) -> LateColumns:
        return LateColumns(self._makers, {**self._made, **added})

    def only(self, names: frozenset[str]) -> LateColumns:
        makers = {name: maker for name, maker in self._makers.items() if name in names}
        return LateColumns(makers, {name: column for name, column in self._made.items() if name in names})


class Ends(Protocol):
    """The one variable that a step added: where it led from each row that it began at."""

    @property
    def variable(self) -> str: ...

    def rows(self) -> Rows:
        """All of them, run by run."""

    def sums(self, numbers: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Per run, the sum of these numbers, of which every entity has one. Integers as int64, others as float64."""


@dataclass(frozen=True, slots=True)
class Runs:
    """Rows that a step made: those that it began at, each of which led somewhere, how often, and where."""

    heads: Frame
    lengths: Positions
    ends: Ends

    def starts(self) -> Positions:
        ends = np.cumsum(self.lengths)
        return ends - self.lengths

    def frame(self) -> Frame:
        """The rows themselves."""
        repeated = {name: partial(np.repeat, column, self.lengths) for name, column in self.heads.columns.items()}
        weights = self.heads.weights
        return Frame(
            int(self.lengths.sum()),
            LateColumns({**repeated, self.ends.variable: self.ends.rows}, {}),
            None if weights is None else np.repeat(weights, self.lengths),
            self,
        )


@dataclass(frozen=True, slots=True)
class Frame:
    """Rows of row numbers. `length` counts rows also when no variable is left."""

    length: int
    columns: Mapping[str, Rows]
    weights: Weights | None = None
    runs: Runs | None = None
    """Where it is known."""

    def take(self, positions: Positions) -> Frame:
        """The rows at these positions, in this order; a position may repeat."""
        return Frame(
            len(positions),
            {name: column[positions] for name, column in self.columns.items()},
            None if self.weights is None else self.weights[positions],
        )

    def where(self, mask: Mask) -> Frame:
        if mask.all():
            return self
        columns = {name: column[mask] for name, column in self.columns.items()}
        return Frame(int(np.count_nonzero(mask)), columns, None if self.weights is None else self.weights[mask])

    def slice(self, start: int, stop: int) -> Frame:
        columns = {name: column[start:stop] for name, column in self.columns.items()}
        weights = None if self.weights is None else self.weights[start:stop]
        return Frame(max(0, min(stop, self.length) - start), columns, weights)

    def with_columns(self, **added: Rows) -> Frame:
        if isinstance(self.columns, LateColumns):
            return Frame(self.length, self.columns.with_more(added), self.weights, self.runs)
        return Frame(self.length, {**self.columns, **added}, self.weights, self.runs)

    def only(self, names: frozenset[str]) -> Frame:
        """Without the variables that nobody needs any more."""
        if self.columns.keys() <= names:
            return self
        if isinstance(self.columns, LateColumns):
            return Frame(self.length, self.columns.only(names), self.weights, self.runs)
        kept = {name: column for name, column in self.columns.items() if name in names}
        return Frame(self.length, kept, self.weights, self.runs)

    def pruned(self, live: frozenset[str]) -> Frame:
        """The same, but with the tags of the blocks that the rows are in."""
        return self.only(live | tags_of(self))

    @property
    def nbytes(self) -> int:
        """What it takes, or will when all of it is written out."""
        cells = self.length * BYTES_PER_CELL * len(self.columns)
        return int(cells + (0 if self.weights is None else self.weights.nbytes))

    @property
    def total(self) -> int:
        """How many rows the frame stands for."""
        if self.weights is None:
            return self.length
        fits = _float_sum(self.weights) <= WEIGHT_MAX
        return int(self.weights.sum()) if fits else sum(self.weights.tolist())

    def counts(self) -> Weights:
        return np.ones(self.length, np.int64) if self.weights is None else self.weights

    def unweighted(self) -> Frame:
        """The same bag with every row written out."""
        if self.weights is None:
            return self
        plain = Frame(self.length, self.columns)
        return plain.take(np.repeat(np.arange(self.length), self.weights))


def tags_of(frame: Frame) -> frozenset[str]:
    return frozenset(name for name in frame.columns if name.startswith(TAG))


ONE_ROW = Frame(1, {})
"""Where every pipeline starts: one row that binds nothing."""


def joined(frames: list[Frame]) -> Frame:
    """Frames of the same variables, one after the other."""
    if len(frames) == 1:
        return frames[0]
    names = frames[0].columns.keys() if frames else ()
    columns = {name: np.concatenate([frame.columns[name] for frame in frames]) for name in names}
    weights = None
    if any(frame.weights is not None for frame in frames):
        weights = np.concatenate([frame.counts() for frame in frames])
    return Frame(sum(frame.length for frame in frames), columns, weights)


def merged(frame: Frame, sizes: Mapping[str, int], *, weighs: bool) -> Frame:
    """The same bag with equal rows made one, their weights added; without `weighs` nobody asks how many there were.

    Worth it for at most one variable: then it is a mark or a count per row number; `sizes` says how many there are.
    """
    if not frame.columns:
        return Frame(1, {}, np.array([countable(frame.total)], np.int64)) if frame.length else frame
    if len(frame.columns) > 1 or frame.length < 2:
        return frame
    ((name, column),) = frame.columns.items()
    size = sizes[name]
    if not weighs:
        numbers = distinct(column, size)
        if bool((column < 0).any()):
            numbers = np.append(numbers, np.int32(NO_ROW))
        return Frame(len(numbers), {name: numbers})
    if size > 16 * frame.length or (column < 0).any():
        numbers, places = np.unique(column, return_inverse=True)
        return Frame(len(numbers), {name: numbers}, summed(places, frame.weights, len(numbers)))
    sums = summed(column, frame.weights, size)
    numbers = np.flatnonzero(sums).astype(np.int32)
    return Frame(len(numbers), {name: numbers}, sums[numbers])


def multiplied(weights: Weights | None, counts: Weights) -> Weights:
    """Rows that became so many each."""
    if weights is None or not len(weights):
        return counts
    if int(weights.max()) * int(counts.max()) > WEIGHT_MAX:
        countable(int((weights.astype(np.float64) * counts).max()))
    return weights * counts


def summed(places: npt.NDArray[np.integer], weights: Weights | None, size: int) -> Weights:
    """Per place, the weights of its rows, added up exactly; without weights each row counts once."""
    if weights is None:
        return np.bincount(places, minlength=size)
    if frame_sum_is_exact(weights):
        return np.bincount(places, weights=weights, minlength=size).astype(np.int64)
    countable(int(np.bincount(places, weights=weights, minlength=size).max(initial=0)))
    sums = np.zeros(size, np.int64)
    np.add.at(sums, places, weights)
    return sums


def summed_runs(weights: npt.NDArray[Any], starts: Positions) -> Weights:
    """The weights of runs of rows, added up exactly; `starts` says where each begins."""
    if not frame_sum_is_exact(weights):
        countable(int(np.add.reduceat(weights, starts, dtype=np.float64).max(initial=0)))
    sums: Weights = np.add.reduceat(weights, starts, dtype=np.int64)
    return sums


def countable(rows: int) -> int:
    """The number, which may be rounded, if so many rows can be counted. Half of what 64 bits hold is left for that."""
    if rows > WEIGHT_MAX:
        raise ResourceLimitExceeded("query_rows", WEIGHT_MAX, rows)
    return rows


def _float_sum(weights: Weights) -> float:
    return float(weights.sum(dtype=np.float64))


def frame_sum_is_exact(weights: npt.NDArray[Any]) -> bool:
    """Whether float64 can add these up without rounding."""
    return len(weights) == 0 or int(weights.max()) * len(weights) < 2**53


def distinct(rows: Rows, size: int) -> Rows:
    """Every row number that occurs, once, ascending, without NULL. `size` is greater than all of them."""
    if len(rows) < 2:
        return rows[rows >= 0]
    if size > MARKS_SHARE * len(rows):
        ordered = np.sort(rows)
        first = np.concatenate([[True], ordered[1:] != ordered[:-1]]) if len(ordered) else np.empty(0, np.bool_)
        return ordered[first & (ordered >= 0)]
    seen = np.zeros(size + 1, np.bool_)  # NULL, which is -1, marks the last
    seen[rows] = True
    return np.flatnonzero(seen[:size]).astype(np.int32)


def members(rows: Rows, chosen: Rows, size: int) -> Mask:
    """Which rows are among the chosen ones; NULL never is."""
    if size > 16 * len(rows):
        found: Mask = np.isin(rows, chosen)
        return found
    marks = np.zeros(size + 1, np.bool_)
    marks[chosen] = True
    marks[size] = False
    return marks[rows]


def distinct_rows(frame: Frame, names: tuple[str, ...]) -> tuple[Positions, Positions]:
    """For these variables: the position of one row per distinct combination, and each row's combination."""
    if not names:
        return np.zeros(min(1, frame.length), np.int64), np.zeros(frame.length, np.int64)
    key = frame.columns[names[0]].astype(np.int64)
    for name in names[1:]:
        column = frame.columns[name].astype(np.int64)
        span = int(column.max(initial=-1)) + 2
        if len(key) and int(key.max()) + 2 > 2**62 // span:
            _, key = np.unique(key, return_inverse=True)
        key = (key + 1) * span + (column + 1)
    _, first, inverse = np.unique(key, return_index=True, return_inverse=True)
    return first.astype(np.int64), inverse.astype(np.int64)
