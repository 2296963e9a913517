"""Row numbers by Lance's row ids. These are given out one after the other, so mostly a table of numbers is enough."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from omnigraph.query.frames import NO_ROW, Rows

RowIds = npt.NDArray[np.uint64]
GAPS_MAX = 4
"""A table is laid out when the ids span at most so many times more than there are."""


class RowNumbers:
    """The numbers of these rows, to be looked up."""

    def __init__(self, row_ids: RowIds, numbers: Rows) -> None:
        self._first = int(row_ids.min()) if len(row_ids) else 0
        span = int(row_ids.max()) - self._first + 1 if len(row_ids) else 0
        self._table: Rows | None = None
        self._sorted: tuple[RowIds, Rows] | None = None
        if span <= GAPS_MAX * len(row_ids):
            self._table = np.full(span + 1, NO_ROW, np.int32)  # the last stands for every id beyond
            self._table[row_ids - np.uint64(self._first)] = numbers
        else:
            order = np.argsort(row_ids)
            self._sorted = (row_ids[order], numbers[order])

    @property
    def nbytes(self) -> int:
        arrays = (self._table,) if self._sorted is None else self._sorted
        return int(sum(array.nbytes for array in arrays if array is not None))

    def of(self, row_ids: RowIds) -> Rows:
        """The number of each row, -1 where it is not known."""
        if self._table is not None:
            places = row_ids - np.uint64(self._first)  # an id before the first wraps around to beyond the last
            found: Rows = self._table[np.minimum(places, np.uint64(len(self._table) - 1))]
            return found
        assert self._sorted is not None
        known, numbers = self._sorted
        at = np.minimum(np.searchsorted(known, row_ids), len(known) - 1)
        return np.where(known[at] == row_ids, numbers[at], np.int32(NO_ROW))
