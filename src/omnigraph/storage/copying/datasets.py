"""The files of a dataset up to one of its versions: what a copy needs to have the same versions elsewhere.

Only what versions name is listed, so the files of writes that are under way, and those that nothing needs any more, do
not come along. Version files are last: a copy that stops halfway has no version that misses a file.
"""

from __future__ import annotations

import os
from collections import defaultdict

from omnigraph.model.errors import Conflict
from omnigraph.model.late_dataclass import dataclass
from omnigraph.storage.graph_storage import GraphStorage
from omnigraph.storage.lance import translated
from omnigraph.storage.layout import HISTORY, RECOVERY_AUDIT, SCHEMAS, TAGS, version_of

VERSION_FILES = "_versions/"
SMALL_FOLDERS = (SCHEMAS, TAGS, HISTORY)
"""Folders of small objects that belong to the history of a graph."""
AUDIT = RECOVERY_AUDIT


class BaseLineageMissing(Conflict):
    """A dataset reads files of another place: a copy of its own files would read the original for ever."""

    def __init__(self, uri: str, elsewhere: str) -> None:
        super().__init__(
            f"'{uri}' reads files that lie at '{elsewhere}': it cannot be copied file by file",
            "clone it without history",
        )


@dataclass(frozen=True, slots=True)
class DatasetFiles:
    """What to copy of one dataset."""

    location: str
    files: tuple[tuple[str, int], ...]
    """Paths below it and their sizes, those of versions last and the newest of them at the end."""
    versions: frozenset[int]
    """The versions that are there; the others were reclaimed."""

    @property
    def bytes(self) -> int:
        return sum(size for _, size in self.files)


def newest_version(storage: GraphStorage, location: str) -> int | None:
    """The newest version of a dataset; None when there is none."""
    names = storage.objects.list_names(f"{location}/_versions")
    return max((version_of(name) for name in names if name.endswith(".manifest")), default=None)


def dataset_files(storage: GraphStorage, location: str, up_to: int) -> DatasetFiles:
    """The files that versions up to this one name."""
    uri = storage.root.join(location)
    with translated(uri):
        handle = storage.handles.open_for_change(location, up_to)
        named: set[str] = set()
        versions: set[int] = set()
        for batch in handle.tracked_files():
            _refuse_elsewhere(uri, batch.column("base_uri").to_pylist())
            for version, path in zip(batch["version"].to_pylist(), batch["path"].to_pylist(), strict=True):
                if version <= up_to:
                    named.add(path)
                    versions.add(version)
        present: dict[str, int] = {}
        for batch in handle.all_files():
            present.update(zip(batch["path"].to_pylist(), batch["size_bytes"].to_pylist(), strict=True))
    wanted = _with_companions(named, present)
    order = sorted(wanted, key=lambda path: (path.startswith(VERSION_FILES), _age(path)))
    return DatasetFiles(location, tuple((path, present[path]) for path in order), frozenset(versions))


def _refuse_elsewhere(uri: str, bases: list[str]) -> None:
    for base in set(bases):
        if base.removeprefix("file://").rstrip("/").removeprefix("s3://") != uri.removeprefix("s3://").rstrip("/"):
            raise BaseLineageMissing(uri, base)


def _with_companions(named: set[str], present: dict[str, int]) -> set[str]:
    """What is named and there, and what lies beside it: the large blobs of a data file, all files of an index."""
    folders: dict[str, list[str]] = defaultdict(list)
    for path in present:
        folders[os.path.dirname(path)].append(path)
    wanted = named & present.keys()
    for path in named:
        if path.startswith("data/"):
            wanted.update(folders.get(os.path.splitext(path)[0], ()))
        elif path.startswith("_indices/"):
            own = path if path in folders else os.path.dirname(path)
            wanted.update(folders.get(own, ()))
    return wanted


def _age(path: str) -> int:
    """Version files by their numbers, oldest first."""
    name = path.removeprefix(VERSION_FILES)
    is_version = path.startswith(VERSION_FILES) and name.endswith(".manifest") and name[:-9].isdigit()
    return version_of(name) if is_version else 0
