"""Cells: one JSON value as the text of a cell, and how many columns of a terminal a text takes."""

from __future__ import annotations

import json
import unicodedata
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from omnigraph.model.errors import Json


def cell_text(value: Json) -> str:
    """Text as it is; null, truth, numbers, lists and objects as compact JSON."""
    return value if isinstance(value, str) else compact_json(value)


def compact_json(value: object) -> str:
    """JSON without blanks, text unescaped."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def width_of(text: str) -> int:
    """Terminal columns: most East Asian characters take two, combining marks none."""
    if text.isascii():
        return len(text)
    return sum(_columns(character) for character in text)


def cut(text: str, width: int) -> tuple[str, str]:
    """The text split after as many characters as fit into `width`; at least one, so that wrapping gets on."""
    if text.isascii():
        return text[:width], text[width:]
    taken = 0
    for place, character in enumerate(text):
        taken += _columns(character)
        if taken > width and place > 0:
            return text[:place], text[place:]
    return text, ""


def pad(text: str, width: int) -> str:
    return text + " " * (width - width_of(text))


def _columns(character: str) -> int:
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1
