"""Leases: who may write a branch now, across processes.

Local graph: an OS file lock on `__leases/<branch>`; the kernel frees it when the process dies.
Object store: a JSON object with owner, expiry and fence, moved by conditional puts and renewed by a heartbeat. A holder
whose object was taken over finds out at the fencing check, before it publishes.
Several leases are always taken in sorted order, `__graph__` first, so two operations cannot wait for each other.
"""

from __future__ import annotations

import fcntl
import json
import os
import random
import socket
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, replace
from typing import Protocol

from omnigraph.model.errors import Corrupt, LeaseLost, LeaseTimeout
from omnigraph.model.identifiers import new_ulid
from omnigraph.model.late_dataclass import dataclass
from omnigraph.storage import layout
from omnigraph.storage.failpoints import Point, reach
from omnigraph.storage.objects import ObjectStore
from omnigraph.storage.objects_local import storage_error
from omnigraph.storage.root import Root

WAIT_MAX_S = 60.0
"""How long a writer waits for another one before it gives up with LeaseTimeout."""
LEASE_TTL_S = 15.0
"""An object-store lease that was not renewed for this long is free."""
CLOCK_SKEW_S = 2.0
"""A foreign expiry time counts only when it is past by more than the clocks may differ."""
RENEW_EVERY_S = LEASE_TTL_S / 3


class Lease(Protocol):
    """A held lease."""

    def check(self) -> None:
        """The fencing check: raises LeaseLost unless the lease is still ours, right now."""

    def release(self) -> None:
        """Gives the lease back. Safe to call when it is already lost."""


class Leases:
    """The leases of one graph."""

    def __init__(self, root: Root, objects: ObjectStore) -> None:
        self._root = root
        self._objects = objects

    @contextmanager
    def hold(self, *branches: str, graph: bool = False, wait_s: float = WAIT_MAX_S) -> Iterator[HeldLeases]:
        """Holds the leases of these branches, and of the whole graph if asked, for the block."""
        names = ([layout.GRAPH_LEASE] if graph else []) + sorted(set(branches))
        deadline = time.monotonic() + wait_s
        with ExitStack() as stack:
            held = []
            for name in names:
                lease = self._acquire(name, deadline)
                stack.callback(lease.release)
                held.append(lease)
            reach(Point.LEASE_ACQUIRED)
            yield HeldLeases(tuple(held))

    def take(self, path: str, *, wait_s: float = 0.0) -> Lease:
        """The lease of an object that is no branch, for example of a load's staging folder, and may be deleted."""
        deadline = time.monotonic() + wait_s
        if not self._root.is_local:
            return _acquire_object(self._objects, path, path, deadline)
        file = self._root.join(path)
        while True:
            lease = _acquire_file(file, path, deadline)
            if lease.is_of(file):
                return lease
            lease.release()  # it was deleted, and made anew, while we waited

    def _acquire(self, name: str, deadline: float) -> Lease:
        if self._root.is_local:
            return _acquire_file(self._root.join(layout.lease_name(name)), name, deadline)
        return _acquire_object(self._objects, layout.lease_name(name), name, deadline)


@dataclass(frozen=True)
class HeldLeases:
    """Several leases, checked together."""

    leases: Sequence[Lease]

    def check(self) -> None:
        for lease in self.leases:
            lease.check()


# --- local: a file lock -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class _FileLease:
    descriptor: int

    def check(self) -> None:
        """The kernel keeps the lock as long as we live; there is nothing that could have taken it."""

    def release(self) -> None:
        os.close(self.descriptor)

    def is_of(self, path: str) -> bool:
        """True while the locked file is the one that the path names."""
        try:
            return os.path.samestat(os.fstat(self.descriptor), os.stat(path))
        except FileNotFoundError:
            return False


FOLDER_TRIES = 16
"""A new folder is empty for a moment, and may be cleaned up as a leftover before the lock file is in it."""


def _lock_file(path: str) -> int:
    for attempt in range(1, FOLDER_TRIES + 1):
        try:
            os.makedirs(os.path.dirname(path), exist_ok=True)
            return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        except FileNotFoundError as error:
            if attempt == FOLDER_TRIES:
                raise storage_error(error, path) from error
        except OSError as error:
            raise storage_error(error, path) from error
    raise AssertionError("the loop returns or raises")


