"""Hits: rows and what they scored, and the parts that every ranking shares."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from omnigraph.model.late_dataclass import dataclass
from omnigraph.query.search.kth_smallest import kth_smallest

RowIds = npt.NDArray[np.uint64]
Places = npt.NDArray[np.int64]
"""Positions of rows within a part of a table."""
Mask = npt.NDArray[np.bool_]

NO_ROWS: RowIds = np.empty(0, np.uint64)
FEW_ROWS = 64
"""Sets of up to this many rows are compared by sorting the few, not the many."""


@dataclass(frozen=True, slots=True)
class Hits:
    """Rows with their scores, one entry per row, in no particular order."""

    row_ids: RowIds
    scores: npt.NDArray[np.float64]


NO_HITS = Hits(NO_ROWS, np.empty(0, np.float64))


def joined(parts: Sequence[Hits]) -> Hits:
    if not parts:
        return NO_HITS
    return Hits(np.concatenate([part.row_ids for part in parts]), np.concatenate([part.scores for part in parts]))


def best(hits: Hits, limit: int | None, *, smallest: bool) -> Hits:
    """The `limit` best and all that tie with the last of them, so that the caller can break ties as it likes."""
    if limit is None or len(hits.row_ids) <= limit:
        return hits
    if limit <= 0:
        return NO_HITS
    keys = hits.scores if smallest else -hits.scores
    kept = keys <= kth_smallest(keys, limit)
    return Hits(hits.row_ids[kept], hits.scores[kept])


def in_population(row_ids: RowIds, population: RowIds | None) -> Mask | None:
    """Which of the rows belong to the population; None: all of them do."""
    if population is None:
        return None
    if len(population) == 0:
        return np.zeros(len(row_ids), np.bool_)
    ordered = population if _is_sorted(population) else np.sort(population)
    places = np.searchsorted(ordered, row_ids)
    places[places == len(ordered)] = 0
    found: Mask = ordered[places] == row_ids
    return found


def _is_sorted(values: RowIds) -> bool:
    return bool(np.all(values[:-1] <= values[1:]))
