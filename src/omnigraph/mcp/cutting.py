"""Cutting: a result that is too large for a conversation is sent in parts, and says how to get the next one. Pure."""

from __future__ import annotations

import json
from typing import Any

MAX_BYTES = 48 * 1024
"""Of one result, as JSON."""


def cut(document: dict[str, Any], member: str | None, offset: int, most: int = MAX_BYTES) -> dict[str, Any]:
    """The document with as much of one member as fits, from an offset on; `rest` says what is left and where."""
    if member is None or member not in document:
        return document
    whole = document[member]
    kept = _text(whole[offset:], most) if isinstance(whole, str) else _items(whole[offset:], most)
    end = offset + len(kept)
    result = document | {member: kept}
    if end < len(whole):
        unit = "characters" if isinstance(whole, str) else member
        result["rest"] = {
            "offset": end,
            "remaining": len(whole) - end,
            "how": f"{len(whole) - end} more {unit}: call the same tool with the same arguments and offset {end}",
        }
    return result


def _text(whole: str, most: int) -> str:
    """A prefix of at most so many bytes."""
    return whole.encode()[:most].decode("utf-8", "ignore")


def _items(whole: list[Any], most: int) -> list[Any]:
    """The first items, as many as fit; one that does not fit alone is replaced by its size."""
    kept: list[Any] = []
    used = 0
    for item in whole:
        size = len(json.dumps(item, ensure_ascii=False).encode())
        if size > most and not kept:
            return [{"too_large": True, "bytes": size, "hint": "ask for fewer properties of it"}]
        if used + size > most:
            break
        kept.append(item)
        used += size + 1
    return kept
