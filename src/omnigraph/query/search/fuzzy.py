"""Fuzzy matching: rows that have a word within a number of edits of a word of the query.

The query's words are taken in lower case and ASCII, stop words left out. A word of the field counts in its own form and
in its stemmed form, so that neither an ending nor its absence costs edits. An edit adds, drops or replaces a character.
"""

from __future__ import annotations

import weakref
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from omnigraph.query.search.hits import NO_ROWS, RowIds
from omnigraph.query.search.text import text_columns
from omnigraph.query.search.text_parts import TextPart
from omnigraph.storage.indexes import folded_words, tokens_of_words, words_of
from omnigraph.storage.tables import Table

Letters = npt.NDArray[np.uint32]


def fuzzy_matches(table: Table, column: str, query: str | None, edits: int, *, use_index: bool = True) -> RowIds:
    """The rows that match. No index knows unstemmed words, so `use_index` makes no difference."""
    wanted = _wanted(query)
    if not wanted or edits < 0:
        return NO_ROWS
    found = [NO_ROWS]
    for piece in text_columns.pieces(table, column):
        words = sorted({number for word in wanted for number in _vocabulary(piece.part).near(word, edits)})
        if words:
            rows, _ = piece.part.rows_of(words, piece.live)
            found.append(piece.part.row_ids[rows])
    return np.concatenate(found)


def _wanted(query: str | None) -> list[str]:
    words = words_of(query) if query else []
    tokens, folded = tokens_of_words(words), folded_words(words)
    return list(dict.fromkeys(word for word, token in zip(folded, tokens, strict=True) if token is not None and word))


class Vocabulary:
    """The forms of a part's words, by length, ready to be compared all at once."""

    def __init__(self, part: TextPart) -> None:
        forms: dict[str, set[int]] = {}
        for number, (word, token) in enumerate(zip(part.folded, part.tokens, strict=True)):
            if token is not None:
                forms.setdefault(word, set()).add(number)
                forms.setdefault(token, set()).add(number)
        by_length: dict[int, list[str]] = {}
        for form in forms:
            by_length.setdefault(len(form), []).append(form)
        self._words = forms
        self._by_length = {length: (_letters(same, length), same) for length, same in by_length.items()}

    def near(self, word: str, edits: int) -> set[int]:
        """The numbers of the words that have a form within `edits` of this one."""
        found: set[int] = set()
        for length, (letters, forms) in self._by_length.items():
            if abs(length - len(word)) <= edits:
                close = distances(word, letters) <= edits
                for index in np.flatnonzero(close).tolist():
                    found |= self._words[forms[index]]
        return found


_vocabularies: weakref.WeakKeyDictionary[TextPart, Vocabulary] = weakref.WeakKeyDictionary()


def _vocabulary(part: TextPart) -> Vocabulary:
    known = _vocabularies.get(part)
    if known is None:
        known = _vocabularies[part] = Vocabulary(part)
    return known


def _letters(words: Sequence[str], length: int) -> Letters:
    return np.frombuffer("".join(words).encode("utf-32-le"), np.uint32).reshape(len(words), length)


def distances(word: str, others: Letters) -> npt.NDArray[np.int16]:
    """The Levenshtein distance of one word to many of the same length."""
    count, length = others.shape
    before = np.broadcast_to(np.arange(length + 1, dtype=np.int16), (count, length + 1)).copy()
    for row, letter in enumerate(word, 1):
        now = np.empty_like(before)
        now[:, 0] = row
        differs = (others != ord(letter)).astype(np.int16)
        for place in range(length):
            cheapest = np.minimum(before[:, place + 1], now[:, place]) + np.int16(1)
            now[:, place + 1] = np.minimum(cheapest, before[:, place] + differs[:, place])
        before = now
    return before[:, length]
