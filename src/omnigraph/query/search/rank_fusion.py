"""Rank fusion: two rankings of the same rows become one, by the reciprocals of their places.

An arm is ordered by score, and by id where scores are equal. Only the best rows of each arm can be among the best of
the fusion, so with a limit nothing else is looked at; their places in an arm are counted, not sorted out.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.model.late_dataclass import dataclass
from omnigraph.query.entities import Entities
from omnigraph.query.frames import Rows
from omnigraph.query.search.kth_smallest import kth_smallest

Scores = npt.NDArray[np.float64]
ABSENT = -1


@dataclass(frozen=True, slots=True)
class Ranked:
    """Rows with their scores, by row number."""

    rows: Rows
    scores: Scores

    def of(self, rows: Rows) -> pa.Array:
        """The scores of these rows, NULL for those that are not ranked."""
        if not len(self.rows):
            return pa.nulls(len(rows), pa.float64())
        places = np.minimum(np.searchsorted(self.rows, rows), len(self.rows) - 1)
        return pa.array(self.scores[places], mask=self.rows[places] != rows)


@dataclass(frozen=True, slots=True)
class Arm:
    """One ranking, best first: large scores of texts, small distances of vectors."""

    ranked: Ranked
    entities: Entities
    descending: bool
    cut: int | None
    """Only so many of the best belong to the arm."""

    def best(self, count: int | None) -> Rows:
        """The rows from best to worst, at most so many."""
        count = count if self.cut is None else self.cut if count is None else min(count, self.cut)
        keys = self._keys()
        rows = self.ranked.rows
        if count is not None and count < len(keys):
            if not count:
                return rows[:0]
            near = keys <= kth_smallest(keys, count)
            keys, rows = keys[near], rows[near]
        table = pa.table({"key": keys, "id": self.entities.ids(rows)})
        order = pc.sort_indices(table, sort_keys=[("key", "ascending"), ("id", "ascending")])
        best: npt.NDArray[np.uint64] = order.to_numpy()[:count]
        return rows[best]

    def places(self, rows: Rows) -> npt.NDArray[np.int64]:
        """The place of each of these rows in the arm, from 0; ABSENT when it is not in it."""
        places = np.full(len(rows), ABSENT, np.int64)
        if not len(self.ranked.rows):
            return places
        at = np.minimum(np.searchsorted(self.ranked.rows, rows), len(self.ranked.rows) - 1)
        there = self.ranked.rows[at] == rows
        keys = self._keys()
        wanted = keys[at[there]]
        counted = np.empty(len(wanted), np.int64)
        for key in np.unique(wanted).tolist():
            same = wanted == key
            counted[same] = np.count_nonzero(keys < key) + self._before(rows[there][same], keys == key)
        places[there] = counted
        if self.cut is not None:
            places[places >= self.cut] = ABSENT
        return places

    def _before(self, rows: Rows, equal: npt.NDArray[np.bool_]) -> npt.NDArray[np.int64]:
        """For each of these rows of one score, how many rows of that score have a smaller id."""
        if np.count_nonzero(equal) < 2:
            return np.zeros(len(rows), np.int64)
        ids = self.entities.ids(self.ranked.rows[equal])
        own = self.entities.ids(rows)
        return np.array([pc.sum(pc.less(ids, each)).as_py() for each in own], np.int64)

    def _keys(self) -> Scores:
        return -self.ranked.scores if self.descending else self.ranked.scores


def fused(arms: Sequence[Arm], k: int, limit: int | None) -> Ranked:
    """Σ 1/(k + place + 1) over the arms that have the row. With a limit at least the best so many rows."""
    best = [arm.best(limit) for arm in arms]
    rows = np.unique(np.concatenate(best)).astype(np.int32)
    scores = np.zeros(len(rows), np.float64)
    for arm, own in zip(arms, best, strict=True):
        places = np.full(len(rows), ABSENT, np.int64)
        places[np.searchsorted(rows, own)] = np.arange(len(own))
        others = places == ABSENT
        places[others] = arm.places(rows[others])
        scores += np.where(places == ABSENT, 0.0, 1.0 / (k + 1.0 + places))
    return Ranked(rows, scores)
