"""Rows of a CSV file with the line that each really starts on, also when cells span lines.

Python's reader does the work; its strict mode refuses what is not CSV. It cannot tell `""` (the empty text) from
nothing between two delimiters (no value), so a row that has an empty cell and such quotes is looked at again, cell by
cell.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Iterator
from dataclasses import field
from typing import NamedTuple

from omnigraph.model.errors import BadRequest
from omnigraph.model.late_dataclass import dataclass
from omnigraph.write.intake.records import LINE_BYTES_MAX

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_BLANK = b" \t\r\n"


@dataclass(frozen=True, slots=True)
class Dialect:
    """How a CSV file is written."""

    delimiter: str = ","
    quote: str = '"'
    names: tuple[str, ...] | None = None
    """The columns of a file that has no header; None: the first row names them."""


class Row(NamedTuple):
    """One row: its first line, the byte where it starts, its text, and its cells. None is a cell without a value."""

    line: int
    offset: int
    text: bytes
    cells: list[str | None]


class BadRow(NamedTuple):
    """What cannot be read as a row, and why."""

    line: int
    text: bytes
    reason: str


@dataclass(slots=True)
class _Feed:
    """The lines that the reader asks for, remembered until their row is complete."""

    lines: Iterator[bytes]
    line: int
    offset: int
    held: list[bytes] = field(default_factory=list)
    broken: str | None = None
    """Why a line of this row is no text."""

    def __iter__(self) -> Iterator[str]:
        for raw in self.lines:
            self.held.append(raw)
            if self.line == 0 and len(self.held) == 1:
                raw = raw.removeprefix(_BYTE_ORDER_MARK)
            try:
                yield raw.decode()
            except UnicodeDecodeError as error:
                self.broken = f"not valid UTF-8 at byte {error.start + 1} of the line"
                yield raw.decode(errors="replace")

    def row(self) -> tuple[int, int, bytes]:
        """Place and text of the row that was just read."""
        first, start, text = self.line + 1, self.offset, b"".join(self.held)
        self.line += len(self.held)
        self.offset += len(text)
        self.held = []
        return first, start, text


def csv_rows(
    lines: Iterable[bytes], dialect: Dialect, *, lines_before: int = 0, bytes_before: int = 0
) -> Iterator[Row | BadRow]:
    """The rows of these lines, blank ones left out. A part of a file says what lies before it."""
    if csv.field_size_limit() < LINE_BYTES_MAX:
        csv.field_size_limit(LINE_BYTES_MAX)
    feed = _Feed(iter(lines), lines_before, bytes_before)
    reader = csv.reader(iter(feed), delimiter=dialect.delimiter, quotechar=dialect.quote, strict=True)
    quoted_nothing = f"{dialect.quote}{dialect.quote}".encode()
    while True:
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            feed.broken = feed.broken or f"not a row of CSV: {error}"
            cells = []
        broken, feed.broken = feed.broken, None
        line, start, text = feed.row()
        if broken is not None:
            yield BadRow(line, text, broken)
            continue
        if not text.strip(_BLANK):
            continue
        values: list[str | None] = [cell or None for cell in cells]
        if None in values and quoted_nothing in text:
            _restore_empty_texts(values, text.decode().removeprefix("\ufeff"), dialect)
        yield Row(line, start, text, values)


def _restore_empty_texts(values: list[str | None], text: str, dialect: Dialect) -> None:
    mark, end = re.escape(dialect.quote), re.escape(dialect.delimiter)
    cell = re.compile(f"(?:{mark}(?:[^{mark}]|{mark}{mark})*{mark}|[^{end}\r\n]*)(?:{end}|\r?\n|$)")
    position, nothing = 0, dialect.quote * 2
    for place in range(len(values)):
        match = cell.match(text, position)
        if match is None:
            return
        if values[place] is None and match.group().startswith(nothing):
            values[place] = ""
        position = match.end()


def header(first: Row | BadRow | None, dialect: Dialect, file: str) -> tuple[str, ...]:
    """The names of the columns."""
    if dialect.names is not None:
        return dialect.names
    if first is None:
        raise BadRequest(f"'{file}' has no header", "a CSV file starts with the names of its columns")
    if isinstance(first, BadRow):
        raise BadRequest(f"the header of '{file}' cannot be read: {first.reason}")
    return tuple(cell or "" for cell in first.cells)
