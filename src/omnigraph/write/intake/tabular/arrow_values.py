"""Arrow columns as JSON values of a declared type, a column at a time.

What has no exact JSON form stays what it is, and strict decoding refuses it with its place.
"""

from __future__ import annotations

import base64
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.model.types import PropType, Scalar

_MS_PER_DAY = 86_400_000
_PER_MILLISECOND = {"ms": 1, "us": 1_000, "ns": 1_000_000}


def json_values(column: pa.Array, declared: PropType | None) -> list[Any]:
    """The values of a column for a property of this type; None: for an id or an endpoint."""
    kind = column.type
    if isinstance(column, pa.ExtensionArray):
        return json_values(column.storage, declared)
    if pa.types.is_dictionary(kind):
        return json_values(column.dictionary_decode(), declared)
    if pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind):
        return _lists(column, declared)
    scalar = declared.scalar if declared is not None else None
    if pa.types.is_date32(kind):
        days = column.cast(pa.int32()).to_pylist()
        return _scaled(days, _MS_PER_DAY) if scalar is Scalar.DATETIME else days
    if pa.types.is_date64(kind) or pa.types.is_timestamp(kind):
        moments = _milliseconds(column)
        return [None if ms is None else ms // _MS_PER_DAY for ms in moments] if scalar is Scalar.DATE else moments
    if pa.types.is_decimal(kind):
        return [_decimal(value) for value in column.to_pylist()]
    if scalar is Scalar.BLOB and (pa.types.is_binary(kind) or pa.types.is_large_binary(kind)):
        return [None if data is None else f"base64:{base64.b64encode(data).decode()}" for data in column.to_pylist()]
    values: list[Any] = column.to_pylist()
    return values


def _milliseconds(column: pa.Array) -> list[int | None]:
    """A timestamp without a zone is UTC, and a finer one keeps its milliseconds: as texts of timestamps are read."""
    numbers: list[int | None] = column.cast(pa.int64()).to_pylist()
    unit = column.type.unit if pa.types.is_timestamp(column.type) else "ms"
    if unit == "s":
        return _scaled(numbers, 1000)
    per_millisecond = _PER_MILLISECOND[unit]
    return numbers if per_millisecond == 1 else [None if each is None else each // per_millisecond for each in numbers]


def _scaled(values: list[int | None], factor: int) -> list[int | None]:
    return [None if value is None else value * factor for value in values]


def _decimal(value: Decimal | None) -> int | float | Decimal | None:
    if value is None or not value.is_finite():
        return value
    return int(value) if value == value.to_integral_value() else float(value)


def _lists(column: pa.Array, declared: PropType | None) -> list[Any]:
    element = None if declared is None or declared.is_vector else PropType(declared.scalar)
    if column.null_count == len(column):
        return [None] * len(column)
    sizes = pc.list_value_length(column).to_pylist()
    items = iter(json_values(column.flatten(), element))  # the items of a null list are not among them
    return [None if size is None else [next(items) for _ in range(size)] for size in sizes]
