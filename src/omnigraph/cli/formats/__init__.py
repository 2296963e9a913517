"""Formats: rows, changes and conflicts as lines of text. Pure functions; start with `result_lines` and `diff_lines`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnigraph.model.late_names import late_names

if TYPE_CHECKING:
    from omnigraph.cli.formats.change_blocks import block_lines as block_lines
    from omnigraph.cli.formats.change_blocks import property_lines as property_lines
    from omnigraph.cli.formats.changes import diff_lines as diff_lines
    from omnigraph.cli.formats.changes import printable as printable
    from omnigraph.cli.formats.changes import stat_lines as stat_lines
    from omnigraph.cli.formats.changes import totals as totals
    from omnigraph.cli.formats.choice import ResultFormat as ResultFormat
    from omnigraph.cli.formats.choice import chosen_format as chosen_format
    from omnigraph.cli.formats.commit_graph import commit_graph_lines as commit_graph_lines
    from omnigraph.cli.formats.conflicts import conflict_lines as conflict_lines
    from omnigraph.cli.formats.dates import with_dates as with_dates
    from omnigraph.cli.formats.result import TableStyle as TableStyle
    from omnigraph.cli.formats.result import result_lines as result_lines
    from omnigraph.cli.formats.result import view_of as view_of
    from omnigraph.cli.formats.streamed_json import json_stream as json_stream
    from omnigraph.cli.formats.table import CellLayout as CellLayout
    from omnigraph.cli.formats.table import table_lines as table_lines
else:
    __getattr__, __dir__ = late_names(
        __name__,
        {
            "change_blocks": ("block_lines", "property_lines"),
            "dates": ("with_dates",),
            "changes": ("diff_lines", "printable", "stat_lines", "totals"),
            "choice": ("ResultFormat", "chosen_format"),
            "commit_graph": ("commit_graph_lines",),
            "conflicts": ("conflict_lines",),
            "streamed_json": ("json_stream",),
            "result": ("TableStyle", "result_lines", "view_of"),
            "table": ("CellLayout", "table_lines"),
        },
    )
