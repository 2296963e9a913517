"""Comparisons: exact, typed, three-valued. What comes out is a mask of the rows where the comparison is TRUE.

Numbers are compared by value across widths: nothing is rounded to make types agree. NULL on either side is UNKNOWN, and
UNKNOWN is not TRUE.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.language.query import CmpOp
from omnigraph.query.frames import Mask

Operand: TypeAlias = pa.Array | pa.Scalar
"""One value per row, or one for all rows."""

_EXACT_IN_DOUBLE = 2**53
_WIDE = pa.decimal128(20, 0)

_ARROW: dict[CmpOp, Callable[[Any, Any], Any]] = {
    "eq": pc.equal,
    "ne": pc.not_equal,
    "gt": pc.greater,
    "lt": pc.less,
    "ge": pc.greater_equal,
    "le": pc.less_equal,
}
_PYTHON: dict[CmpOp, Callable[[Any, Any], bool]] = {
    "eq": operator.eq,
    "ne": operator.ne,
    "gt": operator.gt,
    "lt": operator.lt,
    "ge": operator.ge,
    "le": operator.le,
    "string_contains": lambda text, part: part in text,
    "starts_with": lambda text, part: text.startswith(part),
}


def compare(left: Operand, op: CmpOp, right: Operand, length: int) -> Mask:
    """Where `left op right` is TRUE."""
    if any(isinstance(side, pa.Scalar) and not side.is_valid for side in (left, right)):
        return np.zeros(length, np.bool_)  # beside NULL, whose type may be any, nothing is TRUE
    if op == "contains":
        return _contains(left, right, length)
    left, right = comparable(left), comparable(right)
    if op in ("string_contains", "starts_with"):
        if isinstance(right, pa.Scalar) and isinstance(left, pa.Array) and right.is_valid:
            search = pc.match_substring if op == "string_contains" else pc.starts_with
            return true_mask(search(left, right.as_py()), length)
        return _one_by_one(left, _PYTHON[op], right, length)
    aligned = _aligned(left, right)
    if aligned is None:
        return _one_by_one(left, _PYTHON[op], right, length)
    return true_mask(_ARROW[op](*aligned), length)


def comparable(value: Operand) -> Operand:
    """Dates and times as the numbers that they are."""
    if pa.types.is_date32(value.type):
        return value.cast(pa.int32())
    if pa.types.is_date64(value.type):
        return value.cast(pa.int64()) if isinstance(value, pa.Scalar) else value.view(pa.int64())
    return value


def true_mask(result: Operand, length: int) -> Mask:
    """TRUE as true; FALSE and UNKNOWN as false."""
    if isinstance(result, pa.Scalar):
        return np.full(length, bool(result.as_py()), np.bool_)
    filled = result.fill_null(False) if result.null_count else result
    mask: Mask = filled.to_numpy(zero_copy_only=False)
    return mask


def is_member(value: Operand, members: list[Any], length: int) -> Mask:
    """Where the value equals one of these plain values."""
    value = comparable(value)
    kept = [fitting for fitting in (fit(member, value.type) for member in members) if fitting is not None]
    if isinstance(value, pa.Scalar):
        return np.full(length, value.is_valid and value.as_py() in kept, np.bool_)
    if pa.types.is_floating(value.type) and 0.0 in kept:
        kept += [0.0, -0.0]  # one number, which Arrow tells apart here
    return true_mask(pc.is_in(value, value_set=pa.array(kept, value.type)), length)


def fit(value: Any, kind: pa.DataType) -> Any:
    """The value as this type has it, or None when no value of the type equals it."""
    if value is None:
        return None
    if pa.types.is_integer(kind) and not isinstance(value, bool):
        if isinstance(value, float) and not value.is_integer():
            return None
        number = int(value)
        low = 0 if pa.types.is_unsigned_integer(kind) else -(2 ** (kind.bit_width - 1))
        return number if low <= number < low + 2**kind.bit_width else None
    if pa.types.is_floating(kind) and not isinstance(value, bool):
        try:
            real = float(np.float32(value)) if kind == pa.float32() else float(value)
        except OverflowError:
            return None
        return real if real == value else None
    return value


# --- parts ------------------------------------------------------------------------------------------------


def _aligned(left: Operand, right: Operand) -> tuple[Operand, Operand] | None:
    """Both sides in one type that holds the values of both exactly; None when Arrow has none."""
    one, other = left.type, right.type
    if one == other or not (_is_number(one) and _is_number(other)):
        return left, right
    if pa.types.is_floating(one) and pa.types.is_floating(other):
        return left.cast(pa.float64()), right.cast(pa.float64())
    if pa.types.is_integer(one) and pa.types.is_integer(other):
        wide = pa.int64() if pa.uint64() not in (one, other) else _WIDE
        return left.cast(wide), right.cast(wide)
    whole = left if pa.types.is_integer(one) else right
    if whole.type.bit_width == 64 and not _is_small(whole):
        return None
    return left.cast(pa.float64()), right.cast(pa.float64())


def _is_number(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind))


def _is_small(whole: Operand) -> bool:
    if isinstance(whole, pa.Scalar):
        return not whole.is_valid or abs(whole.as_py()) <= _EXACT_IN_DOUBLE
    bounds = pc.min_max(whole).as_py()
    return bounds["min"] is None or max(abs(bounds["min"]), abs(bounds["max"])) <= _EXACT_IN_DOUBLE


def _one_by_one(left: Operand, holds: Callable[[Any, Any], bool], right: Operand, length: int) -> Mask:
    pairs = zip(listed(left, length), listed(right, length), strict=True)
    return np.fromiter((a is not None and b is not None and holds(a, b) for a, b in pairs), np.bool_, length)


def repeated(value: pa.Scalar, length: int) -> pa.Array:
    """One value, so many times. (Arrow's own cannot repeat a list no times.)"""
    return pa.repeat(value, length) if length else pa.array([], value.type)


def listed(value: Operand, length: int) -> list[Any]:
    return [value.as_py()] * length if isinstance(value, pa.Scalar) else value.to_pylist()


def _contains(lists: Operand, items: Operand, length: int) -> Mask:
    """Where the list has an element that equals the item; a NULL element equals nothing."""
    if isinstance(lists, pa.Scalar):
        if not lists.is_valid:
            return np.zeros(length, np.bool_)
        lists = repeated(lists, length)
    elements, parents = pc.list_flatten(lists), pc.list_parent_indices(lists)
    spread = items if isinstance(items, pa.Scalar) else items.take(parents)
    equal = compare(elements, "eq", spread, len(elements))
    found = np.zeros(length, np.bool_)
    found[parents.to_numpy(zero_copy_only=False)[equal]] = True
    return found
