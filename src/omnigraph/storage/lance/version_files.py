"""Version files: which version of a lineage is the newest, and whether a version is still the one that we know.

Numbers come again: a branch is deleted and made anew, a folder is removed and a graph is made or copied to its place.
So a version is known by its number and by a stamp of its file, and whoever asks for the newest one learns at no extra
cost whether the one that it knows has been replaced.
"""

from __future__ import annotations

import json
import os

from omnigraph.storage import layout
from omnigraph.storage.files import sync_folder
from omnigraph.storage.objects import ObjectStore
from omnigraph.storage.root import Root

Stamp = tuple[int, ...] | str
"""What two files of one name differ in: inode, time and size on a local disk, the etag on an object store."""

_LANCE_END = b"LANC"
"""What every version file of Lance ends with."""

_HINT = "_versions/latest_version_hint.json"
_NEWEST_LISTED = 1000
"""Names count down, so the newest come first and one page of a listing is enough. What is not on it is unknown."""


class VersionFiles:
    """The version files of every dataset of one graph."""

    def __init__(self, root: Root, objects: ObjectStore) -> None:
        self._root = root
        self._objects = objects

    def stamp(self, path: str, version: int) -> Stamp | None:
        """The stamp of a version's file as it is now; None when there is none."""
        file = layout.manifest_file(path, version)
        if not self._root.is_local:
            return self._objects.etag(file)
        try:
            found = os.stat(self._root.join(file))
        except OSError:
            return None
        return (found.st_ino, found.st_mtime_ns, found.st_size)

    def latest(self, path: str) -> tuple[int | None, Stamp | None]:
        """The newest version and its stamp, in one request; nothing where there is no such request, or no version."""
        if self._root.is_local:
            return self._hinted(path)
        listed = self._objects.first_names(f"{path}/_versions", _NEWEST_LISTED)
        versions = {layout.version_of(name): etag for name, etag in listed if name.endswith(".manifest")}
        return max(versions.items(), default=(None, None))

    def _hinted(self, path: str) -> tuple[int | None, Stamp | None]:
        """From the hint that Lance leaves on a local disk: it may be old, so the files after it are looked for."""
        try:
            with open(self._root.join(f"{path}/{_HINT}"), "rb") as file:
                hinted = int(json.load(file)["version"])
        except (OSError, ValueError, KeyError, TypeError):
            return None, None
        newest = self.newest(path, hinted, None)
        return (None, None) if newest is None else (newest, self.stamp(path, newest))

    def newest(self, path: str, version: int, stamp: Stamp | None) -> int | None:
        """The newest version of a lineage of which we know this one; None when that is not the same file any more.

        Without a stamp only the number is looked at. Lance lists all versions of a local table, which takes 4 ms after
        10,000 of them. Versions are made one after the other, so the first name that is missing tells the same.
        """
        if not self._root.is_local:
            return self._newest_listed(path, version, stamp)
        now = self.stamp(path, version)
        if now is None or (stamp is not None and now != stamp):
            return None
        newest, step = version, 1
        while self._exists(path, newest + step):
            newest, step = newest + step, step * 2
        while (step := step // 2) > 0:
            newest += step if self._exists(path, newest + step) else 0
        return newest

    def _newest_listed(self, path: str, version: int, stamp: Stamp | None) -> int | None:
        listed = self._objects.first_names(f"{path}/_versions", _NEWEST_LISTED)
        etags = {layout.version_of(name): etag for name, etag in listed if name.endswith(".manifest")}
        known = etags.get(version)
        if known is None or (stamp is not None and known != stamp):
            return None
        return max(etags)

    # --- after a power cut --------------------------------------------------------------------------------

    def torn(self, path: str) -> int | None:
        """The newest version of a local lineage, if its file was not written to its end.

        A version file is synced before anybody hears of its version. So one without its end is what a power cut left of
        a write that nobody was told about.
        """
        newest = max(self._on_disk(path), default=None)
        return None if newest is None or self._is_whole(path, newest) else newest

    def has_whole(self, path: str) -> bool:
        """Whether a local lineage has a version that can be read at all."""
        return any(self._is_whole(path, version) for version in sorted(self._on_disk(path)))

    def remove_torn(self, path: str) -> int | None:
        """Removes the newest version if it is torn, and returns which it was. The caller holds the lineage's lease."""
        torn = self.torn(path)
        if torn is not None:
            os.unlink(self._root.join(layout.manifest_file(path, torn)))
            sync_folder(self._root.join(f"{path}/_versions"))
        return torn

    def _on_disk(self, path: str) -> list[int]:
        if not self._root.is_local:
            return []
        try:
            names = os.listdir(self._root.join(f"{path}/_versions"))
        except OSError:
            return []
        return [layout.version_of(name) for name in names if name.endswith(".manifest")]

    def _is_whole(self, path: str, version: int) -> bool:
        with open(self._root.join(layout.manifest_file(path, version)), "rb") as file:
            file.seek(max(0, file.seek(0, os.SEEK_END) - len(_LANCE_END)))
            return file.read() == _LANCE_END

    def _exists(self, path: str, version: int) -> bool:
        return os.path.exists(self._root.join(layout.manifest_file(path, version)))
