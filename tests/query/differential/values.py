"""Values to draw: a small pool per type, so that values repeat and meet, with the awkward ones among them.

Floats are short binary fractions: their sums are exact in any order, so a difference is never one of rounding.
"""

from __future__ import annotations

import json
from random import Random
from typing import Any

STRINGS = ["", "a", "ab", "b", "B", "a b", "é", "日本", "%", "_", "null", 'q"q', "x\ny"]
ENUM = ["blue", "green", "red"]
POOLS: dict[str, list[Any]] = {
    "String": STRINGS,
    "Enum": ENUM,
    "Bool": [True, False],
    "I32": [-(2**31), -1, 0, 1, 2, 3, 30, 2**31 - 1],
    "I64": [-(2**63), -(2**53) - 1, -1, 0, 1, 2, 3, 30, 2**53 + 1, 2**63 - 1],
    "U32": [0, 1, 2, 3, 30, 2**32 - 1],
    "U64": [0, 1, 2, 3, 2**53 + 1, 2**63, 2**64 - 1],
    "F32": [0.1, 0.5, 1.5, -2.25, 2.0, 3.0, 1024.5],
    "F64": [0.5, 1.5, -2.25, 2.0, 3.0, 30.0, 2147483648.5],
    "Date": ["1969-12-31", "1970-01-01", "2000-02-29", "2024-06-01"],
    "DateTime": ["1969-12-31T23:59:59.999Z", "1970-01-01T00:00:00.000Z", "2024-06-01T12:00:00.123Z"],
}
"""In the JSON form of a load."""

NUMBERS = ("I32", "I64", "U32", "U64", "F32", "F64")
EXTRA: dict[str, list[Any]] = {
    "String": ["zz", "A", "日", " "],
    "Enum": ["a"],
    "I64": [-3, 5, 4294967296, 2147483648],
    "F64": [0.1, 2.5, -0.25, 3000000000.0, 1.0],
    "Date": ["2024-06-02", "1900-01-01"],
    "DateTime": ["2026-01-01T00:00:00Z", "2024-06-01T14:00:00.123+02:00", "1970-01-01"],
}
"""Also asked for, though never stored."""


def stored(rng: Random, kind: str) -> Any:
    """A value of the type as a record has it; `[T]` is a list, `Vector(2)` a vector."""
    if kind.startswith("["):
        return [stored(rng, kind[1:-1]) for _ in range(rng.choice([0, 1, 1, 2, 3]))]
    if kind.startswith("Vector"):
        return [rng.choice([0.0, 0.5, 1.0, -1.5]) for _ in range(2)]
    return rng.choice(POOLS[kind])


def asked(rng: Random, kind: str) -> tuple[str, Any]:
    """A value to compare a property of this type with, as the type that it has by itself and its JSON form."""
    if kind in NUMBERS:
        kind = rng.choice([kind, kind, kind, rng.choice(NUMBERS)])
        value = rng.choice([*POOLS[kind], *POOLS[kind], *EXTRA["F64" if kind.startswith("F") else "I64"]])
        return kind, _fitting(value, kind)
    return kind, rng.choice([*POOLS[kind], *POOLS[kind], *EXTRA.get(kind, [])])


def _fitting(value: Any, kind: str) -> Any:
    """Parameters are checked against the range of their type."""
    low, high = {"I32": (-(2**31), 2**31 - 1), "U32": (0, 2**32 - 1), "U64": (0, 2**64 - 1)}.get(
        kind, (-(2**63), 2**63 - 1)
    )
    return value if kind.startswith("F") else max(low, min(high, value))


def literal(value: Any, kind: str) -> str:
    """The value as a literal of the query language."""
    if kind == "Date":
        return f'date("{value}")'
    if kind == "DateTime":
        return f'datetime("{value}")'
    if kind in ("String", "Enum"):
        return json.dumps(value, ensure_ascii=False)
    if kind == "Bool":
        return "true" if value else "false"
    return f"{value:f}" if isinstance(value, float) else str(value)


def declared(kind: str) -> str:
    """The type of a parameter for values of this type."""
    return "String" if kind == "Enum" else kind
