"""Key columns: ids, endpoints and members of unique tuples of a whole input, however much text they hold.

Arrow holds 2 GB of text in one array, and a table of all keys may not fit into memory. So sets are asked piece by
piece, and equal keys are looked for among those of equal hash. Up to `part_bytes` of text there is one piece, and
nothing is copied. What stays in memory are numbers per row.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.model.errors import BadRequest
from omnigraph.storage.tables import Hashes, text_hashes

PART_BYTES_VARIABLE = "OMNIGRAPH_KEY_PART_BYTES"
PART_BYTES = 64 * 1024 * 1024
"""Key text that is compared at a time. Comparing it takes five to six times as much memory."""
SLICE_ROWS = 65_536
"""Rows at a time where rows are hashed, gathered or filled."""
PARTS_MAX = 65_535

Column: TypeAlias = pa.Array | pa.ChunkedArray
Mask = npt.NDArray[np.bool_]
Rows = npt.NDArray[np.int64]
PartNumbers = npt.NDArray[np.uint16]

_FOLD = np.uint64(0x9E3779B97F4A7C15)


def part_bytes() -> int:
    """`OMNIGRAPH_KEY_PART_BYTES`, or the default."""
    text = os.environ.get(PART_BYTES_VARIABLE, "")
    if not text:
        return PART_BYTES
    if not text.isdecimal() or int(text) == 0:
        raise BadRequest(f"{PART_BYTES_VARIABLE} must be a number of bytes, not '{text}'")
    return int(text)


def part_count(columns: Sequence[Column]) -> int:
    """In how many parts these columns are looked at."""
    size: int = sum(chunk.nbytes for column in columns for chunk in chunks_of(column))
    return min(PARTS_MAX, max(1, -(-size // part_bytes())))


def chunks_of(column: Column) -> list[pa.Array]:
    return list(column.chunks) if isinstance(column, pa.ChunkedArray) else [column]


def whole(column: Column) -> pa.Array:
    """A column that is known to be small, as one array."""
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column


# --- sets -------------------------------------------------------------------------------------------------


def pieces(column: Column) -> Iterator[pa.Array]:
    """The column as arrays of at most `part_bytes` each, one after another."""
    if part_count([column]) == 1:
        yield whole(column)
        return
    limit, waiting, held = part_bytes(), list[pa.Array](), 0
    for piece in _cut(chunks_of(column), limit):
        if waiting and held + piece.nbytes > limit:
            yield pa.concat_arrays(waiting)
            waiting, held = [], 0
        waiting.append(piece)
        held += piece.nbytes
    if waiting:
        yield pa.concat_arrays(waiting)


def _cut(chunks: Iterable[pa.Array], limit: int) -> Iterator[pa.Array]:
    for chunk in chunks:
        rows = max(1, len(chunk) * limit // max(1, chunk.nbytes))
        for start in range(0, len(chunk), rows):
            yield chunk.slice(start, rows)


def members(column: Column, values: Column) -> Mask:
    """Per row whether its value is one of these."""
    found = np.zeros(len(column), np.bool_)
    for piece in pieces(values) if len(values) else ():
        found |= pc.is_in(column, value_set=piece).to_numpy(zero_copy_only=False)
    return found


def without(column: Column, values: Column) -> Column:
    """The column's values that are none of these."""
    return column.filter(pa.array(~members(column, values)))


# --- equal keys -------------------------------------------------------------------------------------------


def part_numbers(columns: Sequence[Column], count: int) -> PartNumbers:
    """A part per row, the same for rows with equal texts in all columns. The columns are of text."""
    mixed: Hashes = np.zeros(len(columns[0]), np.uint64)
    for column in columns:
        place = 0
        for chunk in chunks_of(column):
            for start in range(0, len(chunk), SLICE_ROWS):
                hashes = text_hashes(chunk.slice(start, SLICE_ROWS))
                own = slice(place, place + len(hashes))
                mixed[own] = mixed[own] * _FOLD + hashes
                place += len(hashes)
    return ((mixed >> np.uint64(32)) % np.uint64(count)).astype(np.uint16)


def hash_parts(column: Column) -> Iterator[pa.Array]:
    """The values of a text column in parts that have none in common."""
    count = part_count([column])
    if count == 1:
        yield whole(column)
        return
    numbers = part_numbers([column], count)
    for part in range(count):
        yield whole(column.filter(pa.array(numbers == part)))


# --- rows -------------------------------------------------------------------------------------------------


def row_slices(rows: pa.Table, names: Sequence[str]) -> Iterator[tuple[int, pa.Table]]:
    """The rows one after another in slices of which these columns hold about `part_bytes`; each with its first row."""
    count = part_count([rows[name] for name in names])
    size = max(1, -(-rows.num_rows // count))
    for start in range(0, rows.num_rows, size):
        yield start, rows.slice(start, size)


def take_rows(column: pa.ChunkedArray, rows: Rows) -> pa.Array:
    """The values of some rows, in their order. Arrow's own `take` puts all chunks together first."""
    if column.num_chunks == 1:
        return column.chunk(0).take(pa.array(rows))
    ends = np.cumsum([len(chunk) for chunk in column.chunks])
    chunk_of = np.searchsorted(ends, rows, side="right")
    order = np.argsort(chunk_of, kind="stable")
    bounds = np.searchsorted(chunk_of[order], np.arange(column.num_chunks + 1))
    parts = [pa.array([], column.type)]
    for number in np.unique(chunk_of).tolist():
        chunk = column.chunk(number)
        own = rows[order[bounds[number] : bounds[number + 1]]] - (ends[number] - len(chunk))
        parts.append(chunk.take(pa.array(own)))
    back = np.empty(len(rows), np.int64)
    back[order] = np.arange(len(rows))
    return pa.concat_arrays(parts).take(pa.array(back))
