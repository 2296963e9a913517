"""The best rows of a text query over resident parts, found without scoring the others.

The rows of every token lie class by class (`postings`), so the most that a row can score which was not taken yet is the
sum of what the next class of each token is worth. Classes are taken, dearest first, until that sum is below the last of
the best scores so far. What is taken is scored in full, by the formula that every other way uses; so the answer is the
same to the last bit as if all rows had been scored.
"""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from omnigraph.query.frames import distinct
from omnigraph.query.search.bm25_score import Formula, Scores, Statistics, Terms, size_of
from omnigraph.query.search.columns import Piece
from omnigraph.query.search.hits import Hits, RowIds, best, in_population, joined
from omnigraph.query.search.kth_smallest import kth_smallest
from omnigraph.query.search.postings import Numbers, Postings
from omnigraph.query.search.text_parts import TextPart

FIRST_ROWS = 1024
"""So many rows are scored before the first look at what can still be better."""
GROWTH = 4
"""Each further round may take so many times more rows than the one before."""
LEVEL_STEP = 1.25
"""Classes are taken in levels, each so many times larger than all before it: a query never walks through thousands."""
ALL_SHARE = 8
"""When more than one in so many rows would be looked up, every row is scored instead: that is one pass."""
NARROW_SHARE = 16
"""A population of less than one in so many rows is looked up row by row."""
ROUNDING = 1e-9
"""Sums of gains are compared with a margin for the order in which they were added."""


@dataclass(slots=True)
class _Facts:
    """What was counted in a piece: rows with a token, tokens, and the rows that have a certain token."""

    documents: int
    tokens: int
    having: dict[str, int] = field(default_factory=dict)


_facts: weakref.WeakKeyDictionary[Piece[TextPart], _Facts] = weakref.WeakKeyDictionary()


def statistics_of(pieces: Sequence[Piece[TextPart]], terms: Terms) -> Statistics:
    """Of the whole column."""
    counted = [_facts_of(piece, terms) for piece in pieces]
    return Statistics(
        documents=sum(each.documents for each in counted),
        tokens=sum(each.tokens for each in counted),
        having=tuple(sum(each.having[token] for each in counted) for token in terms),
    )


def _facts_of(piece: Piece[TextPart], terms: Terms) -> _Facts:
    facts = _facts.get(piece)
    if facts is None:
        facts = _facts[piece] = _Facts(*size_of(piece))
    for token in terms:
        if token not in facts.having:
            rows = piece.part.postings(token).rows
            facts.having[token] = len(rows) if piece.live is None else int(np.count_nonzero(piece.live[rows]))
    return facts


def best_texts(pieces: Sequence[Piece[TextPart]], terms: Terms, population: RowIds | None, limit: int | None) -> Hits:
    """The rows of the population that match, scored; with `limit` the best, and all that tie with the last."""
    statistics = statistics_of(pieces, terms)
    if not statistics.documents:
        return joined([])
    formula, found = Formula.of(terms, statistics), joined([])
    for piece in sorted(pieces, key=lambda each: -len(each.part.row_ids)):
        search = _Search(piece, tuple(piece.part.postings(token) for token in terms), formula, population)
        more = search.every() if limit is None else search.best(found, limit)
        found = best(joined([found, more]), limit, smallest=False)
    return found


@dataclass(slots=True)
class _Levels:
    """The classes of one token from dear to cheap, in levels; `worth` is what the first row of each gains at most."""

    postings: Postings
    order: npt.NDArray[np.int64]
    ends: npt.NDArray[np.int64]
    worth: list[float]
    sizes: list[int]
    taken: int = 0

    @classmethod
    def of(cls, postings: Postings, gains: Scores) -> _Levels:
        order = np.argsort(-gains, kind="stable")
        sizes = np.diff(postings.starts)[order]
        totals = np.cumsum(sizes)
        level = np.floor(np.log(np.maximum(totals, 1)) / np.log(LEVEL_STEP)).astype(np.int64)
        ends = np.flatnonzero(np.append(level[1:] != level[:-1], True)) + 1 if len(level) else np.empty(0, np.int64)
        begins = np.concatenate([[0], ends[:-1]]).astype(np.int64) if len(ends) else ends
        level_sizes = np.diff(np.concatenate([[0], totals[ends - 1]])) if len(ends) else ends
        return cls(postings, order, ends, gains[order[begins]].tolist(), level_sizes.tolist())

    @property
    def next_worth(self) -> float:
        """The most that the token adds to a row which was not taken because of it."""
        return self.worth[self.taken] if self.taken < len(self.worth) else 0.0

    @property
    def next_price(self) -> float:
        """Rows per unit by which taking the next level lowers what can still come."""
        if self.taken >= len(self.worth):
            return np.inf
        after = self.worth[self.taken + 1] if self.taken + 1 < len(self.worth) else 0.0
        return self.sizes[self.taken] / max(self.worth[self.taken] - after, 1e-300)

    def take(self) -> list[Numbers]:
        """The rows of the next level."""
        begin = int(self.ends[self.taken - 1]) if self.taken else 0
        chosen = self.order[begin : int(self.ends[self.taken])].tolist()
        self.taken += 1
        starts = self.postings.starts
        return [self.postings.by_class[starts[each] : starts[each + 1]] for each in chosen]


