"""A read response as text: which lines each format prints, header included."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from omnigraph.cli.formats.choice import ResultFormat
from omnigraph.cli.formats.delimited import csv_lines
from omnigraph.cli.formats.json_lines import json_lines
from omnigraph.cli.formats.key_values import key_value_lines
from omnigraph.cli.formats.table import CellLayout, table_lines
from omnigraph.model.late_dataclass import dataclass

if TYPE_CHECKING:
    from omnigraph.model.errors import Json


@dataclass(frozen=True, slots=True)
class TableStyle:
    """How wide a column of a table may be, and what happens to a longer cell."""

    max_width: int = 80
    layout: CellLayout = "truncate"


@dataclass(frozen=True, slots=True)
class ResultView:
    """What the formats see of a read response. The response may come from an engine or from a server."""

    document: Mapping[str, Json]
    query_name: str
    target: Mapping[str, str | None]
    columns: Sequence[str]
    rows: Sequence[Mapping[str, Json]]


def view_of(document: Mapping[str, Any]) -> ResultView:
    """The view of a read response. Without `columns` they are the names that occur in the rows, sorted."""
    rows = document["rows"]
    columns = document.get("columns") or sorted({name for row in rows for name in row})
    return ResultView(document, document["query_name"], document["target"], columns, rows)


def header_line(view: ResultView) -> str:
    """How many rows came from where."""
    snapshot = view.target.get("snapshot")
    source = f"snapshot {snapshot}" if snapshot is not None else f"branch {view.target.get('branch')}"
    return f"{len(view.rows)} rows from {source} via {view.query_name}"


def result_lines(view: ResultView, form: ResultFormat, style: TableStyle) -> Iterator[str]:
    """Every line that the format prints, without line ends."""
    match form:
        case ResultFormat.JSON:
            yield json.dumps(view.document, indent=2, ensure_ascii=False)
        case ResultFormat.JSONL:
            metadata = {name: view.document[name] for name in ("query_name", "target", "row_count")}
            yield from json_lines(metadata, view.rows)
        case ResultFormat.CSV:
            yield from csv_lines(view.columns, view.rows)
        case ResultFormat.KV:
            yield header_line(view)
            yield from key_value_lines(view.columns, view.rows)
        case ResultFormat.TABLE:
            yield header_line(view)
            yield from table_lines(view.columns, view.rows, max_width=style.max_width, layout=style.layout)
