"""Steers the fault shim: a small C library, loaded into a child process, that fails its n-th file-system call.

The library is compiled when it is first asked for. Everything it knows stands in a file that both sides map, so whoever
started the child arms it, and no call of the child is spent on that.
"""

from __future__ import annotations

import errno
import mmap
import os
import shutil
import signal
import struct
import subprocess
from enum import IntEnum
from pathlib import Path
from typing import Literal

from omnigraph.model.late_dataclass import dataclass

SOURCE = Path(__file__).with_name("fault_shim.c")
COMPILER = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")

# The layout of `struct state` in the C file.
_HEAD = struct.Struct("=6i3q512s512s")
_ENTRY = struct.Struct("=16s512s512s")
_LOG_ENTRIES = 8192
_CATCHES_AT = struct.calcsize("=5i")
_COUNT_AT = struct.calcsize("=6iq")
_STOPPED_AT = struct.calcsize("=6i2q")
_SIZE = _HEAD.size + _ENTRY.size * _LOG_ENTRIES


class Way(IntEnum):
    """In which way a call goes wrong; the numbers are those of the C file."""

    COUNT = 0  # not at all: the calls are counted
    ERROR = 1  # it does not happen, and an error is returned
    ERROR_AFTER = 2  # it happens, and an error is returned
    TORN = 3  # half of the bytes are written, and an error is returned
    STOP = 4  # the process is stopped before the call, as by SIGSTOP
    KILL = 5  # the process dies before the call
    KILL_AFTER = 6  # the process dies after the call


CHANGES, READS = 1, 2
FAILING = (Way.ERROR, Way.ERROR_AFTER, Way.TORN)


@dataclass(frozen=True, slots=True)
class Fault:
    """The n-th call goes wrong in some way; a `lasting` fault stays from there on. With `forgets`, the power is cut: of
    what was not synced, nothing or some is left."""

    way: Way
    nth: int
    error: int = errno.EIO
    lasting: bool = False
    kinds: int = CHANGES
    forgets: Literal["", "all", "some"] = ""

    @property
    def title(self) -> str:
        if self.forgets:
            return f"power cut, {'nothing' if self.forgets == 'all' else 'some'} of what was not synced is left"
        named = f"({errno.errorcode[self.error]})" if self.way in FAILING else ""
        return f"{self.way.name.lower()}{named}{' from then on' if self.lasting else ''}"

    @property
    def is_deadly(self) -> bool:
        return self.way in (Way.KILL, Way.KILL_AFTER)


@dataclass(frozen=True, slots=True)
class Call:
    """One call that was counted: its name, and where below the root it went; of a rename or a link, from where."""

    name: str
    path: str
    origin: str = ""

    def __str__(self) -> str:
        return f"{self.name} {self.path}"


def compiled(folder: Path) -> Path:
    """The library, compiled into a folder."""
    assert COMPILER is not None, "there is no C compiler on this machine"
    library = folder / "fault_shim.so"
    command = [COMPILER, "-shared", "-fPIC", "-O1", "-o", str(library), str(SOURCE), "-ldl"]
    subprocess.run(command, check=True, capture_output=True, text=True)
    return library


class Shim:
    """The shim of one child process and of its children."""

    def __init__(self, folder: Path, library: Path) -> None:
        state = folder / "fault_shim.state"
        state.write_bytes(bytes(_SIZE))
        self.environment = {"LD_PRELOAD": str(library), "FAULT_SHIM_STATE": str(state)}
        with state.open("r+b") as file:
            self._memory = mmap.mmap(file.fileno(), _SIZE)
        self._root = ""

    @property
    def catches_renames(self) -> bool:
        """True once a child has started whose kernel hands its renames to the shim."""
        return bool(struct.unpack_from("=i", self._memory, _CATCHES_AT)[0])

    def arm(self, root: str, fault: Fault, graveyard: Path | None = None) -> None:
        """Begins to count below `root`; the n-th call, from 1, goes wrong. Removed files stay in the graveyard."""
        self._root = root
        head = (0, fault.way, fault.error, fault.lasting, fault.kinds, self.catches_renames)
        buried = b"" if graveyard is None else str(graveyard).encode()
        _HEAD.pack_into(self._memory, 0, *head, fault.nth, 0, 0, root.encode(), buried)
        struct.pack_into("=i", self._memory, 0, 1)

    def stopped(self) -> int | None:
        """The process that stands still at its fault: the child, or one of its own children."""
        (pid,) = struct.unpack_from("=q", self._memory, _STOPPED_AT)
        return pid if pid and _stands_still(pid) else None

    def let_go_on(self) -> None:
        """Ends the stop, once."""
        (pid,) = struct.unpack_from("=q", self._memory, _STOPPED_AT)
        struct.pack_into("=q", self._memory, _STOPPED_AT, 0)
        os.kill(pid, signal.SIGCONT)

    def disarm(self) -> list[Call]:
        """Ends the counting; what was counted."""
        struct.pack_into("=i", self._memory, 0, 0)
        (count,) = struct.unpack_from("=q", self._memory, _COUNT_AT)
        return [self._call(index) for index in range(min(count, _LOG_ENTRIES))]

    def close(self) -> None:
        self._memory.close()

    def _call(self, index: int) -> Call:
        name, path, origin = _ENTRY.unpack_from(self._memory, _HEAD.size + index * _ENTRY.size)
        return Call(_text(name), self._below(path), self._below(origin) if origin[0] else "")

    def _below(self, field: bytes) -> str:
        return _text(field).removeprefix(self._root).lstrip("/") or "."


def _stands_still(pid: int) -> bool:
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except FileNotFoundError:
        return False
    return stat.rpartition(")")[2].split()[0] == "T"


def _text(field: bytes) -> str:
    return field.partition(b"\0")[0].decode(errors="replace")