@dataclass(slots=True)
class _Search:
    """One query in one piece."""

    piece: Piece[TextPart]
    lists: tuple[Postings, ...]
    formula: Formula
    population: RowIds | None

    def every(self) -> Hits:
        """All rows that match: those of a small population one by one, else in one pass over the lists."""
        if self._is_narrow():
            return self._narrow()
        scores = np.zeros(len(self.piece.part.row_ids), np.float64)
        for term, postings in enumerate(self.lists):
            scores[postings.by_class] += np.repeat(self._gains(term), np.diff(postings.starts))
        rows = np.flatnonzero(scores > 0.0)
        return self._among(rows, scores[rows])

    def best(self, found: Hits, limit: int) -> Hits:
        """At least those rows of this piece that are among the best `limit` of it and of `found`."""
        if self._is_narrow():
            return self._narrow()
        levels = [_Levels.of(postings, self._gains(term)) for term, postings in enumerate(self.lists)]
        floor, most = _last(found, limit), max(FIRST_ROWS, 4 * limit)
        taken: list[Numbers] = []
        size, hits = 0, joined([])
        while _can_come(levels, floor):
            while size < most and _can_come(levels, floor):
                cheapest = min(levels, key=lambda each: each.next_price)
                size += cheapest.sizes[cheapest.taken]
                taken += cheapest.take()
            if size * ALL_SHARE > len(self.piece.part.row_ids):
                return self.every()
            rows = distinct(np.concatenate(taken), len(self.piece.part.row_ids))
            scores = self._scores(rows)
            able = scores >= floor
            hits = self._among(rows[able], scores[able])
            floor, most = max(floor, _last(joined([found, hits]), limit)), most * GROWTH
        return hits

    def _is_narrow(self) -> bool:
        return self.population is not None and len(self.population) * NARROW_SHARE <= len(self.piece.part.row_ids)

    def _narrow(self) -> Hits:
        assert self.population is not None
        rows = self.piece.part.places.of(self.population).astype(np.int32)
        if self.piece.live is not None:
            rows = rows[self.piece.live[rows]]
        scores = self._scores(rows)
        matches = scores > 0.0
        return Hits(self.piece.part.row_ids[rows[matches]], scores[matches])

    def _gains(self, term: int) -> Scores:
        postings = self.lists[term]
        return self.formula.gain(term, postings.frequencies, postings.lengths)

    def _scores(self, rows: Numbers) -> Scores:
        """The scores of some rows, in full."""
        lengths = self.piece.part.lengths[rows]
        scores = np.zeros(len(rows), np.float64)
        for term, postings in enumerate(self.lists):
            scores += self.formula.gain(term, postings.counts_in(rows), lengths)
        return scores

    def _among(self, rows: npt.NDArray[np.integer], scores: Scores) -> Hits:
        """Without what is gone or not asked for."""
        if self.piece.live is not None:
            kept = self.piece.live[rows]
            rows, scores = rows[kept], scores[kept]
        row_ids = self.piece.part.row_ids[rows]
        wanted = in_population(row_ids, self.population)
        return Hits(row_ids, scores) if wanted is None else Hits(row_ids[wanted], scores[wanted])


def _can_come(levels: Sequence[_Levels], floor: float) -> bool:
    """Whether a row that was not taken yet can score as much as the floor."""
    most = sum(each.next_worth for each in levels)
    return most > 0.0 and most * (1.0 + ROUNDING) >= floor


def _last(hits: Hits, limit: int) -> float:
    """The score of the last of the best so many; what is below it is not among them."""
    if len(hits.scores) < limit:
        return -np.inf
    return -kth_smallest(-hits.scores, limit)
