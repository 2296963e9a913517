"""Leases on an object store: a JSON object with owner, expiry and fence, moved by conditional puts.

A heartbeat renews the object while the lease is held. A failed renewal is tried again until the lease has truly
expired. A holder whose object was taken over finds out at the next check, which is a renewal as well.

One of those who wait is *next*: it writes itself into the object, and until its own short term is over nobody else
takes the lease. So a process that gives the lease back and wants it again does not pass one that waits.
"""

from __future__ import annotations

import json
import logging
import os
import random
import socket
import threading
import time
from dataclasses import asdict, replace
from typing import Any

from omnigraph.model.errors import Corrupt, LeaseLost, LeaseTimeout, OmniGraphError
from omnigraph.model.identifiers import new_ulid
from omnigraph.model.late_dataclass import dataclass
from omnigraph.storage.objects import ObjectStore

LEASE_TTL_S = 15.0
"""A lease that was not renewed for this long is free."""
CLOCK_SKEW_S = 2.0
"""A foreign expiry time counts only when it is past by more than the clocks may differ."""
RENEW_EVERY_S = LEASE_TTL_S / 3
RETRY_EVERY_S = LEASE_TTL_S / 15
"""After a renewal that failed."""
NEXT_TTL_S = 5.0
"""How long the one that is next keeps its place without being seen."""
RELEASE_TRIES = 3
_log = logging.getLogger("omnigraph.storage")


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
    next: str | None = None
    """Whoever waits and is next."""
    next_until: float = 0.0


class _Holding:
    """The object as its holder knows it; shared by the lease and its heartbeat, and guarded by a lock."""

    def __init__(self, objects: ObjectStore, path: str, record: LeaseRecord, etag: str) -> None:
        self._objects = objects
        self._path = path
        self._record = record
        self._etag: str | None = etag
        self._fresh_until = time.monotonic() + LEASE_TTL_S
        self.lock = threading.Lock()
        self.stop = threading.Event()

    @property
    def is_held(self) -> bool:
        return self._etag is not None and time.monotonic() < self._fresh_until

    @property
    def is_wanted(self) -> bool:
        return self._record.next is not None

    def renew(self) -> None:
        """Moves the expiry. Afterwards `is_held` tells whether the lease is still ours."""
        if self._etag is None:
            return
        started = time.monotonic()
        if self._put(replace(self._record, expires_at=time.time() + LEASE_TTL_S)):
            self._fresh_until = started + LEASE_TTL_S

    def free(self) -> None:
        if self._etag is not None and self._put(replace(self._record, owner=None, expires_at=0.0)):
            self._etag = None

    def _put(self, record: LeaseRecord) -> bool:
        """A put on top of what we know. If that has changed, it is put on top of what is there: it may be our own put,
        of which only the answer was lost, or that of the one who is next."""
        for _ in range(RELEASE_TRIES):
            assert self._etag is not None, "only a holder puts"
            etag = self._objects.write_if_match(self._path, _encode(record), self._etag)
            if etag is not None:
                self._etag, self._record = etag, record
                return True
            stored = self._objects.read(self._path)
            now = None if stored is None else _decode(self._path, stored.data)
            if stored is None or now is None or (now.owner, now.fence) != (self._record.owner, self._record.fence):
                self._etag = None
                return False
            self._etag = stored.etag
            record = replace(record, next=now.next, next_until=now.next_until)
        return False


class ObjectLease:
    """A lease that a heartbeat keeps alive until it is released or lost."""

    def __init__(self, objects: ObjectStore, path: str, name: str, record: LeaseRecord, etag: str) -> None:
        self._name = name
        self._pid = os.getpid()
        self._holding = _Holding(objects, path, record, etag)
        # The heartbeat knows the holding and not the lease: a lease that is dropped ends its heartbeat.
        self._heartbeat = threading.Thread(
            target=_beat, args=(self._holding, name), name=f"omnigraph-lease-{name}", daemon=True
        )
        self._heartbeat.start()

    def check(self) -> None:
        """Renews the lease; raises LeaseLost unless it is still ours."""
        with self._holding.lock:
            self._holding.renew()
            if not self._holding.is_held:
                raise LeaseLost(
                    f"the lease of '{self._name}' was taken over by another writer",
                    "nothing was published; repeat the write",
                )

    def release(self) -> None:
        """Gives the lease back. Whatever fails here, what was done under the lease is done: it expires by itself."""
        if self._pid != os.getpid():
            return  # a forked child holds nothing
        self._holding.stop.set()
        self._heartbeat.join()

    def is_wanted(self) -> bool:
        return self._holding.is_wanted

    def __del__(self) -> None:
        self._holding.stop.set()


