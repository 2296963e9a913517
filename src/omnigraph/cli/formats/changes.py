"""Changes for people: `+` for a new entity, `-` for one that is gone, `~` for one that changed, with its properties."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from omnigraph.cli.formats.cells import cell_text, cut, pad, width_of
from omnigraph.cli.output import RED, YELLOW, paint

GREEN = "32"
SIGNS = {"insert": ("+", GREEN), "update": ("~", YELLOW), "delete": ("-", RED)}
NULL, ABSENT = "<null>", "<absent>"
PLAIN_COLUMNS = 120
"""The width of a diff that goes to a file or a pipe."""

Change = Mapping[str, Any]
"""A change object as JSON has it: `{kind, type: {id, name}, id, op, before?, after?}`."""


def diff_lines(changes: Iterable[Change]) -> Iterator[str]:
    """Every change with its properties, before and after side by side."""
    for change in changes:
        sign, color = SIGNS[change["op"]]
        yield paint(f"{sign} {entity_name(change)}{_ends(change)}", color, sys.stdout)
        yield from _property_lines(change)


def entity_name(change: Change) -> str:
    """`node Author le-guin`"""
    return f"{change['kind']} {change['type']['name']} {printable(change['id'])}"


def stat_lines(stats: Mapping[str, Any]) -> Iterator[str]:
    """How many entities of each type differ, and in all."""
    rows = [(f"{each['kind']} {each['type_name']}", each) for each in stats["types"]]
    widest = max((width_of(name) for name, _ in rows), default=0)
    for name, each in rows:
        yield f"{pad(name, widest)}  {_counts(each)}"
    yield totals(stats) if rows else "no differences"


def totals(stats: Mapping[str, Any]) -> str:
    """`4 inserted, 2 updated, 1 deleted`"""
    return f"{stats['inserts']} inserted, {stats['updates']} updated, {stats['deletes']} deleted"


def _counts(stats: Mapping[str, Any]) -> str:
    counted = (("insert", stats["inserts"]), ("update", stats["updates"]), ("delete", stats["deletes"]))
    shown = [(SIGNS[op], f"{SIGNS[op][0]}{count}", count) for op, count in counted]
    return " ".join(paint(text, color, sys.stdout) if count else text for (_, color), text, count in shown)


def _ends(change: Change) -> str:
    """Where an edge goes, and where it went."""
    moves = " => ".join(endpoint_texts(change))
    return f"  {moves}" if moves else ""


def endpoint_texts(change: Change) -> list[str]:
    """`a -> b` of each image, once if they are the same; none for a node."""
    texts = []
    for image in (change.get("before"), change.get("after")):
        if image is not None and "endpoints" in image:
            ends = image["endpoints"]
            texts.append(f"{printable(ends['from'])} -> {printable(ends['to'])}")
    return list(dict.fromkeys(texts))


# --- properties -------------------------------------------------------------------------------------------


def _property_lines(change: Change) -> Iterator[str]:
    rows = changed_properties(change)
    if change["op"] == "update":
        yield from side_by_side([(name, (old, new)) for name, old, new in rows], (RED, GREEN), between=" -> ")
        return
    color = SIGNS[change["op"]][1]
    only = [(name, (new if old == ABSENT else old,)) for name, old, new in rows]
    yield from side_by_side([row for row in only if row[1] != (NULL,)], (color,))


def changed_properties(change: Change) -> list[tuple[str, str, str]]:
    """The properties that differ between the images, by name, as texts: `(name, before, after)`."""
    old, new = ((change.get(side) or {}).get("properties", {}) for side in ("before", "after"))
    names = sorted({*old, *new}, key=str.encode)
    return [
        (name, value_text(old, name), value_text(new, name))
        for name in names
        if (name in old, old.get(name)) != (name in new, new.get(name))
    ]


def value_text(properties: Mapping[str, Any], name: str) -> str:
    """The value as a cell; null and an absent property have words of their own."""
    if name not in properties:
        return ABSENT
    value = properties[name]
    return NULL if value is None else printable(cell_text(value))


def side_by_side(
    rows: Sequence[tuple[str, tuple[str, ...]]], colors: Sequence[str], between: str = "  "
) -> Iterator[str]:
    """`name  value  value`, in columns that fit the terminal; a value that is longer is cut with `…`."""
    names = max((width_of(name) for name, _ in rows), default=0)
    room = _room(names, len(colors))
    cut_rows = [(name, [_cut(value, room) for value in values]) for name, values in rows]
    widths = [max(width_of(values[place]) for _, values in cut_rows) for place in range(len(colors))] if rows else []
    for name, values in cut_rows:
        padded = [pad(text, width) for text, width in zip(values, widths, strict=True)]
        padded[-1] = values[-1]
        cells = [paint(text, color, sys.stdout) if color else text for text, color in zip(padded, colors, strict=True)]
        yield f"    {pad(name, names)}  {between.join(cells)}"


def _room(names: int, columns: int) -> int:
    import shutil

    whole = shutil.get_terminal_size().columns if sys.stdout.isatty() else PLAIN_COLUMNS
    return max(16, (whole - 4 - names) // columns - 4)


def _cut(text: str, width: int) -> str:
    return text if width_of(text) <= width else f"{cut(text, width - 1)[0]}…"


def printable(text: str) -> str:
    """Without characters that a terminal would obey: a value must not move the cursor or hide a line."""
    if text.isprintable():
        return text
    return "".join(each if each.isprintable() else each.encode("unicode_escape").decode() for each in text)
