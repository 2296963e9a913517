"""Upkeep: indexes and compaction, in commits that change no entity."""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnigraph.model.late_names import late_names

if TYPE_CHECKING:
    from omnigraph.write.upkeep.indexing import IndexReport as IndexReport
    from omnigraph.write.upkeep.indexing import IndexStatus as IndexStatus
    from omnigraph.write.upkeep.indexing import ensure_indices as ensure_indices
    from omnigraph.write.upkeep.indexing import index_status as index_status
    from omnigraph.write.upkeep.optimize_tables import OptimizeReport as OptimizeReport
    from omnigraph.write.upkeep.optimize_tables import optimize as optimize
else:
    __getattr__, __dir__ = late_names(
        __name__,
        {
            "indexing": (
                "IndexReport",
                "IndexStatus",
                "ensure_indices",
                "index_status",
            ),
            "optimize_tables": (
                "OptimizeReport",
                "optimize",
            ),
        },
    )
