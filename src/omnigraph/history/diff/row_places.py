"""Row places: where rows lie whose row ids are known, so that they can be read without a search.

Taking a row by its stable row id makes Lance build a map of the whole table first. Its address needs none, and whoever
found the row has seen it.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Numbers = npt.NDArray[np.uint64]


class RowPlaces:
    """Addresses by row id, of the rows of one version of a table. Some 16 bytes for each row that was found."""

    def __init__(self) -> None:
        self._ids: Numbers = np.empty(0, np.uint64)
        self._addresses: Numbers = np.empty(0, np.uint64)
        self._new: list[tuple[Numbers, Numbers]] = []

    def add(self, row_ids: Numbers, addresses: Numbers) -> None:
        self._new.append((row_ids, addresses))

    def find(self, row_ids: Numbers) -> tuple[Numbers, npt.NDArray[np.bool_]]:
        """The address of each row, and whether it is known."""
        self._take_in()
        if not len(self._ids):
            return np.zeros(len(row_ids), np.uint64), np.zeros(len(row_ids), np.bool_)
        place = np.minimum(np.searchsorted(self._ids, row_ids), len(self._ids) - 1)
        known: npt.NDArray[np.bool_] = self._ids[place] == row_ids
        return self._addresses[place], known

    def _take_in(self) -> None:
        if self._new:
            ids = np.concatenate([self._ids, *(ids for ids, _ in self._new)])
            addresses = np.concatenate([self._addresses, *(addresses for _, addresses in self._new)])
            self._ids, first = np.unique(ids, return_index=True)
            self._addresses = addresses[first]
            self._new = []
