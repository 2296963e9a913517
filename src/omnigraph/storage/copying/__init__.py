"""Copying a graph to another root: the claim on the target, whole datasets file by file, and tables filled anew."""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnigraph.model.late_names import late_names

if TYPE_CHECKING:
    from omnigraph.storage.copying.datasets import AUDIT as AUDIT
    from omnigraph.storage.copying.datasets import SMALL_FOLDERS as SMALL_FOLDERS
    from omnigraph.storage.copying.datasets import BaseLineageMissing as BaseLineageMissing
    from omnigraph.storage.copying.datasets import DatasetFiles as DatasetFiles
    from omnigraph.storage.copying.datasets import dataset_files as dataset_files
    from omnigraph.storage.copying.datasets import newest_version as newest_version
    from omnigraph.storage.copying.fill import create_manifest as create_manifest
    from omnigraph.storage.copying.fill import create_table as create_table
    from omnigraph.storage.copying.move_files import copy_files as copy_files
    from omnigraph.storage.copying.move_files import sync_copied as sync_copied
    from omnigraph.storage.copying.target import UNFINISHED_CLONE as UNFINISHED_CLONE
    from omnigraph.storage.copying.target import ClaimedTarget as ClaimedTarget
    from omnigraph.storage.copying.target import CloneTargetExists as CloneTargetExists
    from omnigraph.storage.copying.target import claimed as claimed
    from omnigraph.storage.copying.target import is_unfinished_clone as is_unfinished_clone
else:
    __getattr__, __dir__ = late_names(
        __name__,
        {
            "datasets": (
                "AUDIT",
                "SMALL_FOLDERS",
                "BaseLineageMissing",
                "DatasetFiles",
                "dataset_files",
                "newest_version",
            ),
            "fill": (
                "create_manifest",
                "create_table",
            ),
            "move_files": (
                "copy_files",
                "sync_copied",
            ),
            "target": (
                "UNFINISHED_CLONE",
                "ClaimedTarget",
                "CloneTargetExists",
                "claimed",
                "is_unfinished_clone",
            ),
        },
    )
