"""Literals: the typed constants that query text and parameters carry. Hashable, and never confused with each other.

Dates keep their text; `omnigraph.model.values` reads it when it is used. A nested list can be written down here so
that the checker can refuse it with a reason.
"""

from __future__ import annotations

import math
from decimal import Decimal

from omnigraph.language.query.parse.tokens import quote
from omnigraph.model.late_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class NullLit:
    """`null`, or an optional parameter without a value."""


@dataclass(frozen=True, slots=True)
class StringLit:
    value: str


@dataclass(frozen=True, slots=True)
class IntegerLit:
    """Any integer from -2^63 to 2^64-1."""

    value: int


@dataclass(frozen=True, slots=True)
class FloatLit:
    """A finite double."""

    value: float


@dataclass(frozen=True, slots=True)
class BoolLit:
    value: bool


@dataclass(frozen=True, slots=True)
class DateLit:
    text: str


@dataclass(frozen=True, slots=True)
class DateTimeLit:
    text: str


@dataclass(frozen=True, slots=True)
class ListLit:
    items: tuple[LiteralValue, ...]


LiteralValue = NullLit | StringLit | IntegerLit | FloatLit | BoolLit | DateLit | DateTimeLit | ListLit

NULL = NullLit()
TRUE = BoolLit(True)


def literal_text(value: LiteralValue) -> str:
    """The literal as query text."""
    match value:
        case NullLit():
            return "null"
        case StringLit(value=text):
            return quote(text)
        case IntegerLit(value=number):
            return str(number)
        case FloatLit(value=number):
            return float_text(number)
        case BoolLit(value=flag):
            return "true" if flag else "false"
        case DateLit(text=text):
            return f"date({quote(text)})"
        case DateTimeLit(text=text):
            return f"datetime({quote(text)})"
        case ListLit(items=items):
            return f"[{', '.join(literal_text(item) for item in items)}]"


def float_text(number: float) -> str:
    """The shortest digits that read back as this number, without an exponent and with digits on both sides."""
    if not math.isfinite(number):
        raise ValueError("a literal is finite")
    text = format(Decimal(repr(number)), "f")
    return text if "." in text else f"{text}.0"
