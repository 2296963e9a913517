"""File locks: OS locks that end with their holder, and that neither a forked child nor an interrupt leaves behind.

A lock belongs to an open file, which a forked child shares: as long as the child lived, nobody else would get it. So
every lock file is on record here, and a child closes them all before it runs. A lock whose object is dropped, for
example by an interrupt between taking it and noting it, is closed with the object.
"""

from __future__ import annotations

import fcntl
import os
import threading
import weakref

_forking = threading.Lock()
"""Held while a file is opened and put on record, and while the process forks: no child has a file that is not on it."""
_on_record: weakref.WeakSet[FileLock] = weakref.WeakSet()


class FileLock:
    """An open lock file. Closing it gives the lock back; so does the end of the process. Raises `OSError` as it is."""

    _descriptor = -1  # of an object whose construction was interrupted

    def __init__(self, path: str, flags: int = os.O_RDWR | os.O_CREAT) -> None:
        self.path = path
        with _forking:
            _on_record.add(self)
            self._descriptor = os.open(path, flags | os.O_CLOEXEC, 0o644)

    def fileno(self) -> int:
        return self._descriptor

    def take(self, *, shared: bool = False) -> bool:
        """Takes the lock if it is free."""
        try:
            fcntl.flock(self._descriptor, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def wait(self, *, shared: bool = False) -> None:
        """Takes the lock, however long that lasts."""
        fcntl.flock(self._descriptor, fcntl.LOCK_SH if shared else fcntl.LOCK_EX)

    def is_of_path(self) -> bool:
        """True while the locked file is the one that the path names."""
        try:
            return os.path.samestat(os.fstat(self._descriptor), os.stat(self.path))
        except OSError:
            return False

    def close(self) -> None:
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor >= 0:
            try:  # noqa: SIM105 - no call lies between here and the last line, so an interrupt cannot come in between
                os.close(descriptor)
            except OSError:
                pass  # the file is closed whatever the call says, and there is nothing to lose in it

    def __del__(self) -> None:
        self.close()


def _let_go_in_child() -> None:
    """The parent still has its locks: closing a copy of the file does not give them back."""
    for lock in list(_on_record):
        lock.close()
    _forking.release()


os.register_at_fork(before=_forking.acquire, after_in_parent=_forking.release, after_in_child=_let_go_in_child)
