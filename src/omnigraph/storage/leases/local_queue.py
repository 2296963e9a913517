"""The queue of a local lease: processes that wait get their turn in the order in which they came.

A file beside the lock counts tickets. Whoever waits holds an OS lock on the one byte of its ticket, which the kernel
frees when the process dies, so a ticket never outlives its owner. It is the turn of the ticket that no smaller one is
waiting before. Nobody passes a queue: a process that gives the lease back and wants it again joins at the end.
The first who waits makes the file: as long as nobody did, nobody waits.
"""

from __future__ import annotations

import fcntl
import os
import struct

from omnigraph.storage.files import FileLock

IS_SUPPORTED = hasattr(fcntl, "F_OFD_SETLK")
"""Locks of single bytes that belong to an open file exist on Linux. Elsewhere whoever asks first gets the lease."""

_COUNTER, _FIRST_TICKET = 0, 8
_FLOCK = struct.Struct("hhqqi4x")


class LeaseQueue:
    """One process's view of the queue, and its place in it once it has one."""

    def __init__(self, lease_path: str) -> None:
        self._path = f"{lease_path}~queue"
        self._file: FileLock | None = None
        self._ticket: int | None = None

    def has_waiters(self) -> bool:
        """True when anybody else waits."""
        if self._file is None and not os.path.exists(self._path):
            return False
        self._file = self._file or FileLock(self._path)
        return self._is_locked(_FIRST_TICKET, 0)

    def join(self) -> None:
        """Draws a ticket. The counter is locked for the few calls that this takes."""
        self._file = self._file or FileLock(self._path)
        self._lock(fcntl.F_OFD_SETLKW, fcntl.F_WRLCK, _COUNTER, _FIRST_TICKET)
        try:
            ticket = int.from_bytes(os.pread(self._fileno(), 8, 0), "little")
            self._lock(fcntl.F_OFD_SETLKW, fcntl.F_WRLCK, _FIRST_TICKET + ticket, 1)
            os.pwrite(self._fileno(), (ticket + 1).to_bytes(8, "little"), 0)
            self._ticket = ticket
        finally:
            self._lock(fcntl.F_OFD_SETLK, fcntl.F_UNLCK, _COUNTER, _FIRST_TICKET)

    def is_first(self) -> bool:
        assert self._ticket is not None, "only who has joined can be first"
        return self._ticket == 0 or not self._is_locked(_FIRST_TICKET, self._ticket)

    def leave(self) -> None:
        """Gives the ticket back, and with it the place."""
        if self._file is not None:
            self._file.close()

    def _fileno(self) -> int:
        assert self._file is not None, "only an open queue is asked"
        return self._file.fileno()

    def _is_locked(self, start: int, length: int) -> bool:
        wanted = _FLOCK.pack(fcntl.F_WRLCK, os.SEEK_SET, start, length, 0)
        found = fcntl.fcntl(self._fileno(), fcntl.F_OFD_GETLK, wanted)
        return bool(_FLOCK.unpack(found)[0] != fcntl.F_UNLCK)

    def _lock(self, command: int, kind: int, start: int, length: int) -> None:
        fcntl.fcntl(self._fileno(), command, _FLOCK.pack(kind, os.SEEK_SET, start, length, 0))