def _acquire_file(path: str, name: str, deadline: float) -> _FileLease:
    descriptor = _lock_file(path)
    pause_s = 0.0005
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return _FileLease(descriptor)
        except BlockingIOError:
            if time.monotonic() >= deadline:
                os.close(descriptor)
                raise LeaseTimeout(f"the lease of '{name}' is held by another writer") from None
        except BaseException:
            os.close(descriptor)
            raise
        time.sleep(pause_s * random.uniform(0.5, 1.5))
        pause_s = min(pause_s * 1.5, 0.01)


# --- object store: a conditional put with expiry and fence ------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaseRecord:
    """The content of a lease object. A released lease keeps its fence, so the number only ever grows."""

    version: int = 1
    owner: str | None
    host: str
    pid: int
    fence: int
    acquired_at: float
    expires_at: float


class _ObjectLease:
    """A lease that a heartbeat keeps alive until it is released or lost."""

    def __init__(self, objects: ObjectStore, path: str, name: str, record: LeaseRecord, etag: str) -> None:
        self._objects = objects
        self._path = path
        self._name = name
        self._record = record
        self._etag: str | None = etag
        self._fresh_until = time.monotonic() + LEASE_TTL_S
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._heartbeat = threading.Thread(target=self._beat, name=f"omnigraph-lease-{name}", daemon=True)
        self._heartbeat.start()

    @property
    def fence(self) -> int:
        return self._record.fence

    def check(self) -> None:
        with self._lock:
            self._renew()
            if self._etag is None or time.monotonic() >= self._fresh_until:
                raise LeaseLost(f"the lease of '{self._name}' was taken over before the publish")

    def release(self) -> None:
        self._stop.set()
        self._heartbeat.join()
        with self._lock:
            if self._etag is not None:
                free = replace(self._record, owner=None, expires_at=0.0)
                self._objects.write_if_match(self._path, _encode(free), self._etag)
                self._etag = None

    def _beat(self) -> None:
        while not self._stop.wait(RENEW_EVERY_S):
            with self._lock:
                self._renew()

    def _renew(self) -> None:
        if self._etag is None:
            return
        started = time.monotonic()
        renewed = replace(self._record, expires_at=time.time() + LEASE_TTL_S)
        self._etag = self._objects.write_if_match(self._path, _encode(renewed), self._etag)
        self._fresh_until = started + LEASE_TTL_S


def _acquire_object(objects: ObjectStore, path: str, name: str, deadline: float) -> _ObjectLease:
    me = new_ulid()
    seen_etag, seen_since = "", 0.0
    pause_s = 0.01
    while True:
        stored = objects.read(path)
        record = _decode(path, stored.data) if stored is not None else None
        if stored is not None and stored.etag != seen_etag:
            seen_etag, seen_since = stored.etag, time.monotonic()
        if record is None or _is_free(record, unchanged_s=time.monotonic() - seen_since):
            mine = _record_for(me, fence=(record.fence if record else 0) + 1)
            etag = (
                objects.write_if_match(path, _encode(mine), stored.etag)
                if stored is not None
                else objects.write_if_absent(path, _encode(mine))
            )
            if etag is not None:
                return _ObjectLease(objects, path, name, mine, etag)
        elif time.monotonic() >= deadline:
            raise LeaseTimeout(f"the lease of '{name}' is held by process {record.pid} on {record.host}")
        time.sleep(pause_s * random.uniform(0.5, 1.5))
        pause_s = min(pause_s * 1.5, 0.2)


def _is_free(record: LeaseRecord, unchanged_s: float) -> bool:
    """Released, expired by its own clock with room for skew, or not renewed for a whole term as we watched."""
    return record.owner is None or time.time() > record.expires_at + CLOCK_SKEW_S or unchanged_s > LEASE_TTL_S


def _record_for(owner: str, fence: int) -> LeaseRecord:
    now = time.time()
    return LeaseRecord(
        owner=owner,
        host=socket.gethostname(),
        pid=os.getpid(),
        fence=fence,
        acquired_at=now,
        expires_at=now + LEASE_TTL_S,
    )


def _encode(record: LeaseRecord) -> bytes:
    return json.dumps(asdict(record)).encode()


def _decode(path: str, data: bytes) -> LeaseRecord:
    try:
        members = json.loads(data)
        return LeaseRecord(**{name: members[name] for name in LeaseRecord.__slots__})
    except (ValueError, KeyError, TypeError) as error:
        raise Corrupt(path, f"not a lease: {error}") from error
