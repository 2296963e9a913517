"""The end of an export: its last line is checked against the lines before it, and is no record.

A source that is read in one go is checked on the way: one block is held back, so that the last line is known when it
comes. A large file is cut into ranges that are read apart; there the check is a pass of its own, only if the file ends
like an export.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator

from omnigraph.model.export_line import check_export_line, is_export_line
from omnigraph.write.intake.line_blocks import Block

TAIL_BYTES = 1024 * 1024
"""The last line of an export is far shorter: it has a number per type."""


def checked_export(blocks: Iterator[Block], file: str | None) -> Iterator[Block]:
    """The same blocks without the last line of an export. Raises ExportDamaged when the lines are not its."""
    running, lines = hashlib.sha256(), 0
    held: Block | None = None
    for block in blocks:
        if held is not None:
            running.update(held.data)
            lines += _records(held.data)
            yield held
        held = block
    if held is None:
        return
    cut, line = last_line(held.data)
    if not is_export_line(line):
        yield held
        return
    running.update(held.data[:cut])
    lines += _records(held.data[:cut])
    check_export_line(line, file, lines=lines, sha256=running.hexdigest())
    if cut:
        yield Block(held.data[:cut], held.offset)


def end_of_records(tail: bytes, blocks: Callable[[], Iterator[Block]], size: int, file: str) -> int:
    """Where the records of a plain file end: at its end, or before the last line of an export, which is checked."""
    cut, line = last_line(tail)
    if not is_export_line(line):
        return size
    for _ in checked_export(blocks(), file):
        pass
    return size - len(tail) + cut


def last_line(data: bytes) -> tuple[int, bytes]:
    """The last line that is not empty, and where it begins."""
    cut = data.rfind(b"\n", 0, len(data.rstrip())) + 1
    return cut, data[cut:]


def _records(data: bytes) -> int:
    return data.count(b"\n")
