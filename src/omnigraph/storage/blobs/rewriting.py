"""Whole rows, ready to be written again: every column, the bytes of blobs in place of their descriptors.

Lance would follow the address of an external blob by itself, wherever it leads. So rows that have one are read without
their bytes, and what becomes of an address is asked of the caller's `BlobIntake`, as for an address in new input.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from omnigraph.storage.blobs.cells import blob_cells, read_blobs
from omnigraph.storage.external import BlobIntake
from omnigraph.storage.predicates import Predicate
from omnigraph.storage.tables import BLOB_TYPE, Table, plainly_typed


def whole_rows(
    table: Table,
    blobs: BlobIntake,
    predicate: Predicate | None = None,
    *,
    limit: int | None = None,
    use_index: bool = True,
) -> Iterator[pa.RecordBatch]:
    """The rows that match, in the table's columns and types."""
    names = [field.name for field in table.schema if is_blob_field(field)]
    if not names:
        yield from table.scan_whole(predicate, limit=limit, use_index=use_index)
    elif _has_external(table, names, predicate, limit, use_index):
        columns = [*table.schema.names, "_rowid"]
        for batch in table.scan(columns, predicate, limit=limit, use_index=use_index):
            rows = plainly_typed(pa.Table.from_batches([batch])).combine_chunks()
            yield from _with_blobs(table, rows, names, blobs).to_batches()
    else:
        for batch in table.scan_whole(predicate, limit=limit, use_index=use_index):
            yield _structs(batch, names)


def is_blob_field(field: pa.Field) -> bool:
    """Whether a column of a table holds blobs."""
    if isinstance(field.type, pa.BaseExtensionType):
        return bool(field.type.extension_name == "lance.blob.v2")
    return (field.metadata or {}).get(b"ARROW:extension:name") == b"lance.blob.v2"


def _has_external(
    table: Table, names: list[str], predicate: Predicate | None, limit: int | None, use_index: bool
) -> bool:
    for batch in table.scan(names, predicate, limit=limit, use_index=use_index):
        for name in names:
            cells = blob_cells(_plain(batch.column(name)), nothing_is_null=False)
            if any(cell is not None and cell.kind == "external" for cell in cells):
                return True
    return False


def _plain(column: pa.Array) -> pa.Array:
    return column.storage if isinstance(column, pa.ExtensionArray) else column


def _with_blobs(table: Table, rows: pa.Table, names: list[str], blobs: BlobIntake) -> pa.Table:
    row_ids = rows["_rowid"].to_pylist()
    for name in names:
        cells = blob_cells(rows[name].combine_chunks(), nothing_is_null=False)
        managed = [row for row, cell in zip(row_ids, cells, strict=True) if cell is not None and cell.kind == "managed"]
        data = iter(read_blobs(table, name, managed))
        values: list[dict[str, Any] | None] = []
        for cell in cells:
            if cell is None:
                values.append(None)
            elif cell.kind == "external":
                values.append(blobs.take(cell.uri or ""))
            else:
                values.append({"data": next(data), "uri": None})
        field = pa.field(name, BLOB_TYPE, nullable=rows.schema.field(name).nullable)
        rows = rows.set_column(rows.schema.get_field_index(name), field, pa.array(values, BLOB_TYPE))
    return rows.drop_columns(["_rowid"])


def _structs(batch: pa.RecordBatch, names: list[str]) -> pa.RecordBatch:
    """The bytes that Lance read, in the struct that it takes."""
    columns, fields = list(batch.columns), list(batch.schema)
    for place, field in enumerate(fields):
        if field.name in names:
            data = columns[place].cast(pa.large_binary())
            parts = [data, pa.nulls(len(data), pa.string())]
            columns[place] = pa.StructArray.from_arrays(parts, fields=list(BLOB_TYPE), mask=data.is_null())
            fields[place] = pa.field(field.name, BLOB_TYPE, nullable=field.nullable)
    return pa.RecordBatch.from_arrays(columns, schema=pa.schema(fields))
