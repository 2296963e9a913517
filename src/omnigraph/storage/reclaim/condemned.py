"""Condemned versions: what a removal is about to take away, one object in `__cleanup/` for each lineage.

A removal first says what it takes, then looks whether anybody names it, then takes it. Whoever gives an old version a
new name (a branch or a tag at an earlier commit) first makes the name, then looks here. One of the two always sees the
other, whatever is paused in between: so a name never leads to files that are gone. The object also tells the next
removal what a dead one left.
"""

from __future__ import annotations

import json
from collections.abc import Iterable

from omnigraph.model.errors import Corrupt, HistoricalVersionReclaimed
from omnigraph.model.identifiers import new_ulid
from omnigraph.model.late_dataclass import dataclass
from omnigraph.storage import layout
from omnigraph.storage.manifest import TablePin
from omnigraph.storage.objects import ObjectStore
from omnigraph.storage.reclaim.old_versions import Removal

FORMAT = 1


@dataclass(frozen=True, slots=True)
class Condemned:
    """One removal under way, or what is left of one that died."""

    name: str
    removal: Removal


class CondemnedVersions:
    """The removals under way in one graph."""

    def __init__(self, objects: ObjectStore) -> None:
        self._objects = objects

    def add(self, removal: Removal) -> Condemned:
        """Says what is about to go."""
        name = f"{new_ulid()}.json"
        document = {
            "version": FORMAT,
            "path": removal.path,
            "versions": removal.versions,
            "files": removal.other_files,
            "bytes": removal.size,
        }
        self._objects.write(f"{layout.CLEANUP}/{name}", json.dumps(document).encode())
        return Condemned(name, removal)

    def forget(self, condemned: Condemned) -> None:
        """It is gone, or stays after all."""
        self._objects.delete(f"{layout.CLEANUP}/{condemned.name}")

    def all(self) -> list[Condemned]:
        """Oldest first."""
        found = []
        for name in self._objects.list_names(layout.CLEANUP):
            stored = self._objects.read(f"{layout.CLEANUP}/{name}")
            if stored is not None:
                found.append(Condemned(name, _removal(name, stored.data)))
        return found

    def require_kept(self, pins: Iterable[TablePin]) -> None:
        """Refuses versions that are about to go. The caller has made a name for them already."""
        going = {(each.removal.path, version) for each in self.all() for version in each.removal.versions}
        for pin in pins:
            if (pin.path, pin.version) in going:
                raise HistoricalVersionReclaimed(pin.path, pin.version)


def _removal(name: str, data: bytes) -> Removal:
    """Paths outside of the lineage's folder are left alone, whoever wrote them there."""
    try:
        document = json.loads(data)
        path, versions = str(document["path"]), tuple(int(version) for version in document["versions"])
        files = tuple(str(file) for file in document["files"] if str(file).startswith(f"{path}/"))
        version_files = tuple(layout.manifest_file(path, version) for version in versions)
        return Removal(path, versions, version_files, files, int(document["bytes"]))
    except (ValueError, KeyError, TypeError) as error:
        raise Corrupt(f"{layout.CLEANUP}/{name}", f"not a removal: {error}") from error
