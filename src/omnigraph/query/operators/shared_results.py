"""Shared results: what sub-patterns of one run have found, for whoever asks the same again (`subpatterns`).

They are held as long as the query has room for them; a result that does not fit is worked out anew each time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np
import numpy.typing as npt

from omnigraph.model.late_dataclass import dataclass
from omnigraph.query.frames import Mask, Positions, Rows
from omnigraph.query.limits import Guard
from omnigraph.query.topology import Adjacency

Keys = npt.NDArray[np.int64]
Pairs = tuple[npt.NDArray[np.int64], Rows]
"""Positions of sources, and the rows that each leads to."""

BYTES_PER_ANSWER = 9
BYTES_PER_PAIR = 16
"""While a relation is put together; afterwards it takes a quarter."""


@dataclass(frozen=True, slots=True)
class Relation:
    """Where each of some rows leads to."""

    sources: Rows
    """Ascending, each once."""
    adjacency: Adjacency
    """By the places in `sources`."""

    def places(self, rows: Rows) -> Rows:
        """Where these rows, which are among the sources, are."""
        return np.searchsorted(self.sources, rows).astype(np.int32)


NOWHERE = Relation(np.empty(0, np.int32), Adjacency(np.zeros(1, np.int64), np.empty(0, np.int32)))


class SharedResults:
    """The results of one run, by the number of the sub-pattern."""

    def __init__(self, guard: Guard) -> None:
        self._guard = guard
        self._answers: dict[int, tuple[Keys, Mask]] = {}
        self._relations: dict[int, Relation | None] = {}

    def answers(self, number: int, by: tuple[Rows, ...], ask: Callable[[Positions], Mask]) -> Mask:
        """Yes or no for each row (given by one or two columns); `ask` is called for those that nobody asked about."""
        keys = _packed(by)
        known, said = self._answers.get(number, (np.empty(0, np.int64), np.empty(0, np.bool_)))
        places = np.minimum(np.searchsorted(known, keys), max(0, len(known) - 1))
        there = known[places] == keys if len(known) else np.zeros(len(keys), np.bool_)
        answer = np.zeros(len(keys), np.bool_)
        answer[there] = said[places[there]]
        missing = np.flatnonzero(~there)
        if len(missing):
            answer[missing] = ask(missing)
            self._keep(number, known, said, keys[missing], answer[missing])
        return answer

    def _keep(self, number: int, known: Keys, said: Mask, keys: Keys, answer: Mask) -> None:
        if self._guard.has_room(2 * BYTES_PER_ANSWER * (len(known) + len(keys))):
            self._guard.hold(BYTES_PER_ANSWER * len(keys))
            merged = np.concatenate([known, keys])
            order = np.argsort(merged)
            self._answers[number] = (merged[order], np.concatenate([said, answer])[order])

    def relation(self, number: int, sources: Rows, walk: Callable[[Rows], Iterable[Pairs]]) -> Relation | None:
        """Where these rows (ascending, each once) lead to; `walk` is called for those that nobody walked from.

        None when it does not fit; then nobody tries again.
        """
        known = self._relations.get(
            number, Relation(np.empty(0, np.int32), Adjacency(np.zeros(1, np.int64), sources[:0]))
        )
        if known is None:
            return None
        missing = np.setdiff1d(sources, known.sources, assume_unique=True)
        if len(missing):
            known = self._grown(known, missing, walk)
            self._relations[number] = known
        return known

    def _grown(self, known: Relation, missing: Rows, walk: Callable[[Rows], Iterable[Pairs]]) -> Relation | None:
        origins, targets = [np.repeat(known.sources, np.diff(known.adjacency.offsets))], [known.adjacency.targets]
        size = len(known.adjacency.targets)
        for positions, found in walk(missing):
            size += len(found)
            if not self._guard.has_room(BYTES_PER_PAIR * size + 8 * (len(known.sources) + len(missing))):
                self._guard.release(known.adjacency.nbytes if len(known.sources) else 0)
                return None
            origins.append(missing[positions])
            targets.append(found)
        sources = np.union1d(known.sources, missing)
        places, ends = np.searchsorted(sources, np.concatenate(origins)), np.concatenate(targets)
        if np.any(places[1:] < places[:-1]):
            ends = ends[np.argsort(places, kind="stable")]
        offsets = np.zeros(len(sources) + 1, np.int64)
        np.cumsum(np.bincount(places, minlength=len(sources)), out=offsets[1:])
        made = Adjacency(offsets, ends)
        self._guard.release(known.adjacency.nbytes if len(known.sources) else 0)
        self._guard.hold(made.nbytes)
        return Relation(sources, made)


def _packed(by: tuple[Rows, ...]) -> Keys:
    """One number per row of up to two columns; NULL is a value of its own."""
    if not by:
        return np.zeros(1, np.int64)
    keys: Keys = by[0].astype(np.int64) + 1
    return keys if len(by) == 1 else keys << 32 | (by[1].astype(np.int64) + 1)
