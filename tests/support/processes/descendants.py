"""The processes that a process started, and theirs: found by a mark in their environment, awaited without polling."""

from __future__ import annotations

import os
import select
import time
import uuid
from pathlib import Path

MARK = "OMNIGRAPH_TEST_FAMILY"


def new_mark() -> dict[str, str]:
    """Environment for a process whose family is to be found again."""
    return {MARK: uuid.uuid4().hex}


def family(mark: dict[str, str]) -> list[int]:
    """The living processes that carry the mark."""
    wanted = f"{MARK}={mark[MARK]}".encode()
    folders = (folder for folder in Path("/proc").iterdir() if folder.name.isdigit())
    return [int(folder.name) for folder in folders if wanted in _environment(folder)]


def await_end(mark: dict[str, str], timeout_s: float) -> list[int]:
    """Waits until the family has ended; returns those that live on after the time."""
    deadline = time.monotonic() + timeout_s
    while living := family(mark):
        left = deadline - time.monotonic()
        if left <= 0:
            break
        _await_one(living[0], left)
    return living


def _await_one(pid: int, timeout_s: float) -> None:
    try:
        handle = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    try:
        poll = select.poll()
        poll.register(handle, select.POLLIN)
        poll.poll(timeout_s * 1000)
    finally:
        os.close(handle)


def _environment(folder: Path) -> list[bytes]:
    try:
        return (folder / "environ").read_bytes().split(b"\0")
    except OSError:
        return []  # it has ended, or is somebody else's
