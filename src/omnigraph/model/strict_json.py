"""Strict JSON: an object names each member once, and `NaN` and `Infinity` are not values."""

from __future__ import annotations

import json
from typing import Any, NoReturn


def members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """The members of an object; raises `ValueError` when one occurs twice. For `object_pairs_hook`."""
    found = dict(pairs)
    if len(found) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"duplicate member '{twice}'")
    return found


def refuse_constant(word: str) -> NoReturn:
    """For `parse_constant`: these words are numbers in Python and nothing in JSON."""
    raise ValueError(f"{word} is not a JSON value")


DECODER = json.JSONDecoder(object_pairs_hook=members, parse_constant=refuse_constant)
