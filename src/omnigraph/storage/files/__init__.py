"""Files of the local disk: syncing, OS locks, the user's cache folder."""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnigraph.model.late_names import late_names

if TYPE_CHECKING:
    from omnigraph.storage.files.durability import Durability as Durability
    from omnigraph.storage.files.durability import sync_files as sync_files
    from omnigraph.storage.files.durability import sync_folder as sync_folder
    from omnigraph.storage.files.file_locks import FileLock as FileLock
    from omnigraph.storage.files.user_cache import cache_folder as cache_folder
else:
    __getattr__, __dir__ = late_names(
        __name__,
        {
            "durability": (
                "Durability",
                "sync_files",
                "sync_folder",
            ),
            "file_locks": ("FileLock",),
            "user_cache": ("cache_folder",),
        },
    )