def _beat(holding: _Holding, name: str) -> None:
    """Renews until told to stop, then gives the lease back. A failure is tried again soon, until the lease is lost."""
    pause_s = RENEW_EVERY_S
    while not holding.stop.wait(pause_s):
        with holding.lock:
            try:
                holding.renew()
                pause_s = RENEW_EVERY_S
            except OmniGraphError as error:
                _log.warning("the lease of '%s' could not be renewed, trying again: %s", name, error)
                pause_s = RETRY_EVERY_S
            if not holding.is_held:
                _log.error("the lease of '%s' is lost", name)
                return
    _give_back(holding, name)


def _give_back(holding: _Holding, name: str) -> None:
    for attempt in range(1, RELEASE_TRIES + 1):
        try:
            with holding.lock:
                holding.free()
            return
        except OmniGraphError as error:
            if attempt == RELEASE_TRIES:
                _log.warning("the lease of '%s' could not be given back; it expires by itself: %s", name, error)


# --- acquiring --------------------------------------------------------------------------------------------


def acquire_object(
    objects: ObjectStore, path: str, name: str, deadline: float, *, of_the_dead: bool = False
) -> ObjectLease:
    """The lease, as soon as it is free and nobody else is next; LeaseTimeout after the deadline, and with `of_the_dead`
    as soon as it is renewed or taken by somebody else."""
    me = new_ulid()
    seen_etag, seen_since = "", 0.0
    first: LeaseRecord | None = None
    pause_s = 0.01
    while True:
        stored = objects.read(path)
        record = _decode(path, stored.data) if stored is not None else None
        if stored is not None and stored.etag != seen_etag:
            seen_etag, seen_since = stored.etag, time.monotonic()
        if stored is not None and record is not None and record.owner == me:
            return ObjectLease(objects, path, name, record, stored.etag)  # our own put, of which the answer was lost
        if record is None or _may_take(record, me, unchanged_s=time.monotonic() - seen_since):
            mine = _record_for(me, record)
            etag = (
                objects.write_if_match(path, _encode(mine), stored.etag)
                if stored is not None
                else objects.write_if_absent(path, _encode(mine))
            )
            if etag is not None:
                return ObjectLease(objects, path, name, mine, etag)
        elif time.monotonic() >= deadline or (of_the_dead and _lives(first := first or record, record)):
            raise LeaseTimeout(
                f"timed out waiting for the lease of '{name}': process {record.pid} on {record.host} holds it"
            )
        elif stored is not None and _may_be_next(record, me):
            objects.write_if_match(
                path, _encode(replace(record, next=me, next_until=time.time() + NEXT_TTL_S)), stored.etag
            )
        time.sleep(pause_s * random.uniform(0.5, 1.5))
        pause_s = min(pause_s * 1.5, 0.2)


def _may_take(record: LeaseRecord, me: str, unchanged_s: float) -> bool:
    """Free, and nobody else is next.

    Free is what was released, what is expired by its own clock with room for skew, or what was not renewed for a whole
    term as we watched.
    """
    is_free = record.owner is None or time.time() > record.expires_at + CLOCK_SKEW_S or unchanged_s > LEASE_TTL_S
    is_ours = record.next in (None, me) or time.time() > record.next_until or unchanged_s > NEXT_TTL_S
    return is_free and is_ours


def _lives(before: LeaseRecord, now: LeaseRecord) -> bool:
    """True when somebody has moved the expiry since: who waits to be next does not."""
    return now.owner is not None and (now.owner, now.expires_at) != (before.owner, before.expires_at)


def _may_be_next(record: LeaseRecord, me: str) -> bool:
    """True when nobody is next, or we are and must show that we still wait."""
    if record.next == me:
        return time.time() > record.next_until - NEXT_TTL_S / 2
    return record.next is None or time.time() > record.next_until


def _record_for(owner: str, before: LeaseRecord | None) -> LeaseRecord:
    now = time.time()
    stays = before is not None and before.next not in (None, owner) and before.next_until > now
    return LeaseRecord(
        owner=owner,
        host=socket.gethostname(),
        pid=os.getpid(),
        fence=(before.fence if before is not None else 0) + 1,
        acquired_at=now,
        expires_at=now + LEASE_TTL_S,
        next=before.next if before is not None and stays else None,
        next_until=before.next_until if before is not None and stays else 0.0,
    )


def _encode(record: LeaseRecord) -> bytes:
    return json.dumps(asdict(record)).encode()


def _decode(path: str, data: bytes) -> LeaseRecord:
    try:
        members: dict[str, Any] = json.loads(data)
        optional = ("next", "next_until")  # records of earlier releases have none
        return LeaseRecord(
            **{name: members[name] for name in LeaseRecord.__slots__ if name in members or name not in optional}
        )
    except (ValueError, KeyError, TypeError) as error:
        raise Corrupt(path, f"not a lease: {error}") from error
