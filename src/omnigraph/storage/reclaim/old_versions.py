"""Old versions of a table: which a lineage has, what only they hold, and their removal.

Lance says which files only the given versions name: it spares its own tags, and what a fork was cut from. The removal
is ours, for the order matters: first the version files, then what they named. Whoever opens a version finds it whole or
gone, wherever a removal dies; files that nobody names any more are collected by a later one, once they are a week old.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import timedelta

from omnigraph.model.errors import Internal
from omnigraph.model.late_dataclass import dataclass
from omnigraph.storage import layout
from omnigraph.storage.failpoints import Point, reach
from omnigraph.storage.lance import Handles, translated
from omnigraph.storage.objects import ObjectStore
from omnigraph.storage.root import Root

DELETED_AT_ONCE = 1000
"""So many files go between two looks at whether to go on."""
_FILES_MAX = 2**31


@dataclass(frozen=True, slots=True, order=True)
class VersionOnDisk:
    """One version of a lineage: its number, and when its file was written, by the clock of the store."""

    version: int
    written_at: float


@dataclass(frozen=True, slots=True)
class Removal:
    """What goes with some versions of a lineage. Paths are relative to the graph's root."""

    path: str
    """The folder of the lineage."""
    versions: tuple[int, ...]
    """In their order. Those that Lance spares are not among them."""
    version_files: tuple[str, ...]
    other_files: tuple[str, ...]
    size: int
    """In bytes, of all files."""

    @property
    def file_count(self) -> int:
        return len(self.version_files) + len(self.other_files)


class OldVersions:
    """The old versions of the tables of one graph."""

    def __init__(self, root: Root, objects: ObjectStore, handles: Handles) -> None:
        self._root = root
        self._objects = objects
        self._handles = handles

    def on_disk(self, path: str) -> tuple[VersionOnDisk, ...]:
        """The versions of the lineage in this folder, oldest first. One listing."""
        found = self._objects.list_files(f"{path}/_versions")
        own = (each for each in found if each.name.removesuffix(".manifest").isdecimal())
        return tuple(sorted(VersionOnDisk(layout.version_of(each.name), each.modified_at) for each in own))

    def now(self) -> float:
        """The time by the clock that the files of this graph are dated with."""
        return self._objects.now()

    def removal(self, path: str, versions: Iterable[int]) -> Removal:
        """What would go with exactly these versions of the lineage in this folder. Changes nothing.

        The newest version, versions with a tag of Lance and those that a fork was cut from stay, although listed.
        """
        wanted = sorted(set(versions))
        if not wanted:
            return Removal(path, (), (), (), 0)
        with translated(self._root.join(path)):
            found = self._handles.open_for_change(path).explain_cleanup_old_versions(
                versions=wanted,
                older_than=timedelta(0),
                error_if_tagged_old_versions=False,
                include_files=True,
                max_files=_FILES_MAX,
            )
            if found.candidate_files_truncated:
                raise Internal(f"there are more files to remove in '{path}' than can be listed")
            candidates = [(_below(path, str(each.path)), int(each.size_bytes or 0)) for each in found.candidate_files]
        return _removal(path, wanted, candidates)

    def remove(self, removal: Removal, fence: Callable[[], None] = lambda: None) -> None:
        """Removes the versions and what only they named, for good. Until this returns nobody may name one of them anew;
        `fence` raises when that cannot be promised any more."""
        self.remove_versions(removal, fence)
        self.remove_files(removal)

    def remove_versions(self, removal: Removal, fence: Callable[[], None] = lambda: None) -> None:
        """The first half of `remove`: nobody finds the versions any more, and their files still take up room."""
        for part in _parts(removal.version_files):
            fence()
            self._objects.delete_files(part, lasting=True)
            reach(Point.VERSIONS_REMOVED)
        self._handles.forget(removal.path)

    def remove_files(self, removal: Removal, check: Callable[[], None] = lambda: None) -> None:
        """The second half: what only the removed versions named. Nobody can name it again, so this needs no right to
        anything."""
        for part in _parts(removal.other_files):
            check()
            self._objects.delete_files(part, lasting=False, folders=_own_folders(part))
            reach(Point.CLEANUP_TABLE)


def _removal(path: str, wanted: Sequence[int], candidates: Sequence[tuple[str | None, int]]) -> Removal:
    own = {name: size for name, size in candidates if name is not None}
    version_files = {layout.manifest_file(path, version): version for version in wanted}
    gone = sorted((version_files[name], name) for name in own if name in version_files)
    strange = [name for name in own if name.startswith(f"{path}/_versions/") and name not in version_files]
    if strange:
        raise Internal(f"'{strange[0]}' is not among the versions that were to be removed")
    others = tuple(sorted(name for name in own if name not in version_files))
    return Removal(path, tuple(v for v, _ in gone), tuple(name for _, name in gone), others, sum(own.values()))


def _below(path: str, address: str) -> str | None:
    """A file that Lance names by its whole address, as one of the lineage in this folder; None when it is not."""
    place = max(address.rfind(f"/{folder}/") for folder in layout.LINEAGE_FOLDERS)
    return f"{path}{address[place:]}" if place >= 0 and f"/{address[:place]}".endswith(f"/{path}") else None


def _own_folders(files: Sequence[str]) -> list[str]:
    """The folders of indexes and of large blobs. The others are every writer's: they stay, also when empty."""
    found = {file.rpartition("/")[0] for file in files}
    return sorted(folder for folder in found if folder.rpartition("/")[2] not in layout.LINEAGE_FOLDERS)


def _parts(files: Sequence[str]) -> Iterable[Sequence[str]]:
    return (files[start : start + DELETED_AT_ONCE] for start in range(0, len(files), DELETED_AT_ONCE))
