"""Durability: Lance never syncs a local disk, so we sync what a write created before we acknowledge it.

A sync that fails is final: the kernel may drop the pages and report success the next time. So the error leaves here as
`SyncFailed`, and what could not be synced is never confirmed to anybody.
"""

from __future__ import annotations

import os
import threading
import time
from collections import OrderedDict, deque
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import cache
from typing import Literal

from omnigraph.model.errors import SyncFailed

Durability = Literal["full", "os"]
"""`full` survives a power cut; `os` survives a process crash only, for throw-away graphs and bulk tests."""

SYNCS_AT_A_TIME = 3
PATHS_OF_A_THREAD = 2
"""A file with its folder is synced at once: to hand one of them over takes as long as it saves."""
CLOCK_TICK_S = 0.05
"""File times may be this coarse: a folder that changed as recently as that may change again at the same time."""
SETTLED_MAX = 4096

_settled: OrderedDict[str, tuple[int, int]] = OrderedDict()
_lock = threading.Lock()


def sync_files(paths: Iterable[str], top: str) -> None:
    """Syncs files and the folders that name them: a file without its directory entry is lost too. Each once.

    The folders above, up to and including `top`, are synced too if anything was added to them since this process did
    so last: the first file of its kind makes its folder as well. Several at a time: the file system then writes its
    journal fewer times than there are files.
    """
    files = set(paths)
    direct = {os.path.dirname(path) for path in files}
    above = {folder for path in direct for folder in _folders_above(path, top)} - direct
    changed = {folder: stamp for folder in above if (stamp := _unsettled(folder)) is not None}
    wanted = deque([*sorted(files), *sorted(direct | changed.keys())])  # a file takes much longer than a folder
    at_a_time = min(SYNCS_AT_A_TIME, len(wanted) // PATHS_OF_A_THREAD)
    others = [_pool().submit(_sync_each, wanted) for _ in range(at_a_time - 1)]
    try:
        _sync_each(wanted)
    finally:
        for other in others:
            other.result()
    _note_settled(changed)


def sync_folder(path: str, top: str | None = None) -> None:
    """Syncs a folder, and those above it up to and including `top` that have changed."""
    above = () if top is None else _folders_above(path, top)
    changed = {folder: stamp for folder in above if (stamp := _unsettled(folder)) is not None}
    _sync_each(deque([path, *sorted(changed)]))
    _note_settled(changed)


def _sync_each(paths: deque[str]) -> None:
    """Takes one after the other until none is left; others may take from them meanwhile."""
    with suppress(IndexError):
        while True:
            _sync(paths.popleft())


def _sync(path: str) -> None:
    try:
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
    except OSError as error:
        raise SyncFailed(path, error.strerror or str(error)) from error


def _folders_above(path: str, top: str) -> list[str]:
    """The folders above a path, up to and including `top`; none when it is not below it."""
    found: list[str] = []
    while path != top:
        path = os.path.dirname(path)
        if len(path) < len(top):
            return []
        found.append(path)
    return found


def _unsettled(folder: str) -> tuple[int, int] | None:
    """The folder's stamp, if anything may have been added to it since it was synced here; None when it is settled."""
    try:
        found = os.stat(folder)
    except OSError as error:
        raise SyncFailed(folder, error.strerror or str(error)) from error
    stamp = (found.st_ino, found.st_mtime_ns)
    with _lock:
        return None if _settled.get(folder) == stamp else stamp


def _note_settled(stamps: dict[str, tuple[int, int]]) -> None:
    """The stamps were taken before the sync. A change within the tick of the clock would not show: not noted."""
    old_enough = time.time_ns() - int(CLOCK_TICK_S * 1e9)
    with _lock:
        for folder, stamp in stamps.items():
            if stamp[1] < old_enough:
                _settled[folder] = stamp
                _settled.move_to_end(folder)
        while len(_settled) > SETTLED_MAX:
            _settled.popitem(last=False)


@cache
def _pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(SYNCS_AT_A_TIME, thread_name_prefix="omnigraph-sync")


os.register_at_fork(after_in_child=_pool.cache_clear)  # threads do not survive a fork
