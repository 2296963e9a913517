"""Diff: what differs between two snapshots, entity by entity. Start with `snapshot_diff`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnigraph.model.late_names import late_names

if TYPE_CHECKING:
    from omnigraph.history.diff.cells import Mask as Mask
    from omnigraph.history.diff.entity_changes import ChangeFilter as ChangeFilter
    from omnigraph.history.diff.entity_changes import EntityChange as EntityChange
    from omnigraph.history.diff.entity_changes import OpName as OpName
    from omnigraph.history.diff.entity_changes import change_filter as change_filter
    from omnigraph.history.diff.entity_changes import type_id as type_id
    from omnigraph.history.diff.images import Endpoints as Endpoints
    from omnigraph.history.diff.images import Image as Image
    from omnigraph.history.diff.images import read_images as read_images
    from omnigraph.history.diff.row_diff import ChangedRows as ChangedRows
    from omnigraph.history.diff.row_diff import Op as Op
    from omnigraph.history.diff.row_diff import align as align
    from omnigraph.history.diff.row_diff import is_same_table as is_same_table
    from omnigraph.history.diff.row_diff import rows_differ as rows_differ
    from omnigraph.history.diff.row_diff import rows_side_by_side as rows_side_by_side
    from omnigraph.history.diff.row_diff import table_changes as table_changes
    from omnigraph.history.diff.side import Lift as Lift
    from omnigraph.history.diff.side import TableSide as TableSide
    from omnigraph.history.diff.side import is_blob as is_blob
    from omnigraph.history.diff.snapshot_diff import ComparedTable as ComparedTable
    from omnigraph.history.diff.snapshot_diff import Diff as Diff
    from omnigraph.history.diff.snapshot_diff import DiffStats as DiffStats
    from omnigraph.history.diff.snapshot_diff import TypeStats as TypeStats
    from omnigraph.history.diff.snapshot_diff import changes_with_images as changes_with_images
    from omnigraph.history.diff.snapshot_diff import compared_tables as compared_tables
    from omnigraph.history.diff.snapshot_diff import diff_snapshots as diff_snapshots
    from omnigraph.history.diff.snapshot_diff import is_same_pin as is_same_pin
    from omnigraph.history.diff.snapshot_diff import table_side as table_side
else:
    __getattr__, __dir__ = late_names(
        __name__,
        {
            "cells": ("Mask",),
            "entity_changes": (
                "ChangeFilter",
                "EntityChange",
                "change_filter",
                "type_id",
                "OpName",
            ),
            "images": (
                "Endpoints",
                "Image",
                "read_images",
            ),
            "snapshot_diff": (
                "ComparedTable",
                "Diff",
                "DiffStats",
                "TypeStats",
                "changes_with_images",
                "compared_tables",
                "diff_snapshots",
                "is_same_pin",
                "table_side",
            ),
            "row_diff": (
                "ChangedRows",
                "Op",
                "align",
                "is_same_table",
                "rows_differ",
                "rows_side_by_side",
                "table_changes",
            ),
            "side": (
                "Lift",
                "TableSide",
                "is_blob",
            ),
        },
    )
