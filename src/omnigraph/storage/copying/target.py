"""The target of a clone: claimed before anything is written, a graph only when its schema files are there.

A mark, `__clone.json`, is the first object at the target and the last to go; the three schema files come just before
it goes. So whatever dies in between leaves something that no release takes for a graph, and that the next clone to the
same place may clear away. A lock beside it keeps two clones apart.
"""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from omnigraph.model.errors import Conflict, InitializationIndeterminate, LeaseTimeout, OmniGraphError
from omnigraph.model.identifiers import new_ulid
from omnigraph.model.late_dataclass import dataclass
from omnigraph.storage import layout
from omnigraph.storage.failpoints import Point, reach
from omnigraph.storage.files import sync_folder
from omnigraph.storage.graph_storage import GraphStorage
from omnigraph.storage.leases import Lease
from omnigraph.storage.objects import storage_error

UNFINISHED_CLONE = layout.UNFINISHED_CLONE
_log = logging.getLogger("omnigraph.storage")


class CloneTargetExists(Conflict):
    """Something lies at the target of a clone already. Nothing was changed."""

    def __init__(self, uri: str, what: str) -> None:
        super().__init__(f"cannot clone to '{uri}': {what}", "name a new folder or prefix, or an empty one")


@dataclass(slots=True)
class ClaimedTarget:
    """A target that is ours."""

    storage: GraphStorage
    lease: Lease
    may_be_graph: bool = False
    """From the moment that the last schema file is written, whether or not we were told."""

    def check(self) -> None:
        """Raises when another process has taken the target over."""
        self.lease.check()

    def finish(self, contract: Mapping[str, bytes]) -> None:
        """Writes the schema files; with the last one the target is a graph."""
        self.check()
        reach(Point.CLONE_COPIED)
        for name in reversed(layout.SCHEMA_FILES):  # `_schema.pg` last: without it nothing takes it for a graph
            self.may_be_graph = name == layout.SCHEMA_SOURCE
            if self.storage.objects.write_if_absent(name, contract[name]) is None:
                raise CloneTargetExists(self.storage.root.uri, "another graph was made there meanwhile")
            reach(Point.CLONE_FILE_WRITTEN)
        try:
            self.storage.objects.delete(layout.CLONE_MARK, lasting=False)
        except OmniGraphError as error:  # beside `_schema.pg` it means nothing
            _log.warning("the mark of a finished clone stays at %s: %s", self.storage.root.uri, error.sentence())

    def clear(self) -> None:
        """Removes everything but the mark and the lock."""
        for name in layout.SCHEMA_FILES:  # first: what is left is no graph any more
            self.storage.objects.delete(name)
        for folder in layout.CLONED_FOLDERS:
            self.storage.objects.delete_tree(folder)


def is_unfinished_clone(storage: GraphStorage) -> bool:
    """True where a clone was begun and is not done: by one that runs, or one that died."""
    return storage.objects.exists(layout.CLONE_MARK)


@contextmanager
def claimed(target: GraphStorage) -> Iterator[ClaimedTarget]:
    """Claims a target that is empty, or that a clone left behind which died. An error leaves it as empty as it was."""
    _refuse_used(target)
    made = _make_root(target)
    target.objects.require_conditional_puts()
    try:
        lease = target.leases.take(layout.CLONE_LOCK)
    except LeaseTimeout as error:
        raise CloneTargetExists(target.root.uri, "another clone to it is running") from error
    claim = ClaimedTarget(target, lease)
    try:
        _refuse_used(target)  # again, now that nobody else can come
        target.objects.write_if_absent(layout.CLONE_MARK, json.dumps({"version": 1, "clone_id": new_ulid()}).encode())
        try:
            reach(Point.CLONE_CLAIMED)
            claim.clear()
            yield claim
        except BaseException as error:
            is_clear = _give_up(claim)
            if claim.may_be_graph and not is_clear and isinstance(error, OmniGraphError):
                raise InitializationIndeterminate(target.root.uri, error.sentence()) from error
            raise
    finally:
        lease.release()
        _remove_lock(target, made)


def _refuse_used(target: GraphStorage) -> None:
    objects, uri = target.objects, target.root.uri
    if target.root.is_local and os.path.isfile(uri):
        raise CloneTargetExists(uri, "it is a file")
    if objects.exists(layout.CLONE_MARK) and not objects.exists(layout.SCHEMA_SOURCE):
        return
    if any(name.endswith(".manifest") for name in objects.list_names(f"{layout.MANIFEST}/_versions")):
        raise CloneTargetExists(uri, "there is a graph")
    names = set(objects.list_names("")) - {layout.CLONE_LOCK}
    folders = [folder for folder in layout.CLONED_FOLDERS if objects.has_any(folder)]
    if names or folders or (target.root.is_local and _other_folders(uri)):
        raise CloneTargetExists(uri, "it is not empty")


def _other_folders(path: str) -> bool:
    try:
        return any(entry.is_dir() for entry in os.scandir(path))
    except FileNotFoundError:
        return False
    except OSError as error:
        raise storage_error(error, path) from error


def _make_root(target: GraphStorage) -> list[str]:
    """The folders that were made for it, innermost first."""
    made: list[str] = []
    if target.root.is_local:
        there = target.root.uri
        while not os.path.exists(there):
            made.append(there)
            there = os.path.dirname(there)
        try:
            os.makedirs(target.root.uri, exist_ok=True)
        except OSError as error:
            raise storage_error(error, target.root.uri) from error
        if target.durability == "full":
            sync_folder(target.root.uri, there)
    return made


def _give_up(claim: ClaimedTarget) -> bool:
    """Leaves nothing, if the storage lets us; else what is left has the mark, and the next clone clears it."""
    try:
        claim.check()
        claim.clear()
        claim.storage.objects.delete(layout.CLONE_MARK)
        return True
    except OmniGraphError as error:
        _log.warning("files of an unfinished clone stay at %s: %s", claim.storage.root.uri, error.sentence())
        return False


def _remove_lock(target: GraphStorage, made: list[str]) -> None:
    try:
        if not target.objects.exists(layout.CLONE_MARK):
            target.objects.delete(layout.CLONE_LOCK, lasting=False)
        for folder in made:
            if os.path.isdir(folder) and not os.listdir(folder):
                os.rmdir(folder)
    except (OmniGraphError, OSError) as error:
        _log.warning("the lock of a clone stays at %s: %s", target.root.uri, error)
