"""Conditions of mutations: exact three-valued evaluation on a row, and the part that a table can answer by itself."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from typing import Any

from omnigraph.language import BoundParams
from omnigraph.language.query.ir import Condition, Expr, Filter, InList, Literal, NullTest, Param, PropAccess
from omnigraph.language.query.literals import DateLit, DateTimeLit, ListLit, LiteralValue, NullLit
from omnigraph.model.errors import Internal
from omnigraph.model.types import INTEGER_BOUNDS, PropType, Scalar
from omnigraph.model.values import parse_date, parse_datetime, to_single
from omnigraph.storage import Compare, Predicate

_COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "eq": operator.eq,
    "ne": operator.ne,
    "gt": operator.gt,
    "lt": operator.lt,
    "ge": operator.ge,
    "le": operator.le,
}
_SQL = {"eq": "=", "ne": "!=", "gt": ">", "lt": "<", "ge": ">=", "le": "<="}
_ENDPOINTS = {"from": "src", "to": "dst"}


def column_of(name: str) -> str:
    """The column behind a name that a mutation uses: the endpoints of an edge are `src` and `dst` on disk."""
    return _ENDPOINTS.get(name, name)


def plain(literal: LiteralValue) -> Any:
    """A literal as a Python value; dates become the numbers that are stored."""
    match literal:
        case NullLit():
            return None
        case DateLit(text):
            return parse_date(text)
        case DateTimeLit(text):
            return parse_datetime(text)
        case ListLit(items):
            return [plain(item) for item in items]
        case _:
            return literal.value


def matches(condition: Condition, row: Mapping[str, Any], params: BoundParams) -> bool:
    """True when the condition is TRUE for the row. UNKNOWN, which NULL gives, is not TRUE."""
    match condition:
        case Filter(left, op, right):
            one, other = _value(left, row, params), _value(right, row, params)
            if one is None or other is None:
                return False
            return _COMPARE[op](*_single_sided(left, right, one, other))
        case NullTest(value, negated):
            return (_value(value, row, params) is None) != negated
        case InList(value, members):
            one, several = _value(value, row, params), _value(members, row, params)
            return one is not None and several is not None and one in several


def pushed(condition: Condition, params: BoundParams) -> Predicate | None:
    """The same condition as a filter of the table, or None where only `matches` is exact."""
    if not isinstance(condition, Filter) or condition.op not in _SQL or not isinstance(condition.left, PropAccess):
        return None
    value = _value(condition.right, {}, params)
    if value is None or not _is_exact(value, condition.left.type):
        return None
    return Compare(column_of(condition.left.property), _SQL[condition.op], value)  # type: ignore[arg-type]


def columns_in(condition: Condition) -> list[str]:
    """The columns that a condition looks at."""
    match condition:
        case Filter(left, _, right):
            sides: tuple[Expr, ...] = (left, right)
        case NullTest(value, _):
            sides = (value,)
        case InList(value, members):
            sides = (value, members)
    return sorted({column_of(side.property) for side in sides if isinstance(side, PropAccess)})


def _value(expr: Expr, row: Mapping[str, Any], params: BoundParams) -> Any:
    match expr:
        case PropAccess(property=name):
            return row[column_of(name)]
        case Param(name=name):
            return plain(params[name])
        case Literal(value=value):
            return plain(value)
        case _:
            raise Internal(f"a mutation cannot evaluate {type(expr).__name__}")


def _single_sided(left: Expr, right: Expr, one: Any, other: Any) -> tuple[Any, Any]:
    """Against an F32 property the other side is rounded to F32 first, so that `ratio = 0.1` finds a stored 0.1."""
    if isinstance(left, PropAccess) and left.type.scalar is Scalar.F32:
        return one, to_single(float(other))
    if isinstance(right, PropAccess) and right.type.scalar is Scalar.F32:
        return to_single(float(one)), other
    return one, other


def _is_exact(value: Any, kind: PropType) -> bool:
    """True when the table compares this value without rounding it."""
    scalar = kind.scalar
    if scalar in INTEGER_BOUNDS:
        low, high = INTEGER_BOUNDS[scalar]
        return isinstance(value, int) and not isinstance(value, bool) and low <= value <= high
    if scalar is Scalar.F64:
        return isinstance(value, float) or (isinstance(value, int) and int(float(value)) == value)
    return scalar in (Scalar.STRING, Scalar.BOOL, Scalar.DATE, Scalar.DATETIME) and not kind.is_list
