"""Comma-separated values: a line of names, then a line per row."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from omnigraph.cli.formats.cells import cell_text

if TYPE_CHECKING:
    from omnigraph.model.errors import Json

_QUOTED = frozenset(',"\r\n')


def csv_lines(columns: Sequence[str], rows: Iterable[Mapping[str, Json]]) -> Iterator[str]:
    """A cell is quoted when it has a comma, a quote or a line end. NULL is the word `null`."""
    yield ",".join(map(_quoted, columns))
    for row in rows:
        yield ",".join(_quoted(cell_text(row.get(name))) for name in columns)


def _quoted(text: str) -> str:
    if _QUOTED.isdisjoint(text):
        return text
    return '"' + text.replace('"', '""') + '"'
