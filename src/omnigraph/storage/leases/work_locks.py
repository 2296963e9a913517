"""Work locks: who writes into a local folder says so, and nobody removes the folder meanwhile.

Spark tells its driver that a job failed while other tasks of the job still run, in processes of their own. A folder
that is removed under them is made again by the next file that they write. So whoever works in it holds a shared OS lock
on one file there, and whoever removes it waits for the lock alone. A process that dies lets go.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager

from omnigraph.storage.files import FileLock
from omnigraph.storage.objects import storage_error

PAUSE_S = 0.01


def allow_work(path: str) -> None:
    """Makes the lock file. Its folder is open for work from here on until it is removed."""
    try:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644))
    except OSError as error:
        raise storage_error(error, path) from error


@contextmanager
def at_work(path: str) -> Iterator[None]:
    """Keeps the folder of the lock file while the block runs; an error when it has been removed."""
    try:
        lock = FileLock(path, os.O_RDWR)
        lock.wait(shared=True)
    except OSError as error:
        raise storage_error(error, path) from error
    try:
        if not os.path.exists(path):  # it went while this waited
            raise storage_error(FileNotFoundError(2, os.strerror(2)), path)
        yield
    finally:
        lock.close()


@contextmanager
def nobody_at_work(path: str, wait_s: float) -> Iterator[bool]:
    """Keeps everybody else from beginning to work while the block runs; False when somebody did not end in time."""
    try:
        lock = FileLock(path, os.O_RDWR)
    except FileNotFoundError:  # nobody was ever allowed to
        yield True
        return
    except OSError as error:
        raise storage_error(error, path) from error
    try:
        yield _alone(lock, time.monotonic() + wait_s)
    finally:
        lock.close()


def _alone(lock: FileLock, deadline: float) -> bool:
    while not lock.take():
        if time.monotonic() >= deadline:
            return False
        time.sleep(PAUSE_S)
    return True
