"""Bulk work: the staging area of a load or an index build, and how its files get into tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnigraph.model.late_names import late_names

if TYPE_CHECKING:
    from omnigraph.storage.bulk.area import StagingArea as StagingArea
    from omnigraph.storage.bulk.area import StagingFiles as StagingFiles
    from omnigraph.storage.bulk.area import cleanup_staging as cleanup_staging
    from omnigraph.storage.bulk.area import handed_over_id as handed_over_id
    from omnigraph.storage.bulk.area import staging_area as staging_area
    from omnigraph.storage.bulk.arrow_files import filesystem as filesystem
    from omnigraph.storage.bulk.new_columns import NewColumns as NewColumns
    from omnigraph.storage.bulk.new_columns import stage_new_columns as stage_new_columns
    from omnigraph.storage.bulk.new_columns import write_new_columns as write_new_columns
    from omnigraph.storage.bulk.shallow_clone import scratch_copy as scratch_copy
    from omnigraph.storage.bulk.staged_files import FRAGMENT_ROWS as FRAGMENT_ROWS
    from omnigraph.storage.bulk.staged_files import WrittenFragment as WrittenFragment
    from omnigraph.storage.bulk.staged_files import data_paths as data_paths
    from omnigraph.storage.bulk.staged_files import stage_bulk as stage_bulk
    from omnigraph.storage.bulk.staged_files import stage_bulk_upsert as stage_bulk_upsert
    from omnigraph.storage.bulk.staged_files import write_bulk as write_bulk
    from omnigraph.storage.bulk.staged_files import written_paths as written_paths
else:
    __getattr__, __dir__ = late_names(
        __name__,
        {
            "area": (
                "StagingArea",
                "StagingFiles",
                "cleanup_staging",
                "handed_over_id",
                "staging_area",
            ),
            "arrow_files": ("filesystem",),
            "new_columns": (
                "NewColumns",
                "stage_new_columns",
                "write_new_columns",
            ),
            "shallow_clone": ("scratch_copy",),
            "staged_files": (
                "FRAGMENT_ROWS",
                "WrittenFragment",
                "data_paths",
                "stage_bulk",
                "stage_bulk_upsert",
                "write_bulk",
                "written_paths",
            ),
        },
    )
