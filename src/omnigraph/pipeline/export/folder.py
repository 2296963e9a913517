"""The folder of an export: on disk or on S3. A file appears under its name when it is complete, or not at all."""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from pyarrow import fs

from omnigraph.model.errors import BadRequest, Unreachable
from omnigraph.model.late_dataclass import dataclass
from omnigraph.storage import parse_root
from omnigraph.storage.bulk import filesystem

MANIFEST_FILE = "_manifest.json"
SCHEMA_FILE = "_schema.pg"
EXPORTED_NAMES = ("nodes", "edges", SCHEMA_FILE, MANIFEST_FILE)
"""What an export puts into its folder."""


@dataclass(frozen=True, slots=True)
class ExportFolder:
    """Where an export goes. Picklable: it holds an address, not a connection."""

    uri: str
    """An absolute path, or `s3://bucket/prefix`."""

    @classmethod
    def of(cls, target: str | os.PathLike[str]) -> ExportFolder:
        text = os.fspath(target)
        if text.startswith("s3://"):
            return cls(text.rstrip("/"))
        if "://" in text and not text.startswith("file://"):
            raise BadRequest(f"cannot export to '{text}'", "use a path, a file:// URI or an s3:// URI")
        return cls(os.path.abspath(os.path.expanduser(text.removeprefix("file://"))))

    @property
    def is_local(self) -> bool:
        return not self.uri.startswith("s3://")

    def prepare(self) -> None:
        """Makes the folder, which must not have anything in it: parts of two exports would be one wrong one."""
        files, base = self._open()
        with _reported(self.uri):
            info = files.get_file_info(base)
            if info.type is fs.FileType.File:
                raise BadRequest(f"cannot export to '{self.uri}': it is a file", "name a folder")
            if info.type is fs.FileType.Directory and files.get_file_info(fs.FileSelector(base)):
                raise BadRequest(f"cannot export to '{self.uri}': it is not empty", "name a new folder, or empty it")
            files.create_dir(base, recursive=True)

    @contextmanager
    def writing(self, name: str) -> Iterator[Any]:
        """A sink for one file. On disk it has another name until it is complete; an S3 object appears when it is."""
        files, base = self._open()
        final = f"{base}/{name}"
        parent, _, last = final.rpartition("/")
        path = f"{parent}/.{last}.{uuid.uuid4().hex}.tmp" if self.is_local else final
        with _reported(self.uri):
            files.create_dir(parent, recursive=True)
            try:
                with files.open_output_stream(path) as sink:
                    yield sink
            except BaseException:
                with suppress(OSError):
                    files.delete_file(path)
                raise
            if path != final:
                files.move(path, final)

    def write(self, name: str, content: bytes) -> None:
        with self.writing(name) as sink:
            sink.write(content)

    def discard(self) -> None:
        """Removes the files of an export that failed. The folder was empty when it began."""
        files, base = self._open()
        for info in files.get_file_info([f"{base}/{name}" for name in EXPORTED_NAMES]):
            with suppress(OSError):
                if info.type is fs.FileType.Directory:
                    files.delete_dir(info.path)
                elif info.type is fs.FileType.File:
                    files.delete_file(info.path)

    def _open(self) -> tuple[Any, str]:
        if self.is_local:
            return fs.LocalFileSystem(), self.uri
        root = parse_root(self.uri)
        return filesystem(root), root.uri.removeprefix("s3://")


@contextmanager
def _reported(uri: str) -> Iterator[None]:
    try:
        yield
    except PermissionError as error:
        raise BadRequest(f"cannot write to '{uri}': {error.strerror or error}") from error
    except OSError as error:
        raise Unreachable(f"cannot write to '{uri}': {error.strerror or error}") from error
