"""Which files a Lance commit created, so that they can be made durable: data, deletion vectors, the version itself."""

from __future__ import annotations

import os

from omnigraph.storage.durability import sync_files
from omnigraph.storage.lance_session import Dataset


def sync_version(before: Dataset | None, after: Dataset) -> None:
    """Syncs what `after` has and `before` has not, and the version files in between."""
    folder = str(after.uri)
    known = _files(before) if before is not None else set()
    created = [os.path.join(folder, path) for path in sorted(_files(after) - known)]
    first = int(before.version) + 1 if before is not None else 1
    versions = [
        os.path.join(folder, "_versions", f"{2**64 - 1 - version:020d}.manifest")
        for version in range(first, int(after.version) + 1)
    ]
    sync_files([path for path in created if os.path.exists(path)] + versions)


def _files(dataset: Dataset) -> set[str]:
    """Data and deletion files; those that a fork inherits lie elsewhere and were synced by their own writer."""
    paths: set[str] = set()
    for fragment in dataset.get_fragments():
        metadata = fragment.metadata
        paths.update(f"data/{file.path}" for file in metadata.files)
        if metadata.deletion_file is not None:
            paths.add(metadata.deletion_file.path(metadata.id))
    return paths
