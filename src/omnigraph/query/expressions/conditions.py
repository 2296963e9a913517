"""Conditions: where a test of values is TRUE. Queries and mutations share it, so that both select the same rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa

from omnigraph.language.query import BoundParams, Condition, Expr, Filter, InList, Literal, NullTest, Param
from omnigraph.query.constants import beside, constant, scalar
from omnigraph.query.expressions.comparisons import Operand, compare, is_member
from omnigraph.query.frames import Mask

Values: TypeAlias = Callable[[Expr], Operand]
"""What an expression is worth: one value per row, or one for all rows."""


def holds(condition: Condition, values: Values, bound: BoundParams, length: int) -> Mask:
    """Where the condition is TRUE. UNKNOWN, which NULL gives, is not TRUE."""
    match condition:
        case NullTest(value=value, negated=negated):
            nulls = _null_mask(values(value), length)
            return ~nulls if negated else nulls
        case InList(value=value, members=(Literal() | Param()) as members):
            listed: Any = beside(constant(members, bound), value)
            return is_member(values(value), listed or [], length)
        case InList(value=value, members=members):
            lists, items = _side(members, value, values, bound), _side(value, members, values, bound)
            return compare(lists, "contains", items, length)
        case Filter(left=left, op=op, right=right):
            return compare(_side(left, right, values, bound), op, _side(right, left, values, bound), length)


def _side(expr: Expr, other: Expr, values: Values, bound: BoundParams) -> Operand:
    """One side of a comparison; a constant as the other side wants it."""
    if isinstance(expr, Literal | Param):
        return scalar(beside(constant(expr, bound), other), expr.type)
    return values(expr)


def _null_mask(values: Operand, length: int) -> Mask:
    if isinstance(values, pa.Scalar):
        return np.full(length, not values.is_valid, np.bool_)
    mask: Mask = values.is_null().to_numpy(zero_copy_only=False)
    return mask
