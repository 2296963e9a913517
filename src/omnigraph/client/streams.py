"""Streams: pieces of a body to whole lines, and a baseline into a file that is complete or not there."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from typing import TYPE_CHECKING

from omnigraph.client.refusals import ServerUnreachable
from omnigraph.model.errors import BadRequest

if TYPE_CHECKING:
    from omnigraph.history.feed import Baseline


class LineCutter:
    """Cuts pieces into lines; what is left at the end is a line that broke off."""

    def __init__(self) -> None:
        self._rest = bytearray()

    def lines(self, piece: bytes) -> Iterator[bytes]:
        self._rest += piece
        end = self._rest.rfind(b"\n") + 1
        whole, self._rest = bytes(self._rest[:end]), self._rest[end:]
        yield from whole.splitlines(keepends=True)

    def finish(self, url: str) -> None:
        if self._rest:
            raise ServerUnreachable(url, "the stream broke off within a line")


class BaselineFile:
    """Writes the lines of a baseline beside its file, and puts them in its place once the last line has come."""

    def __init__(self, path: str | os.PathLike[str], url: str) -> None:
        self._path, self._url = os.path.abspath(path), url
        folder, name = os.path.split(self._path)
        if os.path.isdir(self._path):
            raise BadRequest(f"cannot write the baseline '{path}': it is a folder", "name a file")
        try:
            descriptor, self._draft = tempfile.mkstemp(dir=folder, prefix=f".{name}.")
        except OSError as error:
            raise BadRequest(f"cannot write the baseline '{path}': {error.strerror or error}") from error
        self._file = os.fdopen(descriptor, "wb")
        self._last = b""

    def write(self, line: bytes) -> None:
        """One line later: the last one is not part of the file."""
        self._file.write(self._last)
        self._last = line

    def install(self) -> Baseline:
        """Raises if the stream ended without the line that says that it is complete."""
        from omnigraph.history.feed import Baseline

        try:
            record = json.loads(self._last)["baseline"]
        except (ValueError, KeyError, TypeError):
            raise ServerUnreachable(self._url, "the baseline broke off before its end") from None
        self._file.flush()
        os.fsync(self._file.fileno())
        self._file.close()
        os.replace(self._draft, self._path)
        return Baseline(record["snapshot_commit_id"], record["resume_cursor"])

    def discard(self) -> None:
        """Leaves nothing behind, unless it was installed."""
        self._file.close()
        with suppress(FileNotFoundError):
            os.unlink(self._draft)
