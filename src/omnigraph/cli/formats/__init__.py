"""Result formats: the rows of a read as lines of text. Pure functions; start with `result_lines`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnigraph.model.late_names import late_names

if TYPE_CHECKING:
    from omnigraph.cli.formats.choice import ResultFormat as ResultFormat
    from omnigraph.cli.formats.choice import chosen_format as chosen_format
    from omnigraph.cli.formats.result import TableStyle as TableStyle
    from omnigraph.cli.formats.result import result_lines as result_lines
    from omnigraph.cli.formats.result import view_of as view_of
    from omnigraph.cli.formats.table import CellLayout as CellLayout
    from omnigraph.cli.formats.table import table_lines as table_lines
else:
    __getattr__, __dir__ = late_names(
        __name__,
        {
            "choice": ("ResultFormat", "chosen_format"),
            "result": ("TableStyle", "result_lines", "view_of"),
            "table": ("CellLayout", "table_lines"),
        },
    )
