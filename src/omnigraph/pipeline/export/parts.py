"""One part of an export: a group of fragments to one file. A kernel: any process runs it, with nothing but its item."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Any, Literal

import pyarrow as pa
import pyarrow.parquet as pq

from omnigraph.history.export import SCAN_BATCH_ROWS, Dates, LineWriter, exported_columns, present_properties
from omnigraph.language.schema import EdgeType, NodeType
from omnigraph.model.late_dataclass import dataclass
from omnigraph.pipeline.export.columns import csv_header, csv_lines, parquet_batch, parquet_schema
from omnigraph.pipeline.export.folder import ExportFolder
from omnigraph.pipeline.spark import Amount
from omnigraph.storage import GraphStorage, open_storage
from omnigraph.storage.blobs import split_by_blob_bytes
from omnigraph.storage.manifest import TablePin
from omnigraph.storage.tables import scan_group

ExportFormat = Literal["jsonl", "parquet", "csv"]
ROW_GROUP_BYTES = 32 * 1024 * 1024
_WRITE_BYTES = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class PartItem:
    """What one task of an export writes."""

    graph: str
    pin: TablePin
    entity: NodeType | EdgeType
    fragments: tuple[int, ...]
    folder: ExportFolder
    file: str
    """Below the folder: `nodes/Person/part-00000.parquet`."""
    format: ExportFormat
    dates: Dates
    nothing_is_null: bool


@dataclass(frozen=True, slots=True)
class Part:
    """A file that was written."""

    file: str
    rows: int
    bytes: int


def amount_exported(part: Part) -> Amount:
    return Amount(part.rows)


def write_part(item: PartItem) -> Part:
    """Writes the file of an item. Running it again writes the same file again."""
    table = _storage(item.graph).tables.open(item.pin)
    properties = present_properties(item.entity, table)
    writer = LineWriter(item.entity, properties, item.dates, table, item.nothing_is_null)
    columns = exported_columns(item.entity, properties)
    batches = scan_group(table, item.fragments, columns, batch_rows=SCAN_BATCH_ROWS)
    blobs = [prop.name for prop in properties if prop.type.is_blob]
    parts = (part for batch in batches for part in split_by_blob_bytes(batch, blobs))
    with item.folder.writing(item.file) as sink:
        if item.format == "parquet":
            rows = _write_parquet(parts, writer, sink)
        else:
            rows = _write_lines(parts, writer, sink, csv=item.format == "csv")
        size = sink.tell()
    return Part(item.file, rows, size)


@lru_cache(maxsize=8)
def _storage(uri: str) -> GraphStorage:
    """Kept per process: the parts of one table share its handle."""
    return open_storage(uri, read_only=True)


def _write_parquet(batches: Iterator[pa.RecordBatch], writer: LineWriter, sink: Any) -> int:
    schema, rows = parquet_schema(writer.entity, writer.properties), 0
    with pq.ParquetWriter(sink, schema, compression="zstd") as file:
        gathered: list[pa.RecordBatch] = []
        for batch in batches:
            gathered.append(parquet_batch(batch, writer, schema))
            rows += batch.num_rows
            if sum(each.nbytes for each in gathered) >= ROW_GROUP_BYTES:
                file.write_table(pa.Table.from_batches(gathered))
                gathered = []
        if gathered:
            file.write_table(pa.Table.from_batches(gathered))
    return rows


def _write_lines(batches: Iterator[pa.RecordBatch], writer: LineWriter, sink: Any, *, csv: bool) -> int:
    rows, held, size = 0, [csv_header(writer.entity, writer.properties)] if csv else [], 0
    for batch in batches:
        for line in csv_lines(batch, writer) if csv else writer.lines(batch):
            held.append(line)
            size += len(line)
            if size >= _WRITE_BYTES:
                sink.write(b"".join(held))
                held, size = [], 0
        rows += batch.num_rows
    sink.write(b"".join(held))
    return rows
