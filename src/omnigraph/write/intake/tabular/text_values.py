"""Cells of text as JSON values of a declared type.

Exact or not at all: a text that is no such value stays a text, and strict decoding then refuses it with its place.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

from omnigraph.model.types import PropType, Scalar

Converter = Callable[[str], Any]

_INTEGER = re.compile(r"-?[0-9]{1,40}")
_SIGNED = re.compile(r"[+-]?[0-9]{1,40}")
_NUMBER = re.compile(r"-?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?")
_COMPACT_DATE = re.compile(r"[0-9]{8}")


def converter(declared: PropType) -> Converter | None:
    """What turns a text into a value of this type; None when the text is the value."""
    if declared.is_list or declared.is_vector:
        return _array
    scalar = declared.scalar
    if scalar is Scalar.BOOL:
        return _truth
    if scalar.is_integer:
        return _integer
    if scalar.is_float:
        return _number
    return _moment if scalar in (Scalar.DATE, Scalar.DATETIME) else None


def _truth(text: str) -> bool | str:
    return text == "true" if text in ("true", "false") else text


def _integer(text: str) -> int | str:
    return int(text) if _INTEGER.fullmatch(text) else text


def _number(text: str) -> float | int | str:
    return float(text) if _NUMBER.fullmatch(text) else text


def _moment(text: str) -> int | str:
    """Days or milliseconds as a plain integer; eight digits are a date without dashes, as everywhere else.

    With a sign they are a number: so an export writes them.
    """
    return int(text) if _SIGNED.fullmatch(text) and not _COMPACT_DATE.fullmatch(text) else text


def _array(text: str) -> Any:
    """Lists and vectors are written as JSON arrays."""
    if not text.startswith("["):
        return text
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text
