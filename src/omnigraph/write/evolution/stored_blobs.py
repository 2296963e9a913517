"""Stored blobs, to be written again with the rows that they are of."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from omnigraph.storage.blobs import blob_cells, read_blobs
from omnigraph.storage.tables import BLOB_TYPE, Table


def blob_columns(table: Table, names: Sequence[str]) -> list[str]:
    """Which of these columns hold blobs."""
    return [field.name for field in table.schema if field.name in names and _is_blob(field)]


def _is_blob(field: pa.Field) -> bool:
    if isinstance(field.type, pa.BaseExtensionType):
        return bool(field.type.extension_name == "lance.blob.v2")
    return (field.metadata or {}).get(b"ARROW:extension:name") == b"lance.blob.v2"


def with_blobs(table: Table, rows: pa.RecordBatch, names: Sequence[str]) -> pa.RecordBatch:
    """The bytes of blobs in place of their descriptors; a reference stays one, and is not followed."""
    row_ids = rows.column("_rowid").to_pylist() if names else []
    for name in names:
        cells = blob_cells(rows.column(name), nothing_is_null=False)
        managed = [row for row, cell in zip(row_ids, cells, strict=True) if cell is not None and cell.kind == "managed"]
        data = iter(read_blobs(table, name, managed))
        values = [
            None
            if cell is None
            else {"data": next(data), "uri": None}
            if cell.kind == "managed"
            else {"data": None, "uri": cell.uri}
            for cell in cells
        ]
        place = rows.schema.get_field_index(name)
        rows = rows.set_column(place, pa.field(name, BLOB_TYPE), pa.array(values, BLOB_TYPE))
    return rows
