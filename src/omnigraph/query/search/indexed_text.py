"""Ranking through a text index: it proposes rows, its proposals are provably enough, and they are scored anew.

An index scores by the same formula, but counts rows that are gone and does not count those that came after it. How far
that moves a score is bounded by what it counts; every row within that distance of its last place is taken. Rows that
are not in it yet are read.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from omnigraph.model.errors import OmniGraphError
from omnigraph.query.search.bm25_score import (
    Matched,
    Statistics,
    Terms,
    having,
    inverse_frequency,
    matched_rows,
    scored,
    size_of,
)
from omnigraph.query.search.columns import Piece
from omnigraph.query.search.hits import Hits, RowIds
from omnigraph.query.search.text_parts import TextPart, make_text_part
from omnigraph.storage.indexes import TEXT_KINDS, TextIndex, give_up, text_index, tokens_of_words, words_of
from omnigraph.storage.tables import Table, TableIdentity, scan_fragments

ROUNDING = 1e-5
"""An index scores in single precision; scores that differ by less than this share are not told apart by it."""
PROPOSED_MAX = 16_384
"""So many rows may be too close to tell before the whole column is looked at instead."""
FRESH_ROWS_MAX = 100_000
"""So many rows may have come after the index before it is not asked any more."""
KNOWN_INDEXES_MAX = 256


@dataclass(slots=True)
class IndexedText:
    """The text index of one version of a table, and what was found out about it."""

    index: TextIndex
    fresh: TextPart | None
    """The rows that came after it."""
    _having: dict[str, int] = field(default_factory=dict)

    def rows(self, query: str) -> RowIds:
        """The rows that match."""
        return self.index.rows(query)

    def ranked(self, query: str, terms: Terms, population: RowIds | None, limit: int) -> Hits | None:
        """The best rows of the population, and maybe more, scored; None when the index cannot tell."""
        if not self.index.ranks:
            return None
        counted = self.index.counted
        newer = [] if self.fresh is None else [matched_rows(Piece(self.fresh, None), terms)]
        documents, tokens = (0, 0) if self.fresh is None else size_of(Piece(self.fresh, None))
        indexed, later = self._in_index(query), having(newer, terms)
        statistics = Statistics(
            documents=counted.live_documents + documents,
            tokens=counted.live_tokens + tokens,
            having=tuple(a + b for a, b in zip(indexed, later, strict=True)),
        )
        if statistics.documents == 0:
            return scored(newer, terms, statistics, population)
        row_ids = self._proposed(query, population, limit, self._slack(statistics, indexed))
        if row_ids is None:
            return None
        return scored([*newer, self._read(row_ids, terms)], terms, statistics, population)

    def _slack(self, statistics: Statistics, indexed: tuple[int, ...]) -> float:
        """What share of the index's last score a row must have, so that it may be among the best by ours.

        A score is a sum of inverse frequency times density. Ours and the index's differ by a factor in each of them;
        the least of these factors over the greatest is how far an order can be turned around.
        """
        counted = self.index.counted
        low, high = 1.0, 1.0
        if counted.tokens and statistics.tokens:
            mean = (statistics.tokens / statistics.documents) / (counted.tokens / counted.documents)
            low, high = min(1.0, mean), max(1.0, mean)
        factors = [1.0]
        for n, inside in zip(statistics.having, indexed, strict=True):
            if inside:
                ours = inverse_frequency(statistics.documents, n)
                most = min(counted.documents, inside + counted.stale)
                factors += [ours / inverse_frequency(counted.documents, count) for count in (inside, most)]
        return low * min(factors) / (high * max(factors)) * (1.0 - ROUNDING)

    def _proposed(self, query: str, population: RowIds | None, limit: int, slack: float) -> RowIds | None:
        proposed = limit + 16
        while proposed <= PROPOSED_MAX:
            row_ids, scores, all_of_them = self.index.ranked(query, proposed, population)
            if len(row_ids) > limit:
                last = float(np.partition(scores, len(scores) - limit)[len(scores) - limit]) * slack
                if all_of_them or float(scores.min()) < last:
                    return row_ids[scores >= last]
            elif all_of_them:
                return row_ids
            proposed *= 8
        return None

    def _read(self, row_ids: RowIds, terms: Terms) -> Matched:
        column = self.index.column
        taken = self.index.table.take(row_ids.tolist(), [column, "_rowid"])
        batches = taken.to_batches() or [pa.RecordBatch.from_pylist([], taken.schema)]
        return matched_rows(Piece(make_text_part(batches, column), None), terms)

    def _in_index(self, query: str) -> tuple[int, ...]:
        """How many rows of the index have each token of the query: those that a word of this token finds."""
        words = words_of(query)
        spelled: dict[str, str] = {}
        for word, token in zip(words, tokens_of_words(words), strict=True):
            if token is not None:
                spelled.setdefault(token, word)
        for token, word in spelled.items():
            if token not in self._having:
                self._having[token] = len(self.index.rows(word, indexed_only=True))
        return tuple(self._having[token] for token in spelled)


class IndexedTexts:
    """What is known of the text indexes of the process, by table version and column. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: OrderedDict[tuple[TableIdentity, str], IndexedText | None] = OrderedDict()

    def of(self, table: Table, column: str) -> IndexedText | None:
        """The index of a column, or None when it has none that can be used."""
        key = (table.identity, column)
        with self._lock:
            if key in self._known:
                return self._known[key]
        known = _looked_at(table, column)
        self._keep(key, known)
        return known

    def give_up(self, table: Table, column: str, error: OmniGraphError) -> None:
        """The index turned out to be damaged: it counts as absent."""
        give_up(table, column, TEXT_KINDS, error)
        self._keep((table.identity, column), None)

    def _keep(self, key: tuple[TableIdentity, str], known: IndexedText | None) -> None:
        with self._lock:
            self._known[key] = known
            if len(self._known) > KNOWN_INDEXES_MAX:
                self._known.popitem(last=False)


def _looked_at(table: Table, column: str) -> IndexedText | None:
    found = text_index(table, column)
    if found is None:
        return None
    fresh = None
    if found.index.fresh:
        batches, rows = [], 0
        for batch in scan_fragments(table, found.index.fresh, [column, "_rowid"]):
            batches.append(batch)
            rows += batch.num_rows
            if rows > FRESH_ROWS_MAX:
                return None
        fresh = make_text_part(batches, column)
    return IndexedText(found, fresh)
