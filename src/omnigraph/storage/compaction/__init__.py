"""Compaction: many small fragments become few, and what is listed of versions that are gone becomes short."""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnigraph.model.late_names import late_names

if TYPE_CHECKING:
    from omnigraph.storage.compaction.fragment_rewrites import Compacted as Compacted
    from omnigraph.storage.compaction.fragment_rewrites import CompactionTarget as CompactionTarget
    from omnigraph.storage.compaction.fragment_rewrites import compact as compact
    from omnigraph.storage.compaction.fragment_rewrites import gentle_target as gentle_target
    from omnigraph.storage.compaction.fragment_rewrites import is_worth_compacting as is_worth_compacting
    from omnigraph.storage.compaction.fragment_rewrites import stage_compaction as stage_compaction
    from omnigraph.storage.compaction.fragment_rewrites import still_compacts as still_compacts
    from omnigraph.storage.compaction.fragment_rewrites import whole_target as whole_target
    from omnigraph.storage.compaction.old_row_versions import stage_old_row_versions as stage_old_row_versions
else:
    __getattr__, __dir__ = late_names(
        __name__,
        {
            "fragment_rewrites": (
                "Compacted",
                "CompactionTarget",
                "compact",
                "gentle_target",
                "is_worth_compacting",
                "stage_compaction",
                "still_compacts",
                "whole_target",
            ),
            "old_row_versions": ("stage_old_row_versions",),
        },
    )
