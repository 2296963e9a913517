"""Lineages: Lance branches of a table. A table is forked when it is first written on a graph branch.

The ref is the authority: Lance writes the tree first and the ref second, and deletes in the other order, so a tree
without a ref is garbage and may be removed.
"""

from __future__ import annotations

import copy
import json
import logging
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import quote

from omnigraph.model.errors import BranchExists, BranchHasDependants, LeaseTimeout, OmniGraphError, SyncFailed
from omnigraph.storage import layout
from omnigraph.storage.failpoints import Point, reach
from omnigraph.storage.files import Durability, sync_files
from omnigraph.storage.lance import (
    Dataset,
    Fault,
    Handles,
    VersionFiles,
    classify,
    translate,
    translated,
    without_panics,
)
from omnigraph.storage.leases import Leases
from omnigraph.storage.objects import ObjectStore
from omnigraph.storage.root import Root

REF = ".json"
_log = logging.getLogger("omnigraph.storage")


def _parents(path: str) -> list[str]:
    return [str(parent) for parent in Path(path).parents]


class OpenVersion(Protocol):
    """What has a handle of a version open already: opening one takes a sixth of what cutting a lineage does."""

    @property
    def handle(self) -> Dataset: ...


class Lineages:
    """The Lance branches of every dataset of one graph, `__manifest` included."""

    def __init__(
        self, root: Root, objects: ObjectStore, handles: Handles, leases: Leases, durability: Durability = "full"
    ) -> None:
        self._root = root
        self._leases = leases
        self._durability = durability
        self._objects = objects
        self._handles = handles

    def names(self, location: str) -> list[str]:
        """The names of a dataset's lineages, sorted; the base lineage has none."""
        names = self._objects.list_names(f"{location}/_refs/branches")
        return sorted([layout.decode_name(name[: -len(REF)]) for name in names if name.endswith(REF)])

    def exists(self, location: str, name: str) -> bool:
        return self._objects.exists(layout.branch_ref(location, name))

    def is_husk(self, location: str, name: str) -> bool:
        """True for what a power cut left of a local lineage that was just being made: a ref, and nothing to read.

        Its maker never returned: the first version and the ref are synced before.
        """
        if not self._root.is_local:
            return False
        ref = self._objects.read(layout.branch_ref(location, name))
        if ref is None:
            return False
        tree = layout.branch_tree(location, name)
        versions = VersionFiles(self._root, self._objects)
        return not ref.data.strip() or not versions.has_whole(tree)

    def remove_husk(self, location: str, name: str) -> bool:
        """Removes the ref and the files of a husk; False when it is none. The caller holds the leases."""
        if not self.is_husk(location, name):
            return False
        _log.warning("lineage '%s' of %s has no version: a power cut left it, and it is removed", name, location)
        self._objects.delete(layout.branch_ref(location, name))
        self._reclaim(location, name)
        return True

    def _remove_empty_refs(self, location: str, held: str) -> bool:
        """Removes the refs without content that a power cut left: Lance reads all refs, and fails at these. False when
        there is none. They tell nothing, so nothing is lost with them; the files of their lineages stay.

        The caller holds the lease of `held`. A branch that somebody else holds may be made anew right now: it stays.
        """
        names = self.names(location) if self._root.is_local else []
        empty = [name for name in names if self._has_empty_ref(location, name)]
        return sum([self._remove_empty_ref(location, name, is_held=name == held) for name in empty]) > 0

    def _has_empty_ref(self, location: str, name: str) -> bool:
        ref = self._objects.read(layout.branch_ref(location, name))
        return ref is not None and not ref.data.strip()

    def _remove_empty_ref(self, location: str, name: str, *, is_held: bool) -> bool:
        try:
            with nullcontext() if is_held else self._leases.hold(name, wait_s=0):
                if not self._has_empty_ref(location, name):
                    return False
                _log.warning(
                    "lineage '%s' of %s has an empty ref: a power cut left it, and it is removed", name, location
                )
                self._objects.delete(layout.branch_ref(location, name))
                return True
        except LeaseTimeout:
            return False

    def create(
        self,
        location: str,
        name: str,
        source: str | None,
        version: int,
        fence: Callable[[], None] = lambda: None,
        base: OpenVersion | None = None,
    ) -> None:
        """Cuts lineage `name` from a version of `source`. No data is copied. The name was checked by the caller.

        `base` is that version, if the caller has it open.

        `fence` raises when the caller has lost its leases. It is asked before what looks like a leftover is removed:
        by then that may be the lineage of whoever came after.
        """
        if self.exists(location, name) and not self.remove_husk(location, name):
            raise BranchExists(name, name)
        self._reclaim(location, name, fence)
        try:
            with translated(self._root.join(location)), self._without_stray_folder(location):
                # A copy: Lance borrows the handle while it cuts, and readers in other threads would find it taken.
                handle = self._handles.open_for_change(location) if base is None else copy.copy(base.handle)
                reference: Any = version if source is None else (source, version)
                handle.create_branch(name, reference=reference)
        except OmniGraphError as error:
            if not self.exists(location, name):
                raise
            _log.warning("lineage '%s' of %s was made, although the engine failed: %s", name, location, error)
        try:
            self.settle(location, name, version)
        except SyncFailed:
            self.delete(location, name)  # what is not durable is not there
            raise
        reach(Point.FORK_CREATED)

    def delete(self, location: str, name: str) -> bool:
        """Removes a lineage and its files; False when there is none. Refuses one that others were cut from."""
        if not self.exists(location, name):
            return False
        uri = self._root.join(location)
        try:
            with without_panics():
                self._handles.open_for_change(location).branches.delete(name)
        except (OSError, ValueError, RuntimeError) as error:
            match classify(error):
                case Fault.REF_IN_USE:
                    raise BranchHasDependants(name, tuple(self.children(location, name))) from error
                case Fault.MISSING:
                    return False
                case _ if self.exists(location, name):
                    if self.remove_husk(location, name) or self._remove_empty_refs(location, name):
                        return self.delete(location, name)
                    raise translate(error, uri) from error
            _log.warning("lineage '%s' of %s is deleted, some of its files are not: %s", name, location, error)
        self._handles.forget(layout.branch_tree(location, name))
        return True

    @contextmanager
    def _without_stray_folder(self, location: str) -> Iterator[None]:
        """Lance makes the folder of the refs once more under the percent-encoded form of its path, and leaves it empty
        there: for a graph below `/home/josé` that is another folder `/home/jos%C3%A9`."""
        real = self._root.join(f"{location}/_refs/branches")
        stray = quote(real, safe="/!$&'()+,-.:;=@_ ").replace("~", "%7E")
        if not self._root.is_local or stray == real:
            yield
            return
        new = [folder for folder in (stray, *_parents(stray)) if not os.path.exists(folder)]
        try:
            yield
        finally:
            for folder in new:
                with suppress(OSError):
                    os.rmdir(folder)  # only if it is empty

    def _reclaim(self, location: str, name: str, fence: Callable[[], None] = lambda: None) -> None:
        """Removes a tree without a ref, whose writer died; what lies below it under a longer name stays."""
        tree = layout.branch_tree(location, name)
        if self._objects.has_any(tree):  # else there is no need to list the lineages, of which there may be thousands
            fence()
            below = [other.removeprefix(f"{name}/") for other in self.names(location) if other.startswith(f"{name}/")]
            if below:
                for part in layout.LINEAGE_FOLDERS - {other.partition("/")[0] for other in below}:
                    self._objects.delete_tree(f"{tree}/{part}")
            else:
                self._objects.delete_tree(tree)
        self._handles.forget(tree)

    def settle(self, location: str, name: str, version: int) -> None:
        """Makes a new lineage survive a power cut: its first version and its ref."""
        if self._root.is_local and self._durability == "full":
            tree = layout.branch_tree(location, name)
            files = (layout.manifest_file(tree, version), layout.branch_ref(location, name))
            sync_files((self._root.join(path) for path in files), self._root.join(location))

    def origin(self, location: str, name: str) -> tuple[str | None, int] | None:
        """The lineage and the version that a lineage was cut from; None when there is none, or a husk."""
        found = self._objects.read(layout.branch_ref(location, name))
        if found is None or not found.data.strip():
            return None
        ref = json.loads(found.data)
        return ref["parentBranch"], int(ref["parentVersion"])

    def children(self, location: str, name: str) -> list[str]:
        """The lineages that were cut from this one. The caller holds its lease."""
        try:
            with translated(self._root.join(location)):
                refs = self._handles.open_for_change(location).branches.list()
        except OmniGraphError:
            if not self._remove_empty_refs(location, name):
                raise
            return self.children(location, name)
        return sorted(child for child, ref in refs.items() if ref["parent_branch"] == name)
