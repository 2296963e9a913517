"""BM25: how well a row's text answers a query, by the formula and the statistics of Lance's text indexes.

score = Σ over the query's tokens of  ln(1 + (N - n + 0.5) / (n + 0.5)) · 2.2 · f / (f + 1.2 · (0.25 + 0.75 · l / L))
with N rows that have a token, n of them with this one, f its occurrences in the row, l the row's tokens, L their mean.
Statistics are always those of the whole column, whatever part of it is ranked. A token that the query repeats counts as
often. The arithmetic is the same for every way to find the rows, so equal rows get equal scores to the last bit.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from omnigraph.model.late_dataclass import dataclass
from omnigraph.query.search.columns import Piece
from omnigraph.query.search.hits import Hits, RowIds, in_population, joined
from omnigraph.query.search.text_parts import TextPart
from omnigraph.storage.indexes import analysed

K1 = 1.2
B = 0.75

Counted = npt.NDArray[np.integer]
Scores = npt.NDArray[np.float64]
Terms = dict[str, int]
"""The tokens of a query and how often each occurs, in the order of their first occurrence."""


@dataclass(frozen=True, slots=True)
class Statistics:
    """What the formula needs to know of a whole column."""

    documents: int
    tokens: int
    having: tuple[int, ...]
    """Rows that have the token, per term."""


@dataclass(frozen=True, slots=True)
class Matched:
    """The rows of one part that have any of the terms."""

    row_ids: RowIds
    lengths: npt.NDArray[np.int64]
    counts: npt.NDArray[np.int64]
    """Occurrences: one line per term, one column per row."""


@dataclass(frozen=True, slots=True)
class Formula:
    """The formula with everything filled in that one query and one column decide."""

    weights: tuple[float, ...]
    """What a term is worth, as often as the query has it; per term."""
    mean: float
    """Tokens of a row."""

    @classmethod
    def of(cls, terms: Terms, statistics: Statistics) -> Formula:
        counted = zip(terms.values(), statistics.having, strict=True)
        weights = tuple(each * inverse_frequency(statistics.documents, n) * (K1 + 1.0) for each, n in counted)
        return cls(weights, statistics.tokens / statistics.documents)

    def gain(self, term: int, occurrences: Counted, lengths: Counted) -> Scores:
        """What a term adds to the score of rows that have it so often and are so long."""
        damping = K1 * ((1.0 - B) + (B / self.mean) * lengths)
        found = occurrences.astype(np.float64)
        gained: Scores = self.weights[term] * (found / (found + damping))
        return gained


def terms_of(query: str | None) -> Terms:
    """No query, or one with nothing but stop words, has no terms and matches nothing."""
    return dict(Counter(analysed(query))) if query else {}


def matched_rows(piece: Piece[TextPart], terms: Terms) -> Matched:
    part = piece.part
    lists = [part.rows_of(part.by_token.get(token, []), piece.live) for token in terms]
    seen = np.zeros(len(part.row_ids), np.bool_)
    for rows, _ in lists:
        seen[rows] = True
    places = np.flatnonzero(seen)
    counts = np.zeros((len(lists), len(places)), np.int64)
    if len(places):
        column = np.empty(len(part.row_ids), np.int64)
        column[places] = np.arange(len(places))
        for line, (rows, occurrences) in enumerate(lists):
            counts[line, column[rows]] = occurrences
    return Matched(part.row_ids[places], part.lengths[places].astype(np.int64), counts)


def size_of(piece: Piece[TextPart]) -> tuple[int, int]:
    """Rows with a token, and tokens."""
    lengths = piece.part.lengths if piece.live is None else piece.part.lengths[piece.live]
    return int(np.count_nonzero(lengths)), int(lengths.sum(dtype=np.int64))


def having(matched: Sequence[Matched], terms: Terms) -> tuple[int, ...]:
    return tuple(sum(int(np.count_nonzero(each.counts[line])) for each in matched) for line in range(len(terms)))


def inverse_frequency(documents: int, count: int) -> float:
    """How much a token tells that `count` of so many documents have."""
    return math.log(1.0 + (documents - count + 0.5) / (count + 0.5))


def scored(matched: Sequence[Matched], terms: Terms, statistics: Statistics, population: RowIds | None) -> Hits:
    """The rows of the population that match, with their scores."""
    return joined([_scored(each, terms, statistics, population) for each in matched if len(each.row_ids)])


def _scored(matched: Matched, terms: Terms, statistics: Statistics, population: RowIds | None) -> Hits:
    row_ids, lengths, counts = matched.row_ids, matched.lengths, matched.counts
    chosen = in_population(row_ids, population)
    if chosen is not None:
        row_ids, lengths, counts = row_ids[chosen], lengths[chosen], counts[:, chosen]
    formula = Formula.of(terms, statistics)
    scores = np.zeros(len(row_ids), np.float64)
    for line in range(len(terms)):
        scores += formula.gain(line, counts[line], lengths)
    return Hits(row_ids, scores)
