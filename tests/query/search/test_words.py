"""Splitting a column gives what the analyser gives row by row."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from omnigraph.query.search.text_parts import make_text_part
from omnigraph.query.search.words import split_words
from omnigraph.storage.indexes.analyser import analysed, words_of

TEXTS = st.lists(
    st.one_of(
        st.none(),
        st.text(st.sampled_from("aZ9 -_'é²ßİ日\n"), max_size=30),
        st.text(st.characters(codec="utf-8"), max_size=12),
        st.integers(37, 42).map(lambda size: "x" * size + " tail"),
    ),
    max_size=8,
)


def tokens_by_row(texts: list[str | None]) -> list[dict[str, int]]:
    ids = np.arange(len(texts), dtype=np.uint64)
    batch = pa.record_batch({"t": pa.array(texts, pa.string()), "_rowid": pa.array(ids)})
    part = make_text_part([batch], "t")
    found: list[dict[str, int]] = [{} for _ in texts]
    for token, words in part.by_token.items():
        rows, counts = part.rows_of(words, None)
        for row, count in zip(rows.tolist(), counts.tolist(), strict=True):
            found[row][token] = count
    assert [sum(row.values()) for row in found] == part.lengths.tolist()
    return found


@given(TEXTS)
def test_the_tokens_of_a_part_are_those_of_the_analyser(texts: list[str | None]) -> None:
    expected: list[dict[str, int]] = []
    for text in texts:
        counted: dict[str, int] = {}
        for token in analysed(text or ""):
            counted[token] = counted.get(token, 0) + 1
        expected.append(counted)
    assert tokens_by_row(texts) == expected


def test_a_word_does_not_run_on_into_the_next_row() -> None:
    stream = split_words(pa.array(["ab", "cd", "", None, "e f"]))
    assert [(stream.words[n], int(row)) for n, row in zip(stream.numbers, stream.rows, strict=True)] == [
        *(("ab", 0), ("cd", 1), ("e", 4), ("f", 4))
    ]


def test_a_sliced_column_is_split_where_the_slice_lies() -> None:
    stream = split_words(pa.array(["zero", "one two", "three"]).slice(1, 1))
    assert (stream.words, stream.rows.tolist()) == (["one", "two"], [0, 0])


ANALYSER = [
    ("lower case and stemming", "GRAPHS jumping", ("graph", "jump")),
    ("stop words are dropped", "the and of", ()),
    ("split at everything but letters and digits", "a_b-c.d's 42nd", ("b", "c", "d", "s", "42nd")),
    ("folded to ASCII", "ünïcödé straße ½", ("unicode", "strasse", "12")),
    ("39 bytes are kept", "x" * 39, ("x" * 39,)),
    ("40 bytes are dropped", "x" * 40 + " y", ("y",)),
    ("the limit counts bytes", "é" * 20 + " y", ("y",)),
]


@pytest.mark.parametrize(("text", "tokens"), [row[1:] for row in ANALYSER], ids=[row[0] for row in ANALYSER])
def test_the_analyser(text: str, tokens: tuple[str, ...]) -> None:
    assert analysed(text) == tokens


def test_words_are_given_as_they_stand() -> None:
    assert words_of("The naïve İstanbul") == ["The", "naïve", "İstanbul"]
