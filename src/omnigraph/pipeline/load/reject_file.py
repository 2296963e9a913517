"""The reject file of a load: kept beside its place, and put there when it is known what became of the load.

A load that committed leaves exactly the records that it rejected: none, no file. A load that was refused, or was dry,
leaves those that it found broken as well, but never in the place of a file that may be its own input.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path

from omnigraph.model.errors import BadRequest
from omnigraph.model.identifiers import new_ulid
from omnigraph.model.late_dataclass import dataclass
from omnigraph.pipeline.load.sources import Source
from omnigraph.storage.files import sync_folder
from omnigraph.write.intake import ENDINGS, ItemSource, LineItem, find_files
from omnigraph.write.load import Reject


@dataclass(slots=True)
class RejectFile:
    """Where the rejected records of one load go."""

    path: Path
    place: str | None
    """The file itself, behind every link; None for a device or a pipe, which is written to and not replaced."""
    may_be_input: bool
    records: bytes = b""
    beside: str | None = None

    @classmethod
    def of(cls, path: Path, source: Source, items: ItemSource | None) -> RejectFile:
        """Refuses a place that can be none: a folder, or a table that is read here, since rejects are JSON lines."""
        if path.is_dir():
            raise BadRequest(f"cannot write the reject file '{path}': it is a folder")
        if _is_stream(path):
            return cls(path, None, may_be_input=False)
        place = os.path.realpath(path)
        return cls(path, place, may_be_input=os.path.exists(place) and _may_read(source, items, place))

    def hold(self, rejected: Sequence[Reject]) -> None:
        """Keeps what was rejected until the end, on disk already: what cannot be written is found out in time."""
        self.drop()
        self.records = b"".join(reject.text.rstrip(b"\r\n") + b"\n" for reject in rejected)
        if self.place is None or not self.records:
            return
        folder, name = os.path.split(self.place)
        self.beside = os.path.join(folder, f".{name}.{new_ulid()}")
        try:
            with open(self.beside, "wb") as file:
                file.write(self.records)
                file.flush()
                os.fsync(file.fileno())
            if os.path.exists(self.place):
                shutil.copymode(self.place, self.beside)
        except OSError as error:
            self.drop()
            raise BadRequest(f"cannot write the reject file '{self.path}': {error.strerror}") from error

    def after_commit(self) -> None:
        """The load is done: the file has what was rejected, or is gone."""
        if self.records:
            self._put()
        elif self.place is not None:
            with suppress(FileNotFoundError):
                os.unlink(self.place)

    def without_commit(self) -> None:
        """Nothing was loaded: the broken records are written, unless that would overwrite input."""
        if self.records and not self.may_be_input:
            self._put()
        self.drop()

    def drop(self) -> None:
        """Forgets what was held."""
        if self.beside is not None:
            with suppress(FileNotFoundError):
                os.unlink(self.beside)
        self.records, self.beside = b"", None

    def _put(self) -> None:
        if self.place is None:
            with open(self.path, "wb") as file:
                file.write(self.records)
        elif self.beside is not None:
            os.replace(self.beside, self.place)
            self.beside = None
            sync_folder(os.path.dirname(self.place))


def _is_stream(path: Path) -> bool:
    """A device, a pipe, or a name that stands for an open file of this process."""
    return (path.exists() and not path.is_file()) or os.path.abspath(path).startswith(("/dev/", "/proc/"))


def _may_read(source: Source, items: ItemSource | None, place: str) -> bool:
    """True when the load reads this file, or might: lines and DataFrames do not tell where they are from."""
    if items is None:
        given = [source] if isinstance(source, str | Path) else source
        paths = list(given) if isinstance(given, Iterable) and not isinstance(given, ItemSource) else []
        named = [str(path) for path in paths if isinstance(path, str | Path)]
        return not named or any(_stands_for(path, place) for path in named)
    unknown = False
    for item in items.items:
        file = item.path if isinstance(item, LineItem) else item.file
        unknown = unknown or file is None
        if file is not None and _is_same(file, place):
            _refuse_table(item, place)
            return True
    return unknown


def _refuse_table(item: object, place: str) -> None:
    if not isinstance(item, LineItem) or item.codec is not None:
        raise BadRequest(
            f"the reject file '{place}' is part of the input, and is not a plain file of JSON lines",
            "name another file: rejected records are written as JSON lines",
        )


def _stands_for(path: str, place: str) -> bool:
    """A path that Spark reads: a file, a pattern, or a folder with everything below it."""
    if os.path.isdir(path):
        return os.path.commonpath([os.path.realpath(path), place]) == os.path.realpath(path)
    try:
        return any(_is_same(file.path, place) for file in find_files([path], ENDINGS))
    except BadRequest:
        return False  # Spark will say what is wrong with it


def _is_same(file: str, place: str) -> bool:
    """Also by another path, a symbolic link or a hard link."""
    try:
        return os.path.samefile(file, place)
    except OSError:
        return False
