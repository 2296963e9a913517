"""Upkeep: indexes and compaction, in commits that change no entity."""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnigraph.model.late_names import late_names

if TYPE_CHECKING:
    from omnigraph.write.upkeep.background import Upkeep as Upkeep
    from omnigraph.write.upkeep.background import UpkeepPlan as UpkeepPlan
    from omnigraph.write.upkeep.background import UpkeepStatus as UpkeepStatus
    from omnigraph.write.upkeep.claims import BranchUnreadable as BranchUnreadable
    from omnigraph.write.upkeep.cleanup_report import CleanedTable as CleanedTable
    from omnigraph.write.upkeep.cleanup_report import CleanupReport as CleanupReport
    from omnigraph.write.upkeep.cleanup_versions import cleanup as cleanup
    from omnigraph.write.upkeep.indexing import IndexReport as IndexReport
    from omnigraph.write.upkeep.indexing import IndexStatus as IndexStatus
    from omnigraph.write.upkeep.indexing import ensure_indices as ensure_indices
    from omnigraph.write.upkeep.indexing import index_status as index_status
    from omnigraph.write.upkeep.optimize_tables import OptimizedTable as OptimizedTable
    from omnigraph.write.upkeep.optimize_tables import OptimizeReport as OptimizeReport
    from omnigraph.write.upkeep.optimize_tables import optimize as optimize
    from omnigraph.write.upkeep.repair_drift import RepairedTable as RepairedTable
    from omnigraph.write.upkeep.repair_drift import RepairReport as RepairReport
    from omnigraph.write.upkeep.repair_drift import repair as repair
    from omnigraph.write.upkeep.retention import RetentionPolicy as RetentionPolicy
    from omnigraph.write.upkeep.retention import policy_of as policy_of
else:
    __getattr__, __dir__ = late_names(
        __name__,
        {
            "background": (
                "Upkeep",
                "UpkeepPlan",
                "UpkeepStatus",
            ),
            "claims": ("BranchUnreadable",),
            "cleanup_report": (
                "CleanedTable",
                "CleanupReport",
            ),
            "cleanup_versions": ("cleanup",),
            "indexing": (
                "IndexReport",
                "IndexStatus",
                "ensure_indices",
                "index_status",
            ),
            "optimize_tables": (
                "OptimizeReport",
                "OptimizedTable",
                "optimize",
            ),
            "repair_drift": (
                "RepairReport",
                "RepairedTable",
                "repair",
            ),
            "retention": (
                "RetentionPolicy",
                "policy_of",
            ),
        },
    )
