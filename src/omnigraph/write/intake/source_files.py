"""The files of a source, on disk or on S3: paths, folders and patterns to names, and names to bytes."""

from __future__ import annotations

import glob
import io
import os
from collections.abc import Iterable, Iterator
from fnmatch import fnmatchcase
from itertools import takewhile
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, BinaryIO, Literal
from urllib.parse import unquote

import pyarrow as pa

from omnigraph.model.errors import BadRequest
from omnigraph.model.late_dataclass import dataclass
from omnigraph.storage import parse_root

if TYPE_CHECKING:
    from pyarrow import fs

REMOTE = "s3://"
Codec = Literal["gzip", "zstd", "bz2", "lz4"]
_CODECS: dict[str, Codec] = {
    ".gz": "gzip",
    ".gzip": "gzip",
    ".zst": "zstd",
    ".zstd": "zstd",
    ".bz2": "bz2",
    ".lz4": "lz4",
}


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file of a source, and what its place below the path that was asked for says about its rows."""

    path: str
    inner: PurePath
    """From the folder that was asked for, its own name included; of a single file its last names."""
    partitions: tuple[tuple[str, str | None], ...] = ()
    """The `column=value` folders of a lake, unquoted; the lake's word for null is null."""

    @classmethod
    def below(cls, base: str, path: str) -> SourceFile:
        rest = PurePath(os.path.relpath(path, base))
        name = PurePath(os.path.abspath(base)).name
        return cls(path, PurePath(name) / rest, tuple(_partitions(rest)))


def find_files(paths: Iterable[str | Path], suffixes: tuple[str, ...]) -> list[SourceFile]:
    """The files that these paths mean, in order.

    A folder stands for the files of the format below it, a pattern for what it matches. Names that begin with `_` or
    `.` are the marks of other programs and are left out.
    """
    found: dict[str, SourceFile] = {}
    for path in map(str, paths):
        for file in _files(path, suffixes):
            found.setdefault(file.path, file)
    return list(found.values())


def _files(path: str, suffixes: tuple[str, ...]) -> list[SourceFile]:
    if path.startswith(REMOTE):
        return _remote_files(path.rstrip("/"), suffixes)
    if os.path.isdir(path):
        inside = [str(file) for file in _below(Path(path)) if _has_suffix(file.name, suffixes)]
        if not inside:
            raise BadRequest(
                f"the folder '{path}' contains no loadable files", f"files must end in {' or '.join(suffixes)}"
            )
        return [SourceFile.below(path, file) for file in inside]
    if os.path.isfile(path):
        return [SourceFile(path, PurePath(*PurePath(os.path.abspath(path)).parts[-3:]))]
    if not glob.has_magic(path):
        raise BadRequest(f"cannot read '{path}': there is no such file")
    matches = sorted(name for name in glob.glob(path, recursive=True) if os.path.isfile(name))
    if not matches:
        raise BadRequest(f"no file matches '{path}'")
    fixed = list(takewhile(lambda part: not glob.has_magic(part), PurePath(path).parts))
    return [SourceFile.below(str(PurePath(*fixed)), name) for name in matches]


def _remote_files(path: str, suffixes: tuple[str, ...]) -> list[SourceFile]:
    """The same for objects. A pattern is laid over everything below its fixed part."""
    from pyarrow import fs

    fixed = "/".join(takewhile(lambda part: not glob.has_magic(part), path.split("/")))
    files, base = remote(fixed)
    try:
        info = files.get_file_info([base])[0]
        if info.type is fs.FileType.File:
            return [SourceFile(path, PurePath(*PurePath(base).parts[-3:]))]
        below = files.get_file_info(fs.FileSelector(base, recursive=True, allow_not_found=True))
    except OSError as error:
        raise BadRequest(f"cannot read '{path}': {str(error).splitlines()[0]}") from error
    names = sorted(f"{REMOTE}{entry.path}" for entry in below if entry.type is fs.FileType.File)
    shown = [name for name in names if not _is_hidden(name.removeprefix(f"{REMOTE}{base}/"))]
    if fixed != path:
        shown = [name for name in shown if fnmatchcase(name, path)]
    else:
        shown = [name for name in shown if _has_suffix(name, suffixes)]
    if not shown:
        raise BadRequest(f"there are no loadable objects at '{path}'", f"names must end in {' or '.join(suffixes)}")
    return [SourceFile.below(fixed, name) for name in shown]


def _is_hidden(inner: str) -> bool:
    return any(part.startswith(("_", ".")) for part in inner.split("/"))


def remote(path: str) -> tuple[fs.FileSystem, str]:
    """The store of an `s3://` address, by the `AWS_*` variables, and the name in it."""
    from omnigraph.storage.bulk import filesystem

    root = parse_root(path)
    return filesystem(root), root.uri.removeprefix(REMOTE)


def _partitions(path: PurePath) -> Iterator[tuple[str, str | None]]:
    for part in path.parts[:-1]:
        name, equals, value = part.partition("=")
        if equals and name:
            yield unquote(name), None if value == "__HIVE_DEFAULT_PARTITION__" else unquote(value)


def _below(folder: Path) -> Iterator[Path]:
    for entry in sorted(folder.iterdir()):
        if entry.name.startswith(("_", ".")):
            continue
        if entry.is_dir():
            yield from _below(entry)
        elif entry.is_file():
            yield entry


def _has_suffix(name: str, suffixes: tuple[str, ...]) -> bool:
    return name.endswith(suffixes) or (codec_of(name) is not None and os.path.splitext(name)[0].endswith(suffixes))


def codec_of(path: str) -> Codec | None:
    """How a file is compressed, by its ending."""
    return _CODECS.get(os.path.splitext(path)[1].lower())


def is_packed(path: str) -> bool:
    return codec_of(path) is not None


def open_bytes(path: str, start: int = 0) -> BinaryIO:
    """A file for reading from a position on; a packed one is unpacked while it is read, and starts at 0 alone."""
    try:
        if path.startswith(REMOTE):
            return _open_remote(path, start)
        if not is_packed(path):
            file = open(path, "rb")  # noqa: SIM115 — the caller closes what it asked for
            file.seek(start)
            return file
        packed = pa.input_stream(path, compression=codec_of(path))
        return io.BufferedReader(packed, 1 << 20)
    except OSError as error:
        raise BadRequest(f"cannot read '{path}': {error.strerror or error}") from error


def _open_remote(path: str, start: int) -> BinaryIO:
    files, name = remote(path)
    stream = files.open_input_file(name)
    if is_packed(path):
        return io.BufferedReader(pa.CompressedInputStream(stream, codec_of(path)), 1 << 20)
    stream.seek(start)
    return io.BufferedReader(stream, 1 << 20)


def lines_until(file: Iterable[bytes], length: int) -> Iterator[bytes]:
    """The lines of a part of so many bytes."""
    for line in file:
        if length <= 0:
            return
        yield line
        length -= len(line)


def size_of(path: str) -> int:
    try:
        if path.startswith(REMOTE):
            files, name = remote(path)
            return int(files.get_file_info([name])[0].size or 0)
        return os.path.getsize(path)
    except OSError as error:
        raise BadRequest(f"cannot read '{path}': {error.strerror or error}") from error
