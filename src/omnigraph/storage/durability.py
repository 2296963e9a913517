"""Durability: Lance never syncs a local disk, so we sync what a write created before we acknowledge it."""

from __future__ import annotations

import os
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Literal

Durability = Literal["full", "os"]
"""`full` survives a power cut; `os` survives a process crash only, for throw-away graphs and bulk tests."""

SYNCS_AT_A_TIME = 2
"""One after the other takes a quarter longer; more at a time cost more to hand over than they save."""


def sync_files(paths: Iterable[str]) -> None:
    """Syncs files and the folders that name them: a file without its directory entry is lost too. Each once.

    Several at a time: the file system then writes its journal fewer times than there are files.
    """
    files = set(paths)
    wanted = sorted(files | {os.path.dirname(path) for path in files})
    shares = [wanted[first::SYNCS_AT_A_TIME] for first in range(SYNCS_AT_A_TIME)]
    others = [_pool().submit(_sync_each, share) for share in shares[1:] if share]
    try:
        _sync_each(shares[0])
    finally:
        for other in others:
            other.result()


def _sync_each(paths: list[str]) -> None:
    for path in paths:
        _sync(path)


def sync_folder(path: str) -> None:
    _sync(path)


def _sync(path: str) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@cache
def _pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(SYNCS_AT_A_TIME, thread_name_prefix="omnigraph-sync")


os.register_at_fork(after_in_child=_pool.cache_clear)  # threads do not survive a fork
