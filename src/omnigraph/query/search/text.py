"""Text search: which rows have any word of a query, and how well they answer it.

Rows come from the resident column, or from the index when that is asked for the first time or is too large to hold. An
index proposes rows; what they score is computed here, so the answers are the same without it.
"""

from __future__ import annotations

import numpy as np

from omnigraph.model.errors import OmniGraphError
from omnigraph.query.search.bm25_score import (
    Matched,
    Statistics,
    Terms,
    having,
    matched_rows,
    scored,
    size_of,
    terms_of,
)
from omnigraph.query.search.bm25_top_k import best_texts
from omnigraph.query.search.columns import SearchColumns
from omnigraph.query.search.hits import NO_HITS, NO_ROWS, Hits, RowIds, best
from omnigraph.query.search.indexed_text import IndexedText, IndexedTexts
from omnigraph.query.search.text_parts import TextPart, make_text_part
from omnigraph.storage.tables import Table

RESIDENT_ROWS_MAX = 4_000_000
"""A column with an index becomes resident only up to so many rows; reading a larger one costs more than it saves."""
RESIDENT_BYTES_MAX = 256 * 1024 * 1024
"""And up to so many bytes of text: about as much as is split into words in a few seconds."""
SAMPLE_ROWS = 1024
WIDTHS_MAX = 1024

text_columns: SearchColumns[TextPart] = SearchColumns(make_text_part)
_indexes = IndexedTexts()
_widths: dict[tuple[str, str], float] = {}


def text_matches(table: Table, column: str, query: str | None, *, use_index: bool = True) -> RowIds:
    """The rows that have any token of the query. Each once, in no particular order."""
    terms = terms_of(query)
    if not terms or query is None:
        return NO_ROWS
    index = _index_for(table, column) if use_index else None
    if index is not None:
        try:
            return index.rows(query)
        except OmniGraphError as error:
            _indexes.give_up(table, column, error)
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
    if index is not None and limit is not None:
        try:
            hits = index.ranked(query, terms, population, limit)
        except OmniGraphError as error:
            hits = None
            _indexes.give_up(table, column, error)
        if hits is not None:
            return best(hits, limit, smallest=False)
    return _by_column(table, column, terms, population, limit)


def _by_column(table: Table, column: str, terms: Terms, population: RowIds | None, limit: int | None) -> Hits:
    pieces = text_columns.pieces(table, column)
    if isinstance(pieces, tuple):
        return best_texts(pieces, terms, population, limit)
    matched: list[Matched] = []
    documents = tokens = 0
    for piece in pieces:
        matched.append(matched_rows(piece, terms))
        more_documents, more_tokens = size_of(piece)
        documents, tokens = documents + more_documents, tokens + more_tokens
    hits = scored(matched, terms, Statistics(documents, tokens, having(matched, terms)), population)
    return best(hits, limit, smallest=False)


def _index_for(table: Table, column: str) -> IndexedText | None:
    """The index, when asking it is better than holding the column."""
    if text_columns.is_held(table, column):
        return None
    again = text_columns.asked_before(table, column)
    if again and _may_be_resident(table, column):
        return None
    return _indexes.of(table, column)


def _may_be_resident(table: Table, column: str) -> bool:
    return (
        table.pin.row_count <= RESIDENT_ROWS_MAX and table.pin.row_count * _width(table, column) <= RESIDENT_BYTES_MAX
    )


def _width(table: Table, column: str) -> float:
    """Bytes of a row's text, from the first rows; looked at once per lineage."""
    key = (table.uri, column)
    if key not in _widths:
        sample = next(iter(table.scan([column], batch_rows=SAMPLE_ROWS, limit=SAMPLE_ROWS)), None)
        if len(_widths) >= WIDTHS_MAX:
            _widths.clear()
        _widths[key] = 0.0 if sample is None else sample.nbytes / max(1, sample.num_rows)
    return _widths[key]
