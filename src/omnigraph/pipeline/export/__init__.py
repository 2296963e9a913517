"""Export as a folder of files, written in parallel. Start with `run_export`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnigraph.model.late_names import late_names

if TYPE_CHECKING:
    from omnigraph.pipeline.export.run_export import ExportResult as ExportResult
    from omnigraph.pipeline.export.run_export import export_to as export_to
else:
    __getattr__, __dir__ = late_names(
        __name__,
        {
            "run_export": (
                "ExportResult",
                "export_to",
            ),
        },
    )
