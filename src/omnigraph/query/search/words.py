"""Splitting a whole column into words at once: ASCII rows by array arithmetic, the others by the analyser itself."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from omnigraph.model.late_dataclass import dataclass
from omnigraph.storage.indexes import WORD_BYTES_MAX, words_of

_LOWER = np.zeros(256, np.uint8)
"""A letter or digit in lower case; 0 for everything that separates words."""
for _code in b"0123456789abcdefghijklmnopqrstuvwxyz":
    _LOWER[_code] = _code
for _code in b"ABCDEFGHIJKLMNOPQRSTUVWXYZ":
    _LOWER[_code] = _code + 32


SLICE_ROWS = 16_384


@dataclass(frozen=True, slots=True)
class WordStream:
    """The distinct words of a column, and for every occurrence the word's number and the row."""

    words: list[str]
    numbers: npt.NDArray[np.int64]
    rows: npt.NDArray[np.int64]


def split_words(texts: pa.StringArray) -> WordStream:
    """Every word of every row that is not too long to be indexed. In slices that stay near the processor."""
    words: list[pa.StringArray] = []
    rows: list[npt.NDArray[np.int64]] = [np.empty(0, np.int64)]
    for start in range(0, len(texts), SLICE_ROWS):
        part = texts.slice(start, SLICE_ROWS)
        data, offsets = _buffers(part)
        foreign = _foreign_rows(data, offsets)
        found, places = _ascii_words(data, offsets, foreign)
        spelled, spelled_places = _foreign_words(part, np.flatnonzero(foreign))
        words += [found, pa.array(spelled, pa.string())]
        rows += [places + start, spelled_places + start]
    encoded = pa.chunked_array(words, pa.string()).dictionary_encode().combine_chunks()
    if isinstance(encoded, pa.ChunkedArray):
        encoded = pa.array([], pa.string()).dictionary_encode()
    numbers = encoded.indices.to_numpy().astype(np.int64)
    return WordStream(encoded.dictionary.to_pylist(), numbers, np.concatenate(rows))


def _foreign_rows(data: npt.NDArray[np.uint8], offsets: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
    """The rows that have a character beyond ASCII."""
    foreign = np.zeros(len(offsets) - 1, np.bool_)
    if len(data) and int(data.max()) >= 128:
        foreign[np.searchsorted(offsets, np.flatnonzero(data >= 128), side="right") - 1] = True
    return foreign


def _buffers(texts: pa.StringArray) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.int64]]:
    """The bytes of the texts and where each begins and ends; NULL is empty."""
    filled = texts.fill_null("").cast(pa.large_string())
    _, positions, values = filled.buffers()
    offsets = np.frombuffer(positions, np.int64, len(filled) + 1, 8 * filled.offset)
    data = np.frombuffer(values, np.uint8) if values is not None else np.empty(0, np.uint8)
    first = int(offsets[0]) if len(offsets) else 0
    return data[first : int(offsets[-1])], offsets - first


def _ascii_words(
    data: npt.NDArray[np.uint8], offsets: npt.NDArray[np.int64], foreign: npt.NDArray[np.bool_]
) -> tuple[pa.StringArray, npt.NDArray[np.int64]]:
    lowered = _LOWER[data]
    if foreign.any():
        lowered = np.where(np.repeat(foreign, np.diff(offsets)), np.uint8(0), lowered)
    inside = lowered != 0
    starts = inside.copy()
    starts[1:] &= ~inside[:-1]
    row_starts = offsets[:-1][np.diff(offsets) > 0]
    starts[row_starts] = inside[row_starts]  # a word does not run on into the next row
    begin = np.flatnonzero(starts)
    if len(begin) == 0:
        return pa.array([], pa.string()), np.empty(0, np.int64)
    numbering = np.concatenate([[0], np.cumsum(inside, dtype=np.int64)])
    kept_offsets = np.concatenate([numbering[begin], numbering[-1:]])
    letters = lowered[inside]
    rows = np.searchsorted(offsets, begin, side="right") - 1
    text = pa.LargeStringArray.from_buffers(
        len(begin), pa.py_buffer(kept_offsets.astype(np.int64).tobytes()), pa.py_buffer(letters.tobytes())
    )
    short = np.diff(kept_offsets) <= WORD_BYTES_MAX
    if not short.all():
        text, rows = text.filter(pa.array(short)), rows[short]
    return text.cast(pa.string()), rows.astype(np.int64)


def _foreign_words(texts: pa.StringArray, rows: npt.NDArray[np.int64]) -> tuple[list[str], npt.NDArray[np.int64]]:
    words: list[str] = []
    counts: list[int] = []
    for text in texts.take(pa.array(rows)).to_pylist():
        found = words_of(text)
        words += found
        counts.append(len(found))
    return words, np.repeat(rows, counts).astype(np.int64)
