"""Which files a Lance commit created, so that they can be made durable: data, blobs, deletions, indexes, versions.

A commit of ours carries the operation that it staged, and the operation names every file that it wrote: the cost
follows the change. Where there is no such operation, two versions are compared.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator
from typing import Any

from omnigraph.model.errors import SyncFailed
from omnigraph.storage.files import sync_files
from omnigraph.storage.lance.session import Dataset, LanceOperation
from omnigraph.storage.layout import manifest_file

_ARROW_END = b"ARROW1"


def sync_version_file(after: Dataset) -> None:
    """Syncs the file of a version and its folder. Everything that it names was synced before it was made."""
    _sync(after, (), first=int(after.version))


def sync_version(before: Dataset | None, after: Dataset) -> None:
    """Syncs what `after` has and `before` has not, the version files in between, and the folders that hold them."""
    known = set(_files(before)) if before is not None else set()
    first = int(before.version) + 1 if before is not None else 1
    _sync(after, sorted(set(_files(after)) - known), first)


def _sync(after: Dataset, created: Iterable[str], first: int) -> None:
    folder = str(after.uri)
    versions = [manifest_file(folder, version) for version in range(first, int(after.version) + 1)]
    sync_files([*_on_disk(os.path.join(folder, path) for path in created), *versions], folder)


def sync_operation(folder: str, operation: Any) -> bool:
    """Syncs the files that an operation has staged for a table in this folder, before any version names them.

    False, and nothing synced, when the operation does not tell its files.
    """
    created = files_of_operation(operation)
    if created:
        sync_files(_on_disk(os.path.join(folder, path) for path in created), folder)
    return created is not None


def require_whole(folder: str, operation: Any) -> None:
    """Refuses files that an operation staged and that are shorter than it says.

    Lance does not always notice that the last write to a local file failed, as on a full or broken disk. Once a version
    names such a file, nothing can be read any more: so it is looked at before.
    """
    fragments, touched = _fragments_of(operation)
    require_whole_fragments(folder, fragments)
    for fragment in (*fragments, *touched):
        for path in _deletions_of_fragment(fragment):
            _require_end(os.path.join(folder, path))


def require_whole_fragments(folder: str, fragments: Iterable[Any]) -> None:
    for fragment in fragments:
        for file in fragment.files:
            _require_size(os.path.join(folder, "data", file._path), file.file_size_bytes)


def _require_size(path: str, size: int | None) -> None:
    try:
        found = os.stat(path).st_size
    except FileNotFoundError:
        return  # of a fragment that another lineage wrote
    except OSError as error:
        raise SyncFailed(path, error.strerror or str(error)) from error
    if size and found != size:
        raise SyncFailed(path, f"it has {found} of {size} bytes")


def _require_end(path: str) -> None:
    try:
        with open(path, "rb") as file:
            file.seek(0, os.SEEK_END)
            size = file.tell()
            file.seek(max(0, size - len(_ARROW_END)))
            end = file.read()
    except FileNotFoundError:
        return
    except OSError as error:
        raise SyncFailed(path, error.strerror or str(error)) from error
    if size == 0 or (path.endswith(".arrow") and end != _ARROW_END):
        raise SyncFailed(path, "it was not written to its end")


def _fragments_of(operation: Any) -> tuple[list[Any], list[Any]]:
    """The new fragments of an operation, and those that got a new deletion vector."""
    match operation:
        case LanceOperation.Append() | LanceOperation.Overwrite() | LanceOperation.Merge():
            return list(operation.fragments), []
        case LanceOperation.Update():
            return list(operation.new_fragments), list(operation.updated_fragments)
        case LanceOperation.Delete():
            return [], list(operation.updated_fragments)
        case LanceOperation.Rewrite():
            return [fragment for group in operation.groups for fragment in group.new_fragments], []
        case _:
            return [], []


def files_of_operation(operation: Any) -> list[str] | None:
    """Every file that an operation wrote, below its table's folder; None when it does not tell."""
    touched: Iterable[Any] = ()  # fragments that were there before and got a new deletion vector
    match operation:
        case LanceOperation.Append() | LanceOperation.Overwrite():
            fragments = operation.fragments
        case LanceOperation.Update() if not operation.fields_modified:  # else columns were rewritten in place
            fragments, touched = operation.new_fragments, operation.updated_fragments
        case LanceOperation.Delete():
            fragments, touched = [], operation.updated_fragments
        case LanceOperation.Rewrite():
            fragments = [fragment for group in operation.groups for fragment in group.new_fragments]
        case LanceOperation.CreateIndex():
            return [f"_indices/{index.uuid}" for index in operation.new_indices]
        case LanceOperation.Project():
            fragments = []
        case _:
            return None
    created = [path for fragment in fragments for path in _files_of_fragment(fragment)]
    return created + [path for fragment in touched for path in _deletions_of_fragment(fragment)]


def _files(dataset: Dataset) -> Iterator[str]:
    """Files and folders of files; those that a fork inherits lie elsewhere and were synced by their own writer."""
    for fragment in dataset.get_fragments():
        yield from _files_of_fragment(fragment.metadata)
    for index in dataset.describe_indices():
        yield from (f"_indices/{segment.uuid}" for segment in index.segments)


def _files_of_fragment(metadata: Any) -> Iterator[str]:
    for file in metadata.files:
        path = file._path  # the public property of the same name defines a class on every call
        yield f"data/{path}"
        yield f"data/{path.removesuffix('.lance')}"  # large blobs lie in a folder beside the file
    yield from _deletions_of_fragment(metadata)


def _deletions_of_fragment(metadata: Any) -> Iterator[str]:
    if metadata.deletion_file is not None:
        yield str(metadata.deletion_file.path(metadata.id))


def _on_disk(paths: Iterable[str]) -> list[str]:
    """The paths that exist here; a folder stands for the files in it."""
    found: list[str] = []
    for path in paths:
        try:
            kind = os.stat(path).st_mode
        except FileNotFoundError:
            continue
        if stat.S_ISDIR(kind):
            found += sorted(entry.path for entry in os.scandir(path) if entry.is_file())
        else:
            found.append(path)
    return found
