"""Filters that Spark pushes down, as typed predicates. What would not mean exactly the same stays with Spark.

Pushed: comparisons, IN and null tests on strings, booleans, integers, dates, date-times; string prefixes. Not pushed:
floating point (NaN and -0.0 compare differently), lists, vectors, `contains` and `endsWith`.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterable
from decimal import Decimal

import pyarrow as pa
from pyspark.sql import datasource as pushed

from omnigraph.graph import All, AnyOf, Compare, IsNull, Not, OneOf, Operator, Predicate, Value

_COMPARISONS: dict[type[pushed.Filter], Operator] = {
    pushed.EqualTo: "=",
    pushed.GreaterThan: ">",
    pushed.GreaterThanOrEqual: ">=",
    pushed.LessThan: "<",
    pushed.LessThanOrEqual: "<=",
}
_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
_MILLISECOND = datetime.timedelta(milliseconds=1)
_LAST_CHARACTER = "\U0010ffff"


class NotPushable(ValueError):
    """Spark must apply this filter itself."""


def predicate_of(filter_: pushed.Filter, table: pa.Schema) -> Predicate | None:
    """The predicate with the same meaning as a top-level filter, or None."""
    try:
        return _predicate(filter_, table)
    except NotPushable:
        return None


def _predicate(filter_: pushed.Filter, table: pa.Schema) -> Predicate:
    if isinstance(filter_, pushed.Not):
        return _negation(filter_.child, table)
    column, kind = _column(filter_, table)
    operator = _COMPARISONS.get(type(filter_))
    if operator is not None:
        return Compare(column, operator, _value(filter_.value, kind))  # type: ignore[attr-defined]
    match filter_:
        case pushed.EqualNullSafe(value=None):
            return IsNull(column)
        case pushed.EqualNullSafe(value=value):
            return Compare(column, "=", _value(value, kind))
        case pushed.In(value=values):
            return OneOf(column, _values(values, kind))
        case pushed.IsNull():
            return IsNull(column)
        case pushed.IsNotNull():
            return Not(IsNull(column))
        case pushed.StringStartsWith(value=prefix) if pa.types.is_string(kind):
            return _prefix(column, prefix)
    raise NotPushable


def _negation(filter_: pushed.Filter, table: pa.Schema) -> Predicate:
    """A negated filter does not match a null, except for the null-safe one."""
    column, kind = _column(filter_, table)
    match filter_:
        case pushed.EqualTo(value=value):
            return Compare(column, "!=", _value(value, kind))
        case pushed.EqualNullSafe(value=value) if value is not None:
            return AnyOf((IsNull(column), Compare(column, "!=", _value(value, kind))))
        case pushed.In(value=values):
            return All((Not(IsNull(column)), Not(OneOf(column, _values(values, kind)))))
    raise NotPushable


def _column(filter_: pushed.Filter, table: pa.Schema) -> tuple[str, pa.DataType]:
    path: tuple[str, ...] = getattr(filter_, "attribute", ())
    if len(path) != 1 or path[0] not in table.names:
        raise NotPushable
    return path[0], table.field(path[0]).type


def _values(values: Iterable[object], kind: pa.DataType) -> tuple[Value, ...]:
    return tuple(_value(value, kind) for value in values)


def _value(value: object, kind: pa.DataType) -> Value:
    if pa.types.is_string(kind) and isinstance(value, str):
        return value
    if pa.types.is_boolean(kind) and isinstance(value, bool):
        return value
    if pa.types.is_integer(kind):
        return _integer(value)
    if pa.types.is_date32(kind) and type(value) is datetime.date:
        return (value - _EPOCH.date()).days
    if pa.types.is_date64(kind) and isinstance(value, datetime.datetime):
        moment = value if value.tzinfo is not None else value.replace(tzinfo=datetime.UTC)
        count, rest = divmod(moment - _EPOCH, _MILLISECOND)
        if not rest:
            return count
    raise NotPushable


def _integer(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int | Decimal) or value != int(value):
        raise NotPushable
    return int(value)


def _prefix(column: str, prefix: str) -> Predicate:
    """A range of strings: from the prefix to the first string that cannot start with it."""
    bare = prefix.rstrip(_LAST_CHARACTER)
    if not bare:
        raise NotPushable
    following = ord(bare[-1]) + 1
    after = bare[:-1] + chr(0xE000 if 0xD800 <= following <= 0xDFFF else following)
    return All((Compare(column, ">=", prefix), Compare(column, "<", after)))
