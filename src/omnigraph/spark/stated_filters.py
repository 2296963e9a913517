"""The option `filter` as typed predicates. They apply to the frame, not to one query on it."""

from __future__ import annotations

from typing import Any, get_args

import pyarrow as pa

from omnigraph.graph import Compare, IsNull, Not, OneOf, Operator, Predicate
from omnigraph.model.errors import BadRequest
from omnigraph.model.types import PropType, Scalar
from omnigraph.model.values import coerce_json

_SCALARS = {
    pa.string(): Scalar.STRING,
    pa.bool_(): Scalar.BOOL,
    pa.int32(): Scalar.I32,
    pa.int64(): Scalar.I64,
    pa.uint32(): Scalar.U32,
    pa.uint64(): Scalar.U64,
    pa.float32(): Scalar.F32,
    pa.float64(): Scalar.F64,
    pa.date32(): Scalar.DATE,
    pa.date64(): Scalar.DATETIME,
}


def stated_predicate(term: list[Any], table: pa.Schema) -> Predicate:
    """One term: `[column, comparison, value]`, `[column, "in", values]`, `[column, "is null"]` or `"is not null"`."""
    column, operator = term[0], term[1]
    if column not in table.names:
        raise BadRequest(f"'filter': there is no column '{column}'", f"the columns are {', '.join(table.names)}")
    if len(term) == 2:
        if operator == "is null":
            return IsNull(column)
        if operator == "is not null":
            return Not(IsNull(column))
        raise _unknown(operator)
    scalar = _SCALARS.get(table.field(column).type)
    if scalar is None:
        raise BadRequest(f"'filter': '{column}' is a {table.field(column).type}, which cannot be compared")
    kind = PropType(scalar)
    if operator == "in" and isinstance(term[2], list):
        return OneOf(column, tuple(coerce_json(value, kind, column) for value in term[2]))
    if operator not in get_args(Operator):
        raise _unknown(operator)
    return Compare(column, operator, coerce_json(term[2], kind, column))


def _unknown(operator: object) -> BadRequest:
    known = ", ".join(get_args(Operator))
    return BadRequest(f"'filter': '{operator}' is not a comparison", f"use {known}, in, is null or is not null")
