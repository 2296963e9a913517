"""Merge: joining lines of history. Start with `run_merge`; the decisions are in `truth_table`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnigraph.model.late_names import late_names

if TYPE_CHECKING:
    from omnigraph.merge.bases import MergeBase as MergeBase
    from omnigraph.merge.bases import NoCommonHistory as NoCommonHistory
    from omnigraph.merge.conflicts import MergeConflict as MergeConflict
    from omnigraph.merge.conflicts import MergeConflicts as MergeConflicts
    from omnigraph.merge.converge import MergeEdges as MergeEdges
    from omnigraph.merge.plan import MergeOptions as MergeOptions
    from omnigraph.merge.plan import MergePlan as MergePlan
    from omnigraph.merge.plan import plan_merge as plan_merge
    from omnigraph.merge.resolution import InvalidResolution as InvalidResolution
    from omnigraph.merge.resolution import OnConflict as OnConflict
    from omnigraph.merge.resolution import Resolve as Resolve
    from omnigraph.merge.restore import Restore as Restore
    from omnigraph.merge.restore import RestoreRefused as RestoreRefused
    from omnigraph.merge.restore import RestoreResult as RestoreResult
    from omnigraph.merge.restore import restore_branch as restore_branch
    from omnigraph.merge.result import MergeResult as MergeResult
    from omnigraph.merge.revert import CannotRevert as CannotRevert
    from omnigraph.merge.revert import Revert as Revert
    from omnigraph.merge.revert import RevertConflicts as RevertConflicts
    from omnigraph.merge.revert import RevertResult as RevertResult
    from omnigraph.merge.revert import revert_commits as revert_commits
    from omnigraph.merge.run_merge import Merge as Merge
    from omnigraph.merge.run_merge import delete_source as delete_source
    from omnigraph.merge.run_merge import merge as merge
    from omnigraph.merge.undo import UndoResult as UndoResult
else:
    __getattr__, __dir__ = late_names(
        __name__,
        {
            "bases": (
                "MergeBase",
                "NoCommonHistory",
            ),
            "conflicts": (
                "MergeConflict",
                "MergeConflicts",
            ),
            "converge": ("MergeEdges",),
            "plan": (
                "MergeOptions",
                "MergePlan",
                "plan_merge",
            ),
            "resolution": (
                "InvalidResolution",
                "OnConflict",
                "Resolve",
            ),
            "result": ("MergeResult",),
            "run_merge": (
                "Merge",
                "delete_source",
                "merge",
            ),
            "restore": (
                "Restore",
                "RestoreRefused",
                "RestoreResult",
                "restore_branch",
            ),
            "revert": (
                "CannotRevert",
                "Revert",
                "RevertConflicts",
                "RevertResult",
                "revert_commits",
            ),
            "undo": ("UndoResult",),
        },
    )
