"""The text analyser: the one that text indexes have, for words that are in no index.

A text is split at everything that is not a letter or a digit; words of 40 bytes and more are dropped; then lower case,
English stemming, stop words, folding to ASCII. It is Lance's own code that runs here, so it cannot drift from an index.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from omnigraph.storage.lance import tokenize, translated

WORD_BYTES_MAX = 39
"""A longer word is in no index."""
WORDS_AT_A_TIME = 50_000
_ANCHOR = "anchor"


@lru_cache(maxsize=4096)
def analysed(text: str) -> tuple[str, ...]:
    """The tokens of a text as an index has them, in their order, repeated as they are."""
    with translated("text analyser"):
        return tuple(token.text for token in tokenize(text))


def words_of(text: str) -> list[str]:
    """The words as they stand in the text, those that are too long left out."""
    with translated("text analyser"):
        found = tokenize(text, lower_case=False, stem=False, remove_stop_words=False, ascii_folding=False)
    return [token.text for token in found]


def tokens_of_words(words: Sequence[str]) -> list[str | None]:
    """The token of each word; None for a stop word."""
    return _each(words, stem=True, remove_stop_words=True)


def folded_words(words: Sequence[str]) -> list[str | None]:
    """Each word in lower case and folded to ASCII, neither stemmed nor dropped."""
    return _each(words, stem=False, remove_stop_words=False)


def _each(words: Sequence[str], *, stem: bool, remove_stop_words: bool) -> list[str | None]:
    """One text of many words costs a fraction of as many texts; the positions tell which word a token came from.

    They are counted from the first token that is left, so a word that always is goes first.
    """
    result: list[str | None] = [None] * len(words)
    with translated("text analyser"):
        for start in range(0, len(words), WORDS_AT_A_TIME):
            text = " ".join((_ANCHOR, *words[start : start + WORDS_AT_A_TIME]))
            for token in tokenize(text, stem=stem, remove_stop_words=remove_stop_words)[1:]:
                result[start + token.position - 1] = token.text
    return result
