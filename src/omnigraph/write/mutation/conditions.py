"""Conditions of mutations: what they select, by the rules of queries, and what a table can answer by itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pyarrow as pa

from omnigraph.language.query import (
    ROW,
    BoundParams,
    Condition,
    Expr,
    Filter,
    InList,
    Literal,
    NullTest,
    Param,
    PropAccess,
)
from omnigraph.model.errors import Internal
from omnigraph.query import Mask, constant, scalar
from omnigraph.query.expressions import Operand, holds, predicate_of
from omnigraph.storage import Predicate
from omnigraph.write.mutation.stored_rows import Row

_ENDPOINTS = {"from": "src", "to": "dst"}


def column_of(name: str) -> str:
    """The column behind a name that a mutation of edges uses: their endpoints are `src` and `dst` on disk."""
    return _ENDPOINTS.get(name, name)


def filter_batch(condition: Condition, batch: pa.RecordBatch, params: BoundParams) -> Mask:
    """The rows of a batch for which the condition is TRUE. The batch has at least the columns that it looks at."""

    def values(expr: Expr) -> Operand:
        match expr:
            case PropAccess(property=name):
                return batch.column(name)
            case Literal() | Param():
                return scalar(constant(expr, params), expr.type)
            case _:
                raise Internal(f"a mutation cannot evaluate {type(expr).__name__}")

    return holds(_on_disk(condition), values, params, batch.num_rows)


def filter_rows(condition: Condition, rows: Sequence[Row], schema: pa.Schema, params: BoundParams) -> list[Row]:
    """Those of these rows, which are values as they are stored, for which the condition is TRUE."""
    names = columns_in(condition)
    looked_at = pa.schema([schema.field(name) for name in names])
    columns = [pa.array([row[name] for row in rows], field.type) for name, field in zip(names, looked_at, strict=True)]
    batch = pa.RecordBatch.from_arrays(columns, schema=looked_at)
    return [rows[place] for place in filter_batch(condition, batch, params).nonzero()[0].tolist()]


def to_predicate(condition: Condition, schema: pa.Schema, params: BoundParams) -> Predicate | None:
    """The same condition as a filter of the table, or None where only `selected` is exact."""
    return predicate_of(_on_disk(condition), ROW, schema, params)


def columns_in(condition: Condition) -> list[str]:
    """The columns that a condition looks at."""
    stored = _on_disk(condition)
    match stored:
        case Filter(left, _, right):
            sides: tuple[Expr, ...] = (left, right)
        case NullTest(value, _):
            sides = (value,)
        case InList(value, members):
            sides = (value, members)
    return sorted({side.property for side in sides if isinstance(side, PropAccess)})


def _on_disk(condition: Condition) -> Condition:
    """The condition with the names of columns in it."""
    match condition:
        case Filter(left, op, right):
            return Filter(_stored(left), op, _stored(right))
        case NullTest(value, negated):
            return NullTest(_stored(value), negated)
        case InList(value, members):
            return InList(_stored(value), _stored(members))


def _stored(expr: Expr) -> Expr:
    if isinstance(expr, PropAccess) and expr.entity == "edge":
        return replace(expr, property=column_of(expr.property))
    return expr
