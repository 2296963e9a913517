"""Durability: Lance never syncs a local disk, so we sync what a write created before we acknowledge it."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Literal

Durability = Literal["full", "os"]
"""`full` survives a power cut; `os` survives a process crash only, for throw-away graphs and bulk tests."""


def sync_files(paths: Iterable[str]) -> None:
    """Syncs files, then the folders that name them: a file without its directory entry is lost too. Each once."""
    wanted = dict.fromkeys(paths)
    folders = {os.path.dirname(path) for path in wanted}
    for path in wanted.keys() - folders:
        _sync(path, os.O_RDONLY)
    for folder in sorted(folders, reverse=True):  # the deepest first
        _sync(folder, os.O_RDONLY | os.O_DIRECTORY)


def sync_folder(path: str) -> None:
    _sync(path, os.O_RDONLY | os.O_DIRECTORY)


def _sync(path: str, flags: int) -> None:
    descriptor = os.open(path, flags)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
