"""JSON lines: what was asked, then one object per row."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from omnigraph.cli.formats.cells import compact_json

if TYPE_CHECKING:
    from omnigraph.model.errors import Json


def json_lines(metadata: Mapping[str, Json], rows: Iterable[Mapping[str, Json]]) -> Iterator[str]:
    """The metadata line, marked by its `kind`, and the rows."""
    yield compact_json({"kind": "metadata", **metadata})
    for row in rows:
        yield compact_json(row)
