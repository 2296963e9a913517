"""Pushdown: conditions on one variable as the typed filters of a table scan. Only what stays exactly the same goes."""

from __future__ import annotations

import math
from typing import Any

import pyarrow as pa

from omnigraph.language.query import BoundParams, Condition, Filter, InList, Literal, NullTest, Param, PropAccess
from omnigraph.language.schema import NodeType
from omnigraph.model.types import Scalar
from omnigraph.model.values import canonical_text
from omnigraph.query.constants import beside, constant
from omnigraph.query.expressions.comparisons import fit
from omnigraph.storage import All, AnyOf, Compare, Contains, IsNull, Not, OneOf, Predicate
from omnigraph.storage.tables import arrow_type

_SWAPPED = {"eq": "eq", "ne": "ne", "lt": "gt", "gt": "lt", "le": "ge", "ge": "le"}
_SIGNS: dict[str, Any] = {"eq": "=", "ne": "!=", "lt": "<", "gt": ">", "le": "<=", "ge": ">="}
_NOTHING = AnyOf(())
PUSHED_LIST_MAX = 8192


def key_values(condition: Condition, variable: str, node: NodeType, bound: BoundParams) -> list[str] | None:
    """The ids that a node can only have when the condition holds; None when it does not pin the key."""
    if node.key is None or len(node.key) != 1:
        return None
    compared = _sides(condition, bound)
    if compared is None:
        return None
    access, op, value = compared
    if access.variable != variable or access.property != node.key[0]:
        return None
    if op == "in":
        values = value if isinstance(value, list) else []
    elif op == "eq":
        values = [value]
    else:
        return None
    if access.type.scalar is Scalar.STRING:
        return [each for each in values if each is not None]
    fitting = [each for each in _fitting(values, access) if not isinstance(each, float) or math.isfinite(each)]
    return [canonical_text(each, access.type) for each in fitting]


def predicate_of(condition: Condition, variable: str, schema: pa.Schema, bound: BoundParams) -> Predicate | None:
    """The filter that a scan can apply, or None when only the engine can."""
    if isinstance(condition, NullTest):
        value = condition.value
        if not isinstance(value, PropAccess) or value.variable != variable or value.property not in schema.names:
            return None
        test = IsNull(value.property)
        return Not(test) if condition.negated else test
    compared = _sides(condition, bound)
    if compared is None or compared[0].variable != variable or compared[0].property not in schema.names:
        return None
    access, op, value = compared
    if access.type.is_list or access.type.is_vector or access.type.is_blob:
        return None
    if op == "string_contains":
        return Contains(access.property, value) if isinstance(value, str) else _NOTHING
    if op == "in":
        if not isinstance(value, list) or len(value) > PUSHED_LIST_MAX:
            return None
        return OneOf(access.property, tuple(_fitting(value, access)))
    if value is None:
        return _NOTHING
    fitting = _fitting([value], access)
    if not fitting:
        return _NOTHING if op == "eq" else None
    return _compare(access, op, fitting[0])


def _compare(access: PropAccess, op: str, value: Any) -> Predicate:
    """The table puts NaN above and below all numbers; to us it is beside them, and no order holds."""
    test = Compare(access.property, _SIGNS[op], value)
    if not access.type.scalar.is_float or op in ("eq", "ne"):
        return test
    bound = (
        Compare(access.property, "<=", math.inf) if op in ("gt", "ge") else Compare(access.property, ">=", -math.inf)
    )
    return All((test, bound))


def _sides(condition: Condition, bound: BoundParams) -> tuple[PropAccess, str, Any] | None:
    """A condition of one property and one constant, the property on the left."""
    match condition:
        case InList(value=PropAccess() as access, members=(Literal() | Param()) as members):
            return access, "in", beside(constant(members, bound), access)
        case Filter(left=PropAccess() as access, op="string_contains", right=(Literal() | Param()) as right):
            return access, "string_contains", constant(right, bound)
        case Filter(left=PropAccess() as access, op=op, right=(Literal() | Param()) as right) if op in _SIGNS:
            return access, op, beside(constant(right, bound), access)
        case Filter(left=(Literal() | Param()) as left, op=op, right=PropAccess() as access) if op in _SIGNS:
            return access, _SWAPPED[op], beside(constant(left, bound), access)
        case _:
            return None


def _fitting(values: list[Any], access: PropAccess) -> list[Any]:
    """The values in the property's own type, without those that no stored value can equal."""
    kind = arrow_type(access.type)
    if pa.types.is_date32(kind):
        kind = pa.int32()
    elif pa.types.is_date64(kind):
        kind = pa.int64()
    return [each for each in (fit(value, kind) for value in values) if each is not None]
