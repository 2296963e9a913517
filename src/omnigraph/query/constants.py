"""Constants: literals and bound parameters as plain values and as Arrow scalars."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from omnigraph.language.query import BoundParams, Expr, Literal, Param, PropAccess
from omnigraph.language.query.parse import DateLit, DateTimeLit, ListLit, LiteralValue, NullLit, StringLit
from omnigraph.model.types import PropType, Scalar
from omnigraph.model.values import parse_date, parse_datetime, to_single
from omnigraph.storage.tables import arrow_type

_I64_MAX = 2**63 - 1


def plain(value: LiteralValue) -> Any:
    """The Python value: dates as days, datetimes as milliseconds, as they are stored."""
    match value:
        case NullLit():
            return None
        case DateLit(text=text):
            return parse_date(text)
        case DateTimeLit(text=text):
            return parse_datetime(text)
        case ListLit(items=items):
            return [item.value if type(item) is StringLit else plain(item) for item in items]
        case _:
            return value.value


def constant(expr: Literal | Param, bound: BoundParams) -> Any:
    """The plain value of a literal or parameter."""
    return plain(expr.value if isinstance(expr, Literal) else bound[expr.name])


def beside(value: Any, other: Expr) -> Any:
    """A constant as it is compared with another expression: beside an F32 property it is rounded to F32 first."""
    if value is None or not isinstance(other, PropAccess) or other.type.scalar is not Scalar.F32:
        return value
    if isinstance(value, list):
        return [beside(each, other) for each in value]
    return to_single(float(value))


def scalar(value: Any, declared: PropType) -> pa.Scalar:
    """A plain value as Arrow has it. An integer keeps its value whatever width its literal was given."""
    kind = arrow_type(declared)
    if isinstance(value, int) and not isinstance(value, bool) and pa.types.is_integer(kind):
        kind = pa.int64() if value <= _I64_MAX else pa.uint64()
    if isinstance(value, float) and not pa.types.is_floating(kind):
        kind = pa.float64()  # an integer that was rounded for its other side
    if isinstance(value, list):
        rounded = any(isinstance(each, float) for each in value)
        return pa.scalar(value, pa.list_(pa.float64()) if rounded else kind)
    if pa.types.is_date64(kind) and value is not None:
        return pa.scalar(value, pa.int64()).cast(pa.date64())
    if pa.types.is_date32(kind) and value is not None:
        return pa.scalar(value, pa.int32()).cast(pa.date32())
    return pa.scalar(value, kind)
