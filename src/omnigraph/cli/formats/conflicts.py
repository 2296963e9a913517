"""Conflicts for people: the entity, what is wrong, and its properties at the base, on our side and on theirs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Any

from omnigraph.cli.formats.changes import printable, side_by_side, value_text

SHOWN_MAX = 20
"""A person reads so many; `--json` has them all."""
DELETED = "<no entity>"
_SIDES = (("base", "base"), ("ours", "target"), ("theirs", "source"))
"""The word for a side, and the member of a conflict that has its image."""

Conflict = Mapping[str, Any]
"""A conflict as JSON has it: `{entity_kind, type_name, entity_id?, kind, message, base?, source?, target?}`."""


def conflict_lines(conflicts: Iterable[Conflict], total: int) -> Iterator[str]:
    """The first conflicts one by one, then how many more there are."""
    shown = list(islice(conflicts, SHOWN_MAX))
    for conflict in shown:
        yield f"conflict: {conflict['kind']} {_entity(conflict)}"
        if "base" in conflict:
            yield from _images(conflict)
        else:
            yield f"    {printable(conflict['message'])}"
    if total > len(shown):
        yield f"… and {total - len(shown)} more; --json lists up to 1,000"


def _entity(conflict: Conflict) -> str:
    words = [conflict["entity_kind"], conflict["type_name"], conflict.get("entity_id")]
    return " ".join(printable(word) for word in words if word is not None)


def _images(conflict: Conflict) -> Iterator[str]:
    """The properties that are not the same on all sides; an edge has its ends among them."""
    sides = [_values(conflict[member]) for _, member in _SIDES]
    names = sorted({name for side in sides if side is not None for name in side}, key=str.encode)
    rows = [("", tuple(word for word, _ in _SIDES))]
    for name in names:
        texts = tuple(DELETED if side is None else value_text(side, name) for side in sides)
        if len(set(texts)) > 1:
            rows.append((name, texts))
    yield from side_by_side(rows, ("", "", ""))


def _values(image: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
    if image is None:
        return None
    ends = image.get("endpoints", {})
    return {**{f"({name})": end for name, end in ends.items()}, **image["properties"]}
