"""Rows of a table as another one takes them: its columns, managed blobs with their bytes, external ones as they are."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from omnigraph.history.diff import TableSide
from omnigraph.storage.blobs import split_by_blob_bytes
from omnigraph.storage.tables import BLOB_TYPE, plainly_typed

SCAN_ROWS = 2048
RowIds = npt.NDArray[np.uint64]


def all_rows(side: TableSide, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """Every row, a few megabytes at a time."""
    found = side.table.scan([*_present(side, schema), "_rowid"], batch_rows=SCAN_ROWS)
    return _converted(side, (plainly_typed(pa.Table.from_batches([batch])) for batch in found), schema)


def some_rows(side: TableSide, row_ids: RowIds, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """These rows, in no particular order."""
    if not len(row_ids):
        return iter(())
    return _converted(side, side.stream(row_ids, _present(side, schema)), schema)


def _present(side: TableSide, schema: pa.Schema) -> list[str]:
    return [name for name in schema.names if name in side.table.schema.names]


def _converted(side: TableSide, tables: Iterable[pa.Table], schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    blobs = [name for name in side.blobs if name in schema.names]
    for table in tables:
        for batch in table.combine_chunks().to_batches():
            for part in split_by_blob_bytes(batch, blobs):
                yield _batch(side, pa.Table.from_batches([part]), schema)


def _batch(side: TableSide, rows: pa.Table, schema: pa.Schema) -> pa.RecordBatch:
    columns = []
    for field in schema:
        if field.name not in rows.column_names:
            columns.append(pa.nulls(rows.num_rows, field.type))
        elif field.name in side.blobs:
            cells: list[dict[str, Any] | None] = [
                None if each is None else {"data": each, "uri": None} if isinstance(each, bytes) else _reference(each)
                for each in side.blob_contents(rows, field.name)
            ]
            columns.append(pa.array(cells, BLOB_TYPE))
        else:
            column = rows[field.name].combine_chunks()
            columns.append(column if column.type == field.type else column.cast(field.type))
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def _reference(uri: str) -> dict[str, Any]:
    return {"data": None, "uri": uri}
