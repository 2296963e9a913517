"""CSV as work items: a file, or the parts of a large one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain

from omnigraph.language.schema import Catalog
from omnigraph.model.late_dataclass import dataclass
from omnigraph.write.intake.records import Record
from omnigraph.write.intake.source_files import SourceFile, is_packed, lines_until, open_bytes, size_of
from omnigraph.write.intake.sources import Unreadable
from omnigraph.write.intake.tabular.binding import Binding, bind
from omnigraph.write.intake.tabular.csv_rows import BadRow, Dialect, Row, csv_rows, header
from omnigraph.write.intake.tabular.cuts import SPLIT_BYTES, Cut, quoted_cuts
from omnigraph.write.intake.tabular.mapping import TypeMapping
from omnigraph.write.rules import Violation


@dataclass(frozen=True, slots=True)
class CsvItem:
    """A part of a CSV file; the whole of it when `end` is None."""

    file: str
    mapping: TypeMapping
    dialect: Dialect
    columns: tuple[str, ...]
    size: int
    partitions: tuple[tuple[str, str | None], ...] = ()
    start: int = 0
    end: int | None = None
    lines_before: int = 0
    counts_own_lines: bool = False

    def bound(self, catalog: Catalog) -> Binding:
        return bind(self.mapping, (*self.columns, *(name for name, _ in self.partitions)), catalog, self.file)

    def records(self, catalog: Catalog) -> Iterator[Record | Unreadable]:
        extra = [value for _, value in self.partitions]
        binding = self.bound(catalog)
        with open_bytes(self.file, self.start) as file:
            lines = iter(file) if self.end is None else lines_until(file, self.end - self.start)
            rows = csv_rows(lines, self.dialect, lines_before=self.lines_before, bytes_before=self.start)
            skip_header = self.dialect.names is None and self.start == 0
            for row in rows:
                if skip_header:
                    skip_header = False
                    continue
                yield _record(row, binding, len(self.columns), extra)


def _record(row: Row | BadRow, binding: Binding, width: int, extra: Sequence[str | None]) -> Record | Unreadable:
    if isinstance(row, BadRow):
        return Unreadable(row.line, row.text, binding.violation("csv", row.reason, row.line))
    if len(row.cells) != width:
        reason = f"the row has {len(row.cells)} cells, the header has {width}"
        return Unreadable(row.line, row.text, binding.violation("csv", reason, row.line))
    cells = [*row.cells, *extra] if extra else row.cells
    made = binding.text_record(cells, row.line, row.offset)
    return Unreadable(row.line, row.text, made) if isinstance(made, Violation) else made


def csv_items(
    file: SourceFile, mapping: TypeMapping, dialect: Dialect, *, split_bytes: int = SPLIT_BYTES
) -> list[CsvItem]:
    """The items of a file, after a look at its header."""
    path = file.path
    whole = CsvItem(path, mapping, dialect, _columns(path, dialect), size_of(path), file.partitions)
    if is_packed(path) or whole.size <= split_bytes:
        return [whole]
    starts = [Cut(0, 0), *quoted_cuts(path, dialect.quote, dialect.delimiter, split_bytes)]
    ends = [*(cut.offset for cut in starts[1:]), whole.size]
    return [
        replace(whole, size=end - start, start=start, end=end, lines_before=lines)
        for (start, lines), end in zip(starts, ends, strict=True)
    ]


def _columns(path: str, dialect: Dialect) -> tuple[str, ...]:
    with open_bytes(path) as file:
        first = next(csv_rows(iter(file), dialect), None)
    return header(first, dialect, path)


def sample_rows(path: str, dialect: Dialect, most: int) -> tuple[tuple[str, ...], list[list[str | None]]]:
    """The columns and the first rows, to look at."""
    with open_bytes(path) as file:
        rows = csv_rows(iter(file), dialect)
        first = next(rows, None)
        columns = header(first, dialect, path)
        rest = rows if dialect.names is None or first is None else chain([first], rows)
        found = [row.cells for row, _ in zip(rest, range(most), strict=False) if isinstance(row, Row)]
    return columns, found
