"""Cells: which rows of two aligned columns hold different values. Typed and exact: null is not "", nor an empty list.

Floats compare by their bits, so that a NaN is equal to itself and -0.0 is not 0.0: what would be stored differently is
different.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

Mask = npt.NDArray[np.bool_]
_BITS = {pa.float32(): pa.int32(), pa.float64(): pa.int64(), pa.float16(): pa.int16()}


def differing_cells(one: pa.Array | pa.ChunkedArray, other: pa.Array | pa.ChunkedArray) -> Mask:
    """Per row whether the two values differ. Both columns have the same length and type."""
    left, right = _whole(one), _whole(other)
    left_null, right_null = _mask(left.is_null()), _mask(right.is_null())
    differs: Mask = left_null != right_null
    both = np.flatnonzero(~left_null & ~right_null)
    if len(both):
        if len(both) < len(left):
            left, right = left.take(pa.array(both)), right.take(pa.array(both))
        differs[both] = _values_differ(left, right)
    return differs


def _values_differ(left: pa.Array, right: pa.Array) -> Mask:
    """The same for values without nulls."""
    kind = left.type
    if pa.types.is_fixed_size_list(kind):
        size = kind.list_size
        items = differing_cells(left.flatten(), right.flatten())
        return np.asarray(items.reshape(len(left), size).any(axis=1), np.bool_)
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return _lists_differ(left, right)
    if kind in _BITS:
        left, right = left.view(_BITS[kind]), right.view(_BITS[kind])
    return _mask(pc.not_equal(left, right))


def _lists_differ(left: pa.Array, right: pa.Array) -> Mask:
    lengths = np.asarray(pc.list_value_length(left).to_numpy(zero_copy_only=False), np.int64)
    others = np.asarray(pc.list_value_length(right).to_numpy(zero_copy_only=False), np.int64)
    differs: Mask = lengths != others
    comparable = np.flatnonzero(~differs & (lengths > 0))
    if len(comparable):
        rows = pa.array(comparable)
        items = differing_cells(left.take(rows).flatten(), right.take(rows).flatten())
        starts = np.concatenate([[0], np.cumsum(lengths[comparable])[:-1]])
        differs[comparable] = np.logical_or.reduceat(items, starts)
    return differs


def _whole(column: pa.Array | pa.ChunkedArray) -> pa.Array:
    if isinstance(column, pa.ChunkedArray):
        return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()
    return column


def _mask(values: pa.Array) -> Mask:
    return np.asarray(values.to_numpy(zero_copy_only=False), np.bool_)
