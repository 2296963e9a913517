"""Diff: what differs between two snapshots, entity by entity. Start with `snapshot_diff`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnigraph.model.late_names import late_names

if TYPE_CHECKING:
    from omnigraph.history.diff.entity_changes import ChangeFilter as ChangeFilter
    from omnigraph.history.diff.entity_changes import EntityChange as EntityChange
    from omnigraph.history.diff.entity_changes import change_filter as change_filter
    from omnigraph.history.diff.images import Endpoints as Endpoints
    from omnigraph.history.diff.images import Image as Image
    from omnigraph.history.diff.images import read_images as read_images
    from omnigraph.history.diff.snapshot_diff import Diff as Diff
    from omnigraph.history.diff.snapshot_diff import DiffStats as DiffStats
    from omnigraph.history.diff.snapshot_diff import TypeStats as TypeStats
    from omnigraph.history.diff.snapshot_diff import diff_snapshots as diff_snapshots
    from omnigraph.history.diff.snapshot_diff import table_side as table_side
    from omnigraph.history.diff.table_changes import ChangedRows as ChangedRows
    from omnigraph.history.diff.table_changes import Op as Op
    from omnigraph.history.diff.table_changes import align as align
    from omnigraph.history.diff.table_changes import is_same_table as is_same_table
    from omnigraph.history.diff.table_changes import rows_differ as rows_differ
    from omnigraph.history.diff.table_changes import table_changes as table_changes
    from omnigraph.history.diff.table_side import TableSide as TableSide
else:
    __getattr__, __dir__ = late_names(
        __name__,
        {
            "entity_changes": (
                "ChangeFilter",
                "EntityChange",
                "change_filter",
            ),
            "images": (
                "Endpoints",
                "Image",
                "read_images",
            ),
            "snapshot_diff": (
                "Diff",
                "DiffStats",
                "TypeStats",
                "diff_snapshots",
                "table_side",
            ),
            "table_changes": (
                "ChangedRows",
                "Op",
                "align",
                "is_same_table",
                "rows_differ",
                "table_changes",
            ),
            "table_side": ("TableSide",),
        },
    )
