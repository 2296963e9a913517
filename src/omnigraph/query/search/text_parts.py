"""Text parts: some rows of a text column as an inverted list of words, with the tokens that the words stand for.

The lists are kept per word as it is written, so that one part serves ranking (by tokens) and fuzzy matching (by words).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from omnigraph.query.search.hits import Mask, Places, RowIds
from omnigraph.query.search.postings import Postings, postings_of
from omnigraph.query.search.row_positions import RowPlaces
from omnigraph.query.search.words import WordStream, split_words
from omnigraph.storage.indexes import folded_words, tokens_of_words

Counts = npt.NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class TextPart:
    """Rows, their lengths in tokens, and for every word the rows that have it."""

    row_ids: RowIds
    lengths: Counts
    """Tokens per row; stop words do not count."""
    words: tuple[str, ...]
    tokens: tuple[str | None, ...]
    """The token of each word; None for a stop word."""
    _starts: Places = field(repr=False)
    _rows: Counts = field(repr=False)
    _counts: Counts = field(repr=False)
    _postings: dict[str, Postings] = field(default_factory=dict, repr=False)
    """Of the tokens that were asked for."""

    @property
    def nbytes(self) -> int:
        lists = self._starts.nbytes + self._rows.nbytes + self._counts.nbytes
        asked = sum(each.nbytes for each in list(self._postings.values()))
        return int(self.row_ids.nbytes + self.lengths.nbytes + lists + asked) + 160 * len(self.words)

    def postings(self, token: str) -> Postings:
        """The rows that have a token; made when it is asked for the first time."""
        known = self._postings.get(token)
        if known is None:
            rows, counts = self.rows_of(self.by_token.get(token, []), None)
            made = postings_of(rows.astype(np.int32), counts.astype(np.int32), self.lengths)
            known = self._postings.setdefault(token, made)
        return known

    @cached_property
    def by_token(self) -> dict[str, list[int]]:
        """The words of each token."""
        grouped: dict[str, list[int]] = {}
        for number, token in enumerate(self.tokens):
            if token is not None:
                grouped.setdefault(token, []).append(number)
        return grouped

    @cached_property
    def folded(self) -> tuple[str, ...]:
        """Each word in lower case and ASCII."""
        return tuple(word or "" for word in folded_words(self.words))

    @cached_property
    def places(self) -> RowPlaces:
        return RowPlaces(self.row_ids)

    def rows_of(self, words: Sequence[int], live: Mask | None) -> tuple[Places, npt.NDArray[np.int64]]:
        """The rows that have any of these words, and how often together."""
        spans = [slice(int(self._starts[word]), int(self._starts[word + 1])) for word in words]
        rows = np.concatenate([np.empty(0, np.int32), *(self._rows[span] for span in spans)]).astype(np.int64)
        counts = np.concatenate([np.empty(0, np.int32), *(self._counts[span] for span in spans)]).astype(np.int64)
        if len(spans) > 1:
            summed = np.bincount(rows, weights=counts, minlength=0)
            rows = np.flatnonzero(summed)
            counts = summed[rows].astype(np.int64)
        if live is not None:
            kept = live[rows]
            rows, counts = rows[kept], counts[kept]
        return rows, counts


def make_text_part(batches: Sequence[pa.RecordBatch], column: str) -> TextPart:
    """The part of these batches; NULL has no words."""
    ids = [batch["_rowid"].to_numpy() for batch in batches]
    row_ids = np.concatenate([np.empty(0, np.uint64), *ids])
    texts = pa.chunked_array([batch[column] for batch in batches], pa.string()).combine_chunks()
    if isinstance(texts, pa.ChunkedArray):
        texts = pa.concat_arrays(texts.chunks) if texts.num_chunks else pa.array([], pa.string())
    return _part_of(row_ids, split_words(texts))


def _part_of(row_ids: RowIds, stream: WordStream) -> TextPart:
    words = tuple(stream.words)
    tokens = tuple(tokens_of_words(words))
    keys, counts = np.unique(stream.numbers.astype(np.int64) << 32 | stream.rows, return_counts=True)
    numbers, rows = keys >> 32, (keys & 0xFFFFFFFF).astype(np.int32)
    starts = np.zeros(len(words) + 1, np.int64)
    np.cumsum(np.bincount(numbers, minlength=len(words)), out=starts[1:])
    weighs = np.array([token is not None for token in tokens], np.bool_)
    counted = weighs[stream.numbers] if len(words) else np.zeros(0, np.bool_)
    lengths = np.bincount(stream.rows[counted], minlength=len(row_ids)).astype(np.int32)
    return TextPart(row_ids, lengths, words, tokens, starts, rows, counts.astype(np.int32))
