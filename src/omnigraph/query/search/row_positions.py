"""Row places: where the rows of a part are, by their ids."""

from __future__ import annotations

import numpy as np

from omnigraph.query.search.hits import Places, RowIds


class RowPlaces:
    """The ids of a part's rows, ready to be looked up. They mostly ascend by themselves."""

    def __init__(self, row_ids: RowIds) -> None:
        ascends = bool(np.all(row_ids[:-1] <= row_ids[1:]))
        self._order: Places | None = None if ascends else np.argsort(row_ids)
        self._ordered = row_ids if self._order is None else row_ids[self._order]

    def of(self, row_ids: RowIds) -> Places:
        """Where these rows are, ascending, each once; those that are elsewhere are left out."""
        if len(self._ordered) == 0:
            return np.empty(0, np.int64)
        places = np.searchsorted(self._ordered, row_ids)
        places[places == len(self._ordered)] = 0
        found = places[self._ordered[places] == row_ids]
        return np.unique(found if self._order is None else self._order[found])
