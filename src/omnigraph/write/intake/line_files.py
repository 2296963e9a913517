"""Line files: JSON lines as work items. A plain file is cut into byte ranges, a compressed one is one item.

A line belongs to the range that holds its first byte, so any cut gives the same lines.
"""

from __future__ import annotations

import io
import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from omnigraph.language.schema import Catalog
from omnigraph.model.errors import BadRequest
from omnigraph.model.export_line import is_export_line
from omnigraph.model.late_dataclass import dataclass
from omnigraph.write.intake.export_end import TAIL_BYTES, checked_export, end_of_records, last_line
from omnigraph.write.intake.line_blocks import Block
from omnigraph.write.intake.records import Record, RecordReader
from omnigraph.write.intake.source_files import REMOTE, Codec, SourceFile, codec_of, find_files, remote, size_of
from omnigraph.write.intake.sources import ItemSource, Unreadable
from omnigraph.write.rules import Violation

SPLIT_BYTES = 32 * 1024 * 1024
"""Of a plain file per work item."""
BLOCK_BYTES = 2 * 1024 * 1024
"""Read and decoded at a time: large enough for column speed, small enough that one bad line slows down little."""

ENDINGS = (".jsonl", ".ndjson", ".json")


@dataclass(frozen=True, slots=True)
class LineItem:
    """A range of a file of lines, or lines that are in memory."""

    file: str | None
    path: str | None = None
    start: int = 0
    end: int | None = None
    codec: Codec | None = None
    content: tuple[bytes, ...] = ()
    bytes_on_disk: int = 0

    @property
    def counts_own_lines(self) -> bool:
        return True

    @property
    def size(self) -> int:
        return self.bytes_on_disk if self.path is not None else sum(map(len, self.content))

    def records(self, catalog: Catalog) -> Iterator[Record | Unreadable]:
        reader, number = RecordReader(catalog, self.file), 0
        for block in self.blocks():
            offset = block.offset
            for raw in _lines(block.data):
                number += 1
                parsed = reader.parse_bytes(raw, number, offset)
                offset += len(raw)
                if isinstance(parsed, Violation):
                    yield Unreadable(number, raw, parsed)
                elif parsed is not None:
                    yield parsed

    def blocks(self, block_bytes: int | None = None) -> Iterator[Block]:
        """The lines of this item in blocks."""
        block_bytes = block_bytes or BLOCK_BYTES
        found = self.unchecked(block_bytes)
        is_whole = self.start == 0 and self.end is None
        return checked_export(found, self.file) if is_whole and self._may_be_export() else found

    def _may_be_export(self) -> bool:
        """Whether the last line is that of an export; of a compressed file only its end tells."""
        if self.path is None:
            return bool(self.content) and is_export_line(self.content[-1])
        return self.codec is not None or is_export_line(last_line(self.tail())[1])

    def tail(self) -> bytes:
        """The end of a plain file."""
        assert self.path is not None, "lines in memory have no file"
        try:
            with self._open(self.path) as file:
                file.seek(max(0, self.bytes_on_disk - TAIL_BYTES))
                return bytes(file.read())
        except (OSError, pa.ArrowException) as error:
            raise _unreadable(self.path, error) from error

    def unchecked(self, block_bytes: int = BLOCK_BYTES) -> Iterator[Block]:
        """The lines without a look at the last one."""
        if self.path is None:
            yield from _joined(self.content, block_bytes)
            return
        try:
            with self._open(self.path) as file:
                yield from self._cut(file, block_bytes)
        except (OSError, pa.ArrowException) as error:
            raise _unreadable(self.path, error) from error

    def _open(self, path: str) -> Any:
        if path.startswith(REMOTE):
            files, name = remote(path)
            if self.codec is not None:
                return files.open_input_stream(name, compression=self.codec)
            return io.BufferedReader(files.open_input_file(name), BLOCK_BYTES)
        if self.codec is not None:
            return pa.input_stream(path, compression=self.codec)
        return open(path, "rb")

    def _cut(self, file: Any, block_bytes: int) -> Iterator[Block]:
        position, tail = self.start, b""
        if self.start:  # the line that the byte before belongs to is the neighbour's
            file.seek(self.start - 1)
            position += len(file.readline()) - 1
        while self.end is None or position < self.end:
            fresh = file.read(block_bytes)
            data = tail + fresh
            cut = data.rfind(b"\n") + 1 if fresh else len(data)
            if self.end is not None and position + cut > self.end:  # the last line that begins here ends behind it
                stop = data.find(b"\n", max(self.end - position - 1, 0), cut) + 1
                cut = stop or cut
            if cut:
                yield Block(data[:cut], position)
                position += cut
            if not fresh:
                return
            tail = data[cut:]


def _unreadable(path: str, error: Exception) -> BadRequest:
    return BadRequest(f"cannot read '{path}': {getattr(error, 'strerror', None) or error}")


def _lines(data: bytes) -> list[bytes]:
    lines = [line + b"\n" for line in data.split(b"\n")]
    lines[-1] = lines[-1][:-1]
    return lines if lines[-1] else lines[:-1]


def _joined(content: Iterable[bytes], block_bytes: int) -> Iterator[Block]:
    waiting: list[bytes] = []
    size = offset = 0
    for line in content:
        ended = line if line.endswith(b"\n") else line + b"\n"
        waiting.append(ended)
        size += len(ended)
        if size >= block_bytes:
            yield Block(b"".join(waiting), offset)
            waiting, size, offset = [], 0, offset + size
    if waiting:
        yield Block(b"".join(waiting), offset)


# --- finding files ----------------------------------------------------------------------------------------


def line_source(
    source: str | Path | Sequence[str | Path] | Iterable[bytes], *, split_bytes: int = SPLIT_BYTES
) -> ItemSource:
    """The items of files, globs and folders of JSON lines, or of lines in memory."""
    if isinstance(source, str | Path):
        return ItemSource(tuple(_items_of(find_files([source], ENDINGS), split_bytes)))
    given = list(source)
    paths = [each for each in given if isinstance(each, str | Path)]
    if paths and len(paths) == len(given):
        return ItemSource(tuple(_items_of(find_files(paths, ENDINGS), split_bytes)))
    lines = tuple(each for each in given if isinstance(each, bytes))
    if len(lines) < len(given):
        raise BadRequest("the source must be paths or lines of bytes", "pass paths alone, or lines of bytes alone")
    return ItemSource((LineItem(None, content=lines),))


def _items_of(files: Sequence[SourceFile], split_bytes: int) -> Iterator[LineItem]:
    for path in (file.path for file in files):
        size, codec, place = size_of(path), codec_of(path), _place_of(path)
        if codec is not None or size <= split_bytes:
            yield LineItem(path, place, codec=codec, bytes_on_disk=size)
            continue
        whole = LineItem(path, place, bytes_on_disk=size)
        records = end_of_records(whole.tail(), whole.unchecked, size, path)
        parts = -(-records // split_bytes)
        cuts = [records * part // parts for part in range(parts + 1)]
        for part in range(parts):
            start, end = cuts[part], cuts[part + 1]
            open_ended = part == parts - 1 and records == size
            yield LineItem(path, place, start, None if open_ended else end, bytes_on_disk=end - start)


def _place_of(path: str) -> str:
    """The same file for a task that runs in another folder."""
    return path if path.startswith(REMOTE) else os.path.abspath(path)
