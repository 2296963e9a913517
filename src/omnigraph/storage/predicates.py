"""Predicates: typed filters over the columns of a table, and the only place that turns values into Lance's SQL.

Callers build values (`Compare("age", ">", 30)`), never text. Lance reads double-quoted names as strings and dies on
placeholders, so names go into backticks and every literal has one encoder.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

import pyarrow as pa

from omnigraph.model.errors import Internal
from omnigraph.model.late_dataclass import dataclass

Operator = Literal["=", "!=", "<", "<=", ">", ">="]
Value = bool | int | float | str
_I64_MIN = -(2**63)


@dataclass(frozen=True, slots=True)
class Compare:
    """column operator value; a NULL column is never a match."""

    column: str
    operator: Operator
    value: Value


@dataclass(frozen=True, slots=True)
class OneOf:
    """column IN (values); no values match nothing."""

    column: str
    values: tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class Contains:
    """The text of a column has this text in it, byte by byte; a NULL column is never a match."""

    column: str
    text: str


@dataclass(frozen=True, slots=True)
class IsNull:
    column: str


@dataclass(frozen=True, slots=True)
class All:
    """Every part holds; no parts hold always."""

    parts: tuple[Predicate, ...]


@dataclass(frozen=True, slots=True)
class AnyOf:
    """Some part holds; no parts hold never."""

    parts: tuple[Predicate, ...]


@dataclass(frozen=True, slots=True)
class Not:
    part: Predicate


Predicate = Compare | OneOf | Contains | IsNull | All | AnyOf | Not


def one_of(column: str, values: Sequence[Value]) -> OneOf:
    return OneOf(column, tuple(values))


def columns_of(predicate: Predicate) -> frozenset[str]:
    """The columns that a predicate is about."""
    match predicate:
        case All(parts) | AnyOf(parts):
            return frozenset().union(*map(columns_of, parts))
        case Not(part):
            return columns_of(part)
        case Compare() | OneOf() | Contains() | IsNull():
            return frozenset({predicate.column})


def to_sql(predicate: Predicate, schema: pa.Schema) -> str:
    """The predicate as filter text for a table of this schema."""
    match predicate:
        case Compare(column, operator, value) if value == 0 and pa.types.is_floating(_type(schema, column)):
            return _beside_zero(identifier(column), operator)
        case Compare(column, operator, value):
            return f"{identifier(column)} {operator} {literal(value, _type(schema, column))}"
        case OneOf(_, ()):
            return "false"
        case OneOf(column, values):
            kind = _type(schema, column)
            if 0 in values and pa.types.is_floating(kind):
                values = (*values, 0.0, -0.0)
            return f"{identifier(column)} IN ({', '.join(literal(value, kind) for value in values)})"
        case Contains(column, text):
            return f"contains({identifier(column)}, {literal(text, pa.string())})"
        case IsNull(column):
            return f"{identifier(column)} IS NULL"
        case All(parts):
            return _joined(" AND ", parts, schema) or "true"
        case AnyOf(parts):
            return _joined(" OR ", parts, schema) or "false"
        case Not(part):
            return f"(NOT ({to_sql(part, schema)}))"


def _beside_zero(name: str, operator: Operator) -> str:
    """A comparison with zero. To Lance -0.0 is another number below 0.0; to everybody else they are one."""
    match operator:
        case "=":
            return f"{name} IN (-0.0, 0.0)"
        case "!=":
            return f"{name} NOT IN (-0.0, 0.0)"
        case "<" | ">=":
            return f"{name} {operator} -0.0"
        case _:
            return f"{name} {operator} 0.0"


def _joined(word: str, parts: tuple[Predicate, ...], schema: pa.Schema) -> str:
    return f"({word.join(to_sql(part, schema) for part in parts)})" if parts else ""


def identifier(name: str) -> str:
    if "`" in name:
        raise Internal(f"column name {name!r} cannot be written in a filter")
    return f"`{name}`"


def literal(value: Value, kind: pa.DataType) -> str:
    """A literal of the column's own type: Lance does not coerce, and an index is used only when types agree."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    if pa.types.is_date32(kind):
        return f"cast({int(value)} as date)"
    if pa.types.is_date64(kind):
        return f"arrow_cast({int(value)}, 'Date64')"
    if isinstance(value, float) and not math.isfinite(value):
        return f"cast('{value}' as double)"
    if value == _I64_MIN and isinstance(value, int):
        return f"cast('{value}' as bigint)"  # the parser sees the minus apart, and the number alone is too large
    return repr(value)


def _type(schema: pa.Schema, column: str) -> pa.DataType:
    if column.startswith("_row"):
        return pa.uint64()
    return schema.field(column).type
