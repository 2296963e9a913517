"""Coercion: the type of a literal, which types can meet, and which literals a property can hold without loss."""

from __future__ import annotations

import math
from dataclasses import replace

from omnigraph.language.query.check.scope import RefusalError
from omnigraph.language.query.parse import (
    BoolLit,
    DateLit,
    DateTimeLit,
    Extent,
    FloatLit,
    IntegerLit,
    ListLit,
    LiteralValue,
    NullLit,
    StringLit,
    literal_text,
)
from omnigraph.model.errors import InvalidValue
from omnigraph.model.types import INTEGER_BOUNDS, PropType, Scalar
from omnigraph.model.values import parse_datetime, to_single


def compatible(one: PropType, other: PropType) -> bool:
    """Whether two types can be compared or assigned. Nullability never matters, nor do enum members."""
    if one.is_list != other.is_list:
        return False
    if one.is_vector or other.is_vector:
        return one.scalar is other.scalar and one.dimension == other.dimension
    return one.scalar is other.scalar or (one.scalar.is_numeric and other.scalar.is_numeric)


def element_of(listed: PropType) -> PropType:
    """The type of one element of a list type."""
    return replace(listed, is_list=False, nullable=False)


def literal_type(value: LiteralValue, at: Extent) -> PropType:
    """The type of a literal; refuses lists that have none, and dates that are none."""
    match value:
        case NullLit():
            return PropType(Scalar.STRING, nullable=True)
        case StringLit():
            return PropType(Scalar.STRING)
        case IntegerLit(value=number):
            return PropType(Scalar.I64 if number <= INTEGER_BOUNDS[Scalar.I64][1] else Scalar.U64)
        case FloatLit():
            return PropType(Scalar.F64)
        case BoolLit():
            return PropType(Scalar.BOOL)
        case DateLit() | DateTimeLit():
            return PropType(_require_date(value, at))
        case ListLit(items=items):
            return _list_type(items, at)


def _list_type(items: tuple[LiteralValue, ...], at: Extent) -> PropType:
    if not items:
        return PropType(Scalar.STRING, is_list=True)
    for item in items:
        if isinstance(item, ListLit):
            raise RefusalError(None, "a list cannot hold lists", at)
        if isinstance(item, NullLit):
            raise RefusalError(None, "a list cannot hold null", at)
    types = [literal_type(item, at) for item in items]
    for index, kind in enumerate(types):
        if not compatible(types[0], kind):
            raise RefusalError(
                None,
                f"the elements of a list must have one type: {literal_text(items[index])} is not a {types[0]}",
                at,
                "make all elements strings, or all numbers",
            )
    first = types[0]
    if any(kind.scalar is Scalar.F64 for kind in types):
        first = PropType(Scalar.F64)
    return replace(first, is_list=True)


def _require_date(value: DateLit | DateTimeLit, at: Extent) -> Scalar:
    scalar = Scalar.DATE if isinstance(value, DateLit) else Scalar.DATETIME
    try:
        parse_datetime(value.text)
    except InvalidValue as error:
        expected = f"expected {error.expected}"
        raise RefusalError(None, f"invalid {scalar.value} literal '{value.text}'", at, expected) from None
    return scalar


def is_number_list(value: LiteralValue) -> bool:
    return isinstance(value, ListLit) and all(isinstance(item, IntegerLit | FloatLit) for item in value.items)


# --- what a property can hold -----------------------------------------------------------------------------


def coerce_literal(value: LiteralValue, target: PropType, name: str, at: Extent) -> LiteralValue:
    """The literal as the property stores it, or T3 with the reason."""
    if isinstance(value, NullLit):
        if target.nullable:
            return value
        raise RefusalError("T3", f"{name} is required and cannot be null", at)
    if target.is_blob:
        raise RefusalError("T3", f"{name} is a Blob and takes a parameter, not a literal", at)
    if target.is_vector:
        return _coerce_vector(value, target, name, at)
    if target.is_list:
        if not isinstance(value, ListLit):
            raise _misfit(value, target, name, at, f"write [{literal_text(value)}]")
        _list_type(value.items, at)
        element = element_of(target)
        return ListLit(tuple(_coerce_scalar(item, element, name, at) for item in value.items))
    return _coerce_scalar(value, target, name, at)


def _coerce_vector(value: LiteralValue, target: PropType, name: str, at: Extent) -> ListLit:
    if not isinstance(value, ListLit) or not is_number_list(value):
        raise _misfit(value, target, name, at, "write a list of numbers")
    if len(value.items) != target.dimension:
        raise RefusalError("T3", f"{name} has {target.dimension} values, this list has {len(value.items)}", at)
    element = PropType(Scalar.F32)
    return ListLit(
        tuple(
            _to_float(float(item.value), element, name, at) for item in value.items if not isinstance(item, _NO_NUMBER)
        )
    )


_NO_NUMBER = (NullLit, StringLit, BoolLit, DateLit, DateTimeLit, ListLit)


def _coerce_scalar(value: LiteralValue, target: PropType, name: str, at: Extent) -> LiteralValue:
    scalar = target.scalar
    match value:
        case IntegerLit(value=number) if scalar.is_integer:
            return _in_range(number, target, name, at)
        case FloatLit(value=number) if scalar.is_integer:
            if not number.is_integer():
                raise RefusalError("T3", f"{name} is {target} and cannot hold {literal_text(value)} without loss", at)
            return _in_range(int(number), target, name, at)
        case IntegerLit(value=number) if scalar.is_float:
            exact = float(number) if scalar is Scalar.F64 else _as_f32(float(number))
            if exact is None or exact != number:
                raise RefusalError("T3", f"{name} is {target} and cannot hold {number} without loss", at)
            return FloatLit(exact)
        case FloatLit(value=number) if scalar.is_float:
            return _to_float(number, target, name, at)
        case StringLit(value=text) if scalar is Scalar.STRING:
            require_member(text, target, name, at)
            return value
        case BoolLit() if scalar is Scalar.BOOL:
            return value
        case DateLit() | DateTimeLit() if scalar is _require_date(value, at):
            return value
    raise _misfit(value, target, name, at)


def require_member(text: str, target: PropType, name: str, at: Extent) -> None:
    """T3 for a string outside of an enum."""
    if target.enum_values is not None and text not in target.enum_values:
        members = ", ".join(target.enum_values)
        raise RefusalError("T3", f"invalid enum value '{text}' for {name}", at, f"one of: {members}")


def _in_range(number: int, target: PropType, name: str, at: Extent) -> IntegerLit:
    low, high = INTEGER_BOUNDS[target.scalar]
    if not low <= number <= high:
        raise RefusalError("T3", f"{number} is out of {target.scalar.value} range for {name}", at)
    return IntegerLit(number)


def _to_float(number: float, target: PropType, name: str, at: Extent) -> FloatLit:
    if target.scalar is Scalar.F32 and _as_f32(number) is None:
        raise RefusalError("T3", f"{number} is out of F32 range for {name}", at)
    return FloatLit(number)


def _as_f32(number: float) -> float | None:
    """The nearest F32 as a double; None beyond its range."""
    rounded = to_single(number)
    return rounded if math.isfinite(rounded) else None


def _misfit(value: LiteralValue, target: PropType, name: str, at: Extent, hint: str | None = None) -> RefusalError:
    if hint is None and isinstance(value, StringLit) and target.scalar in (Scalar.DATE, Scalar.DATETIME):
        hint = f"write {target.scalar.value.lower()}({literal_text(value)})"
    return RefusalError("T3", f"{name} is {target} and cannot hold {literal_text(value)}", at, hint)
