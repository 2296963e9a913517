"""Canonical text, column by column: what keys and unique tuples are made of and compared by."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.model.types import PropType, Scalar
from omnigraph.model.values import canonical_text
from omnigraph.write.rules.key_columns import Column, chunks_of, part_count, part_numbers

Codes = npt.NDArray[np.int64]
_SINGLE, _DOUBLE = PropType(Scalar.F32), PropType(Scalar.F64)


def canonical_column(column: Column) -> pa.Array:
    """The texts that identify stored values; NULL stays NULL. The same texts as `canonical_text`, at column speed."""
    array = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    kind = array.type
    if pa.types.is_string(kind):
        return array
    if pa.types.is_date32(kind):
        array = array.cast(pa.int32())
    elif pa.types.is_date64(kind):
        array = array.view(pa.int64())
    elif pa.types.is_floating(kind):
        declared = _SINGLE if pa.types.is_float32(kind) else _DOUBLE
        return pa.array([_float_text(value, declared) for value in array.to_pylist()], pa.string())
    return array.cast(pa.string())


def _float_text(value: float | None, declared: PropType) -> str | None:
    if value is None:
        return None
    return canonical_text(value, declared) if math.isfinite(value) else repr(value)


def tuple_codes(columns: Sequence[Column]) -> Codes:
    """A number per row: equal for equal tuples of canonical texts, different otherwise, -1 where a member is NULL."""
    count = part_count(columns)
    if count == 1:
        return _tuple_codes(columns)
    numbers = part_numbers([_canonical_chunks(column) for column in columns], count)
    codes, used = np.full(len(numbers), -1, np.int64), 0
    for part in range(count):
        own = numbers == part
        within = _tuple_codes([column.filter(pa.array(own)) for column in columns])
        codes[own] = np.where(within < 0, -1, within + used)
        used += int(within.max(initial=-1)) + 1
    return codes


def _canonical_chunks(column: Column) -> Column:
    """Chunk by chunk: a whole column of texts may be more than one array holds."""
    if pa.types.is_string(column.type):
        return column
    return pa.chunked_array([canonical_column(chunk) for chunk in chunks_of(column)], pa.string())


def _tuple_codes(columns: Sequence[Column]) -> Codes:
    codes, _ = _column_codes(columns[0])
    for column in columns[1:]:
        more, more_size = _column_codes(column)
        null = (codes < 0) | (more < 0)
        _, dense = np.unique(codes * more_size + more, return_inverse=True)
        codes = dense.astype(np.int64)
        codes[null] = -1
    return codes


def _column_codes(column: Column) -> tuple[Codes, int]:
    encoded = canonical_column(column).dictionary_encode()
    codes = pc.fill_null(encoded.indices, -1).to_numpy(zero_copy_only=False).astype(np.int64)
    return codes, max(len(encoded.dictionary), 1)


def repeats(codes: Codes) -> tuple[Codes, Codes]:
    """The rows whose code occurred before, and for each the first row that has it. Negative codes never repeat."""
    if len(codes) == 0 or codes.max(initial=-1) < 0:
        return np.empty(0, np.int64), np.empty(0, np.int64)
    rows = np.flatnonzero(codes >= 0)
    first = np.zeros(int(codes.max()) + 1, np.int64)
    first[codes[rows][::-1]] = rows[::-1]  # the last assignment stays, which is the first row
    later = rows[first[codes[rows]] != rows]
    return later, first[codes[later]]


def last_rows(codes: Codes) -> Codes:
    """For each distinct code its last row, in order of the rows."""
    last = np.zeros(int(codes.max(initial=-1)) + 1, np.int64)
    last[codes] = np.arange(len(codes))
    return np.sort(last)
