"""Export as JSON lines: entities as text, in the order of their ids, in bounded memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnigraph.model.late_names import late_names

if TYPE_CHECKING:
    from omnigraph.history.export.json_export import UnknownType as UnknownType
    from omnigraph.history.export.json_export import export_lines as export_lines
    from omnigraph.history.export.json_export import exported_columns as exported_columns
    from omnigraph.history.export.json_export import exported_tables as exported_tables
    from omnigraph.history.export.json_export import has_foreign_commits as has_foreign_commits
    from omnigraph.history.export.json_export import present_properties as present_properties
    from omnigraph.history.export.json_lines import Dates as Dates
    from omnigraph.history.export.json_lines import LineWriter as LineWriter
    from omnigraph.history.export.json_lines import ValueNotExportable as ValueNotExportable
    from omnigraph.history.export.json_lines import column_texts as column_texts
    from omnigraph.history.export.manifest_line import with_manifest as with_manifest
    from omnigraph.history.export.ordered_scan import SCAN_BATCH_ROWS as SCAN_BATCH_ROWS
    from omnigraph.history.export.ordered_scan import SortedRun as SortedRun
    from omnigraph.history.export.ordered_scan import sort_by_id as sort_by_id
else:
    __getattr__, __dir__ = late_names(
        __name__,
        {
            "json_export": (
                "UnknownType",
                "export_lines",
                "exported_columns",
                "exported_tables",
                "has_foreign_commits",
                "present_properties",
            ),
            "json_lines": (
                "Dates",
                "LineWriter",
                "ValueNotExportable",
                "column_texts",
            ),
            "manifest_line": ("with_manifest",),
            "ordered_scan": (
                "SCAN_BATCH_ROWS",
                "SortedRun",
                "sort_by_id",
            ),
        },
    )
