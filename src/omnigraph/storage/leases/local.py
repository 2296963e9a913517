"""Leases of a local graph: an OS lock on a file, handed to waiting processes in the order in which they came."""

from __future__ import annotations

import os
import random
import time

from omnigraph.model.errors import LeaseLost, LeaseTimeout
from omnigraph.storage.files import FileLock
from omnigraph.storage.leases.local_queue import IS_SUPPORTED, LeaseQueue
from omnigraph.storage.objects import storage_error

FOLDER_TRIES = 16
"""A new folder is empty for a moment, and may be cleaned up as a leftover before the lock file is in it."""
PAUSE_S_MAX = 0.01
FIRST_PAUSE_S = 0.0005
"""Whoever is first looks this often: the lease is free for no longer than that."""
ASLEEP_S = 0.25
"""If whoever is first does not take a free lease for about this long (it may be stopped), the next one does."""


class FileLease:
    """A held lock. The kernel keeps it as long as this process lives, and only so long."""

    def __init__(self, lock: FileLock, name: str) -> None:
        self._lock = lock
        self._name = name

    def check(self) -> None:
        """Nobody can take the lock from us, but the whole graph may have been removed or replaced."""
        if not self._lock.is_of_path():
            raise LeaseLost(
                f"the lease of '{self._name}' is gone: the graph was removed or replaced", "open the graph again"
            )

    def release(self) -> None:
        self._lock.close()

    def is_wanted(self) -> bool:
        """True when another process waits for this lease."""
        if not IS_SUPPORTED:
            return False
        queue = LeaseQueue(self._lock.path)
        try:
            return queue.has_waiters()
        finally:
            queue.leave()


def acquire_file(path: str, name: str, deadline: float, *, queues: bool = True) -> FileLease:
    """The lease, when it is free and nobody else waits for it, or when it is our turn; LeaseTimeout after that."""
    try:
        while True:
            lock = _open_lock(path)
            lease = _queued(lock, name, deadline) if queues and IS_SUPPORTED else _poll(lock, name, deadline)
            if lock.is_of_path():
                return lease
            lease.release()  # the file was deleted, and made anew, while we waited
    except OSError as error:
        raise storage_error(error, path) from error


def _queued(lock: FileLock, name: str, deadline: float) -> FileLease:
    queue = LeaseQueue(lock.path)
    try:
        if not queue.has_waiters() and lock.take():
            return FileLease(lock, name)
        if time.monotonic() >= deadline:
            raise _timeout(name)
        queue.join()
        return _wait(lock, queue, name, deadline)
    finally:
        queue.leave()


def _open_lock(path: str) -> FileLock:
    for attempt in range(1, FOLDER_TRIES + 1):
        try:
            return FileLock(path)
        except FileNotFoundError:
            if attempt == FOLDER_TRIES:
                raise
            os.makedirs(os.path.dirname(path), exist_ok=True)
    raise AssertionError("the loop returns or raises")


def _wait(lock: FileLock, queue: LeaseQueue, name: str, deadline: float) -> FileLease:
    impatient_at = time.monotonic() + ASLEEP_S
    while time.monotonic() < deadline:
        is_first = queue.is_first()
        if (is_first or time.monotonic() >= impatient_at) and lock.take():
            return FileLease(lock, name)
        if time.monotonic() >= impatient_at:
            impatient_at = time.monotonic() + ASLEEP_S
        time.sleep(FIRST_PAUSE_S if is_first else PAUSE_S_MAX * random.uniform(0.5, 1.5))
    raise _timeout(name)


def _poll(lock: FileLock, name: str, deadline: float) -> FileLease:
    pause_s = FIRST_PAUSE_S
    while not lock.take():
        if time.monotonic() >= deadline:
            raise _timeout(name)
        time.sleep(pause_s * random.uniform(0.5, 1.5))
        pause_s = min(pause_s * 1.5, PAUSE_S_MAX)
    return FileLease(lock, name)


def _timeout(name: str) -> LeaseTimeout:
    return LeaseTimeout(f"timed out waiting for the lease of '{name}': another process holds it")
