"""The schema lock: a branch of `__manifest` that other programs respect, and a note that says whose it is.

Who makes it holds the lease of the graph, so a lock whose lease is free belongs to a change that died: whoever comes
next resolves what it left and removes the lock. A lock without a note was made by a program that takes no lease. Nobody
can tell whether that lives; it waits for `schema unlock`.
"""

from __future__ import annotations

import json
import os
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager

from omnigraph.model.errors import Json, LeaseTimeout, OmniGraphError, SchemaApplyInProgress
from omnigraph.model.identifiers import SCHEMA_APPLY_LOCK
from omnigraph.model.late_dataclass import dataclass
from omnigraph.storage import MANIFEST, GraphStorage, Point, reach
from omnigraph.storage.leases import HeldLeases
from omnigraph.storage.manifest import LoadedManifest
from omnigraph.write.recovery import LOCK_NOTE, list_sidecars, log_kept_lock, recover_graph, release_lock


@dataclass(frozen=True, slots=True)
class LockOwner:
    """Who made the schema lock, as far as it is known.

    >>> graph.unlock_schema().found
    False
    """

    owner: str | None
    """Host and process; None for a program that leaves no note."""
    operation_id: str | None = None
    started_at: int | None = None
    """In microseconds since the epoch."""


@dataclass(frozen=True, slots=True)
class Unlocked:
    """What `unlock_schema` found and removed.

    >>> graph.unlock_schema()
    Unlocked(found=False, owner=None)
    """

    found: bool
    owner: LockOwner | None = None

    def to_json(self) -> dict[str, Json]:
        """As one document.

        >>> graph.unlock_schema().to_json()
        {'found': False, 'owner': None}
        """
        owner: Json = None if self.owner is None else {"owner": self.owner.owner, "started_at": self.owner.started_at}
        return {"found": self.found, "owner": owner}


def refuse_living(storage: GraphStorage) -> None:
    """Raises at once when another process is changing the schema; waits for nobody."""
    if not storage.lineages.exists(MANIFEST, SCHEMA_APPLY_LOCK):
        return
    try:
        with storage.leases.hold(graph=True, wait_s=0):
            pass
    except LeaseTimeout as error:
        raise in_progress(storage) from error


def refuse_foreign(storage: GraphStorage) -> None:
    """Raises for a lock that no dead change of ours explains. The caller holds the graph's lease."""
    if not storage.lineages.exists(MANIFEST, SCHEMA_APPLY_LOCK):
        return
    if storage.objects.read(LOCK_NOTE) is None and not any(s.is_schema_apply for s in list_sidecars(storage.objects)):
        raise in_progress(storage)
    release_lock(storage)


def in_progress(storage: GraphStorage) -> SchemaApplyInProgress:
    owner = lock_owner(storage)
    who = "another program" if owner.owner is None else owner.owner
    hint = "wait until it is finished (wait=…, --wait)"
    if owner.owner is None:
        hint += "; if that program is dead, remove its lock with `omnigraph schema unlock`"
    return SchemaApplyInProgress(f"schema apply is already in progress, by {who}", hint)


def lock_owner(storage: GraphStorage) -> LockOwner:
    found = storage.objects.read(LOCK_NOTE)
    if found is None:
        return LockOwner(None)
    try:
        note = json.loads(found.data)
        return LockOwner(str(note["owner"]), note.get("operation_id"), note.get("started_at"))
    except (ValueError, KeyError, TypeError):
        return LockOwner("an owner whose note cannot be read")


@contextmanager
def locked(storage: GraphStorage, main: LoadedManifest, operation_id: str, lease: HeldLeases) -> Iterator[None]:
    """Holds the lock for the block. The caller holds the graph's lease, and has seen that there is no lock."""
    note = {
        "owner": f"{socket.gethostname()}:{os.getpid()}",
        "operation_id": operation_id,
        "started_at": time.time_ns() // 1000,
    }
    storage.objects.write(LOCK_NOTE, json.dumps(note).encode())
    storage.lineages.create(MANIFEST, SCHEMA_APPLY_LOCK, None, main.version, lease.check)
    try:
        reach(Point.SCHEMA_LOCKED)
        yield
        reach(Point.SCHEMA_DONE)
    finally:
        _release(storage, lease)


def _release(storage: GraphStorage, lease: HeldLeases) -> None:
    """What was done is done: a lock that cannot be removed now is removed by whoever gets the lease next."""
    try:
        lease.check()  # without it the lock may be that of another one by now
        release_lock(storage)
    except OmniGraphError as error:
        log_kept_lock(error)


def unlock_schema(storage: GraphStorage) -> Unlocked:
    """Removes the schema lock, whoever made it; first finishes or takes back what it protected."""
    storage.require_writable()
    refuse_living(storage)
    recover_graph(storage)
    with storage.leases.hold(graph=True):
        if not storage.lineages.exists(MANIFEST, SCHEMA_APPLY_LOCK):
            return Unlocked(False)
        owner = lock_owner(storage)
        release_lock(storage)
        return Unlocked(True, owner)
