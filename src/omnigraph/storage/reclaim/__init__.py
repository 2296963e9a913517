"""Reclaim: old versions of tables are listed, explained and removed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnigraph.model.late_names import late_names

if TYPE_CHECKING:
    from omnigraph.storage.reclaim.condemned import Condemned as Condemned
    from omnigraph.storage.reclaim.condemned import CondemnedVersions as CondemnedVersions
    from omnigraph.storage.reclaim.old_versions import OldVersions as OldVersions
    from omnigraph.storage.reclaim.old_versions import Removal as Removal
    from omnigraph.storage.reclaim.old_versions import VersionOnDisk as VersionOnDisk
else:
    __getattr__, __dir__ = late_names(
        __name__,
        {
            "condemned": (
                "Condemned",
                "CondemnedVersions",
            ),
            "old_versions": (
                "OldVersions",
                "Removal",
                "VersionOnDisk",
            ),
        },
    )
