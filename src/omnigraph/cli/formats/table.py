"""The table: columns beside each other, cut or wrapped at a width."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import zip_longest
from typing import TYPE_CHECKING, Literal

from omnigraph.cli.formats.cells import cell_text, cut, pad, width_of

if TYPE_CHECKING:
    from omnigraph.model.errors import Json

CellLayout = Literal["truncate", "wrap"]
ELLIPSIS = "…"
NARROWEST = 8
"""A column is never forced to be narrower than this."""
NO_ROWS = "(no rows)"


def table_lines(
    columns: Sequence[str],
    rows: Sequence[Mapping[str, Json]],
    *,
    max_width: int = 80,
    layout: CellLayout = "truncate",
) -> Iterator[str]:
    """Names, a rule, and the rows. A long cell is cut with an ellipsis, or goes on below itself."""
    if not columns:
        yield NO_ROWS
        return
    cells = [[_one_line(cell_text(row.get(name))) for name in columns] for row in rows]
    widths = [_width(name, [row[place] for row in cells], max_width) for place, name in enumerate(columns)]
    yield from _laid_out(list(columns), widths, layout)
    yield "-+-".join("-" * width for width in widths)
    for row in cells:
        yield from _laid_out(row, widths, layout)


def _one_line(text: str) -> str:
    return text.replace("\r", "\\r").replace("\n", "\\n")


def _width(name: str, cells: Sequence[str], max_width: int) -> int:
    longest = max((min(width_of(cell), max_width) for cell in cells), default=0)
    return min(max(width_of(name), longest), max(max_width, NARROWEST))


def _laid_out(cells: Sequence[str], widths: Sequence[int], layout: CellLayout) -> Iterator[str]:
    """One row, on one line or on as many as its longest cell needs."""
    fit = _wrapped if layout == "wrap" else _truncated
    pieces = [fit(cell, width) for cell, width in zip(cells, widths, strict=True)]
    for line in zip_longest(*pieces, fillvalue=""):
        yield " | ".join(pad(piece, width) for piece, width in zip(line, widths, strict=True))


def _truncated(cell: str, width: int) -> list[str]:
    return [cell] if width_of(cell) <= width else [cut(cell, width - 1)[0] + ELLIPSIS]


def _wrapped(cell: str, width: int) -> list[str]:
    lines = []
    while width_of(cell) > width:
        line, cell = cut(cell, width)
        lines.append(line)
    return [*lines, cell]
