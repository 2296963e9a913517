"""The spool: a body while it arrives. What is small stays in memory, the rest goes to a temporary file."""

from __future__ import annotations

import io
import tempfile
from pathlib import Path
from types import TracebackType
from typing import IO, Self

IN_MEMORY_MAX = 8 * 1024 * 1024


class Spool:
    """Use it in a `with` statement: the file is gone after it."""

    def __init__(self, in_memory_max: int = IN_MEMORY_MAX) -> None:
        self._in_memory_max = in_memory_max
        self._memory = bytearray()
        self._file: IO[bytes] | None = None
        self.size = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
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
