"""Which files a Lance commit created, so that they can be made durable: data, blobs, deletions, indexes, versions."""

from __future__ import annotations

import os
from collections.abc import Iterable

from omnigraph.storage.durability import sync_files
from omnigraph.storage.lance_session import Dataset


def sync_version(before: Dataset | None, after: Dataset) -> None:
    """Syncs what `after` has and `before` has not, the version files in between, and the folders that hold them."""
    folder = str(after.uri)
    known = _files(before) if before is not None else set()
    created = [os.path.join(folder, path) for path in sorted(_files(after) - known)]
    first = int(before.version) + 1 if before is not None else 1
    versions = [
        os.path.join(folder, "_versions", f"{2**64 - 1 - version:020d}.manifest")
        for version in range(first, int(after.version) + 1)
    ]
    files = [*_on_disk(created), *versions]
    sync_files([*files, *_folders_above(files, folder)])


def _files(dataset: Dataset) -> set[str]:
    """Files and folders of files; those that a fork inherits lie elsewhere and were synced by their own writer."""
    paths: set[str] = set()
    for fragment in dataset.get_fragments():
        metadata = fragment.metadata
        for file in metadata.files:
            paths.update((f"data/{file.path}", f"data/{os.path.splitext(file.path)[0]}"))  # large blobs lie beside it
        if metadata.deletion_file is not None:
            paths.add(metadata.deletion_file.path(metadata.id))
    for index in dataset.describe_indices():
        paths.update(f"_indices/{segment.uuid}" for segment in index.segments)
    return paths


def _on_disk(paths: Iterable[str]) -> list[str]:
    """The paths that exist here; a folder stands for the files in it."""
    found: list[str] = []
    for path in paths:
        if os.path.isdir(path):
            found += sorted(entry.path for entry in os.scandir(path) if entry.is_file())
        elif os.path.exists(path):
            found.append(path)
    return found


def _folders_above(files: Iterable[str], top: str) -> list[str]:
    """The folders between the files and the dataset: the first file of its kind made its folder as well."""
    folders: set[str] = set()
    for path in files:
        while (path := os.path.dirname(path)) != top and path not in folders:
            folders.add(path)
    return sorted(folders)
