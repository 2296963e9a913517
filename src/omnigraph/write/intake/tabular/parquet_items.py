"""Parquet files as work items: a row group each, so that a large file is read by many. The folders of a lake
(`country=CH/`) are columns of text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa
import pyarrow.parquet as pq

from omnigraph.language.schema import Catalog
from omnigraph.model.errors import BadRequest
from omnigraph.model.late_dataclass import dataclass
from omnigraph.write.intake.records import Record
from omnigraph.write.intake.source_files import REMOTE, SourceFile, remote, size_of
from omnigraph.write.intake.sources import Unreadable
from omnigraph.write.intake.tabular.binding import Binding, bind
from omnigraph.write.intake.tabular.mapping import TypeMapping

BATCH_ROWS = 8192


@dataclass(frozen=True, slots=True)
class ParquetItem:
    """One row group of a file."""

    file: str
    mapping: TypeMapping
    group: int
    rows_before: int
    size: int
    partitions: tuple[tuple[str, str | None], ...] = ()
    counts_own_lines: bool = False

    def records(self, catalog: Catalog) -> Iterator[Record | Unreadable]:
        with _opened(self.file) as file:
            binding = bind(self.mapping, _names(file, self.partitions), catalog, self.file)
            line = self.rows_before + 1
            try:
                for batch in file.iter_batches(BATCH_ROWS, row_groups=[self.group]):
                    yield from binding.batch_records(_with_partitions(batch, self.partitions, binding), line)
                    line += batch.num_rows
            except (OSError, pa.ArrowException) as error:
                raise _unreadable(self.file, error) from error


def parquet_items(source: SourceFile, mapping: TypeMapping, catalog: Catalog) -> list[ParquetItem]:
    """The items of a file; its footer is read, and the mapping is laid over its columns."""
    with _opened(source.path) as file:
        bind(mapping, _names(file, source.partitions), catalog, source.path)
        metadata, items, rows = file.metadata, [], 0
        for group in range(metadata.num_row_groups):
            facts = metadata.row_group(group)
            items.append(ParquetItem(source.path, mapping, group, rows, facts.total_byte_size, source.partitions))
            rows += facts.num_rows
    return items


def sample_batch(source: SourceFile, most: int) -> pa.RecordBatch:
    """The first rows, with the columns of the folders above, to look at."""
    with _opened(source.path) as file:
        first = next(file.iter_batches(most), None)
        table = first if first is not None else file.schema_arrow.empty_table().to_batches()[0]
    return _with_partitions(table, source.partitions, None)


def _names(file: pq.ParquetFile, partitions: Sequence[tuple[str, str | None]]) -> list[str]:
    return [*file.schema_arrow.names, *(name for name, _ in partitions)]


def _opened(path: str) -> pq.ParquetFile:
    size_of(path)
    files, name = remote(path) if path.startswith(REMOTE) else (None, path)
    try:
        return pq.ParquetFile(name, filesystem=files)
    except (OSError, pa.ArrowException) as error:
        raise _unreadable(path, error) from error


def _unreadable(path: str, error: Exception) -> BadRequest:
    return BadRequest(f"cannot read '{path}' as Parquet: {str(error).splitlines()[0]}")


def _with_partitions(
    batch: pa.RecordBatch, partitions: Sequence[tuple[str, str | None]], binding: Binding | None
) -> pa.RecordBatch:
    """The folder's values as columns. They are text in the path, so they are read as text of the declared type is."""
    arrays, names = list(batch.columns), list(batch.schema.names)
    converters = {} if binding is None else {place: convert for place, _, convert in binding.properties}
    for name, text in partitions:
        convert = converters.get(len(arrays))
        value = text if text is None or convert is None else convert(text)
        kind = pa.string() if isinstance(value, str) or value is None else None
        arrays.append(pa.array([value] * batch.num_rows, kind))
        names.append(name)
    return pa.RecordBatch.from_arrays(arrays, names=names)
