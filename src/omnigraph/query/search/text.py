"""Text search: which rows have any word of a query, and how well they answer it.

Rows come from the resident column, or from the index when that is asked for the first time or is too large to hold. An
index proposes rows; what they score is computed here, so the answers are the same without it.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from omnigraph.model.errors import OmniGraphError
from omnigraph.query.search.columns import Piece, SearchColumns
from omnigraph.query.search.hits import NO_HITS, NO_ROWS, Hits, RowIds, best
from omnigraph.query.search.ranking import (
    Matched,
    Statistics,
    Terms,
    having,
    matched_rows,
    scored,
    size_of,
    terms_of,
)
from omnigraph.query.search.text_parts import TextPart, make_text_part
from omnigraph.storage import Table
from omnigraph.storage.analyser import tokens_of_words, words_of
from omnigraph.storage.search import (
    SearchIndex,
    TextStatistics,
    index_statistics,
    text_index,
    text_ranked,
    text_rows,
)

RESIDENT_ROWS_MAX = 500_000
"""A column with an index becomes resident only up to so many rows; reading a larger one costs more than it saves."""
ROUNDING = 1e-5
"""An index scores in single precision; rows whose scores differ by less than this share are told apart here."""
PROPOSED_MAX = 16_384
"""So many rows may tie for the last place before the whole column is looked at instead."""
KNOWN_INDEXES_MAX = 256

text_columns: SearchColumns[TextPart] = SearchColumns(make_text_part)


def text_matches(table: Table, column: str, query: str | None, *, use_index: bool = True) -> RowIds:
    """The rows that have any token of the query. Each once, in no particular order."""
    terms = terms_of(query)
    if not terms or query is None:
        return NO_ROWS
    index = _index_for(table, column) if use_index else None
    if index is not None:
        try:
            return text_rows(table, column, query)
        except OmniGraphError:
            _indexes.forget(table, column)
    found = [matched_rows(piece, terms).row_ids for piece in text_columns.pieces(table, column)]
    return np.concatenate([NO_ROWS, *found])


def bm25(
    table: Table,
    column: str,
    query: str | None,
    population: RowIds | None,
    *,
    limit: int | None = None,
    use_index: bool = True,
) -> Hits:
    """The matching rows of the population with their scores; with `limit` the best, and all that tie with the last."""
    terms = terms_of(query)
    if not terms or query is None or limit == 0 or (population is not None and len(population) == 0):
        return NO_HITS
    index = _index_for(table, column) if use_index and limit is not None else None
    if index is not None and index.statistics is not None and limit is not None:
        try:
            hits = _by_index(table, column, query, terms, population, limit, index)
        except OmniGraphError:
            _indexes.forget(table, column)
            hits = None
        if hits is not None:
            return best(hits, limit, smallest=False)
    return best(_by_column(table, column, terms, population), limit, smallest=False)


def _by_column(table: Table, column: str, terms: Terms, population: RowIds | None) -> Hits:
    matched: list[Matched] = []
    documents = tokens = 0
    for piece in text_columns.pieces(table, column):
        matched.append(matched_rows(piece, terms))
        more_documents, more_tokens = size_of(piece)
        documents, tokens = documents + more_documents, tokens + more_tokens
    return scored(matched, terms, Statistics(documents, tokens, having(matched, terms)), population)


# --- through an index -------------------------------------------------------------------------------------


@dataclass(slots=True)
class _KnownIndex:
    """An index of one version of a table, and what was found out about it."""

    index: SearchIndex
    statistics: TextStatistics | None
    having: dict[str, int] = field(default_factory=dict)


class _KnownIndexes:
    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: OrderedDict[tuple[str, int, str], _KnownIndex | None] = OrderedDict()

    def of(self, table: Table, column: str) -> _KnownIndex | None:
        key = (table.uri, table.version, column)
        with self._lock:
            if key in self._known:
                return self._known[key]
        found = text_index(table, column)
        known = None if found is None else _KnownIndex(found, index_statistics(table, found))
        self._keep(key, known)
        return known

    def forget(self, table: Table, column: str) -> None:
        """The index turned out to be broken: it counts as absent."""
        self._keep((table.uri, table.version, column), None)

    def _keep(self, key: tuple[str, int, str], known: _KnownIndex | None) -> None:
        with self._lock:
            self._known[key] = known
            if len(self._known) > KNOWN_INDEXES_MAX:
                self._known.popitem(last=False)


_indexes = _KnownIndexes()


def _index_for(table: Table, column: str) -> _KnownIndex | None:
    """The index, when asking it is better than holding the column."""
    if text_columns.is_held(table, column):
        return None
    again = text_columns.asked_before(table, column)
    if again and table.pin.row_count <= RESIDENT_ROWS_MAX:
        return None
    return _indexes.of(table, column)


def _by_index(
    table: Table,
    column: str,
    query: str,
    terms: Terms,
    population: RowIds | None,
    limit: int,
    known: _KnownIndex,
) -> Hits | None:
    """The rows that the index puts first, scored anew; None when too many are too close to tell.

    The index counts exactly the rows of this version, so its scores are ours up to rounding: whatever may be among the
    best by our arithmetic is within that distance of its own last place.
    """
    assert known.statistics is not None
    proposed = limit + 16
    while proposed <= PROPOSED_MAX:
        row_ids, scores = text_ranked(table, column, query, proposed, population)
        if len(row_ids) <= limit:
            break
        last = np.partition(scores, len(scores) - limit)[len(scores) - limit] * (1.0 - ROUNDING)
        if len(row_ids) < proposed or float(scores.min()) < last:
            row_ids = row_ids[scores >= last]
            break
        proposed *= 8
    else:
        return None
    statistics = Statistics(known.statistics.documents, known.statistics.tokens, _having(table, column, query, known))
    return scored([_read(table, column, row_ids, terms)], terms, statistics, None)


def _read(table: Table, column: str, row_ids: RowIds, terms: Terms) -> Matched:
    taken = table.take(row_ids.tolist(), [column, "_rowid"])
    part = make_text_part(taken.to_batches() or [pa.RecordBatch.from_pylist([], taken.schema)], column)
    return matched_rows(Piece(part, None), terms)


def _having(table: Table, column: str, query: str, known: _KnownIndex) -> tuple[int, ...]:
    """How many rows have each token of the query: the rows that a word of this token finds."""
    words = words_of(query)
    spelled: dict[str, str] = {}
    for word, token in zip(words, tokens_of_words(words), strict=True):
        if token is not None:
            spelled.setdefault(token, word)
    for token, word in spelled.items():
        if token not in known.having:
            known.having[token] = len(text_rows(table, column, word))
    return tuple(known.having[token] for token in spelled)
