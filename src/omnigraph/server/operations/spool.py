"""The spool: a body while it arrives. What is small stays in memory, the rest goes to a temporary file."""

from __future__ import annotations

import io
import tempfile
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import IO, Self, TypeVar

Answer = TypeVar("Answer")

IN_MEMORY_MAX = 8 * 1024 * 1024


class Spool:
    """Use it in a `with` statement: the file is gone after it, unless work was started that has it by then."""

    def __init__(self, in_memory_max: int = IN_MEMORY_MAX) -> None:
        self._in_memory_max = in_memory_max
        self._memory = bytearray()
        self._file: IO[bytes] | None = None
        self.size = 0
        self._is_kept = False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if not self._is_kept:
            self.close()

    def given_to(self, run: Callable[[], Answer]) -> Callable[[], Answer]:
        """The work that reads it, and closes it at its end."""

        def closing() -> Answer:
            try:
                return run()
            finally:
                self.close()

        return closing

    def keep(self) -> None:
        """The work was started: it closes the spool."""
        self._is_kept = True

    def close(self) -> None:
        if self._file is not None:
            self._file.close()

    def write(self, part: bytes) -> None:
        self.size += len(part)
        if self._file is None and self.size <= self._in_memory_max:
            self._memory += part
            return
        if self._file is None:
            self._file = tempfile.NamedTemporaryFile(prefix="omnigraph-load-", suffix=".jsonl")  # noqa: SIM115 - lives on
            self._file.write(self._memory)
            self._memory.clear()
        self._file.write(part)

    def source(self) -> io.BytesIO | Path:
        """What a load reads: the lines, or the file that has them."""
        if self._file is None:
            return io.BytesIO(bytes(self._memory))
        self._file.flush()
        return Path(self._file.name)
