"""Key and value: one line per cell, rows apart by a blank line."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from omnigraph.cli.formats.cells import cell_text
from omnigraph.cli.formats.table import NO_ROWS

if TYPE_CHECKING:
    from omnigraph.model.errors import Json


def key_value_lines(columns: Sequence[str], rows: Sequence[Mapping[str, Json]]) -> Iterator[str]:
    """`row N`, then `column: value`."""
    if not rows:
        yield NO_ROWS
    for number, row in enumerate(rows, start=1):
        if number > 1:
            yield ""
        yield f"row {number}"
        for name in columns:
            yield f"{name}: {cell_text(row.get(name))}"
