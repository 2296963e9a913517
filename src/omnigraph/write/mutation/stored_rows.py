"""Stored rows as Python values and back: dates as the numbers on disk, blobs with their bytes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from omnigraph.storage import Predicate
from omnigraph.storage.blobs import whole_rows
from omnigraph.storage.external import BlobIntake
from omnigraph.storage.tables import Table

Row = dict[str, Any]


def rows_of(batch: pa.RecordBatch) -> list[Row]:
    """The rows of a batch. A Python date would lose the time of a DateTime, so dates stay numbers."""
    columns = [_numbers(column) for column in batch.columns]
    rows: list[Row] = pa.RecordBatch.from_arrays(columns, names=batch.schema.names).to_pylist()
    return rows


def read_whole_rows(
    table: Table, predicate: Predicate, blobs: BlobIntake, *, limit: int, use_index: bool = True
) -> Iterator[Row]:
    """Whole rows that match, ready to be changed and written again."""
    for batch in whole_rows(table, blobs, predicate, limit=limit, use_index=use_index):
        yield from rows_of(batch)


def _numbers(column: pa.Array) -> pa.Array:
    kind = column.type
    if pa.types.is_date32(kind):
        return column.cast(pa.int32())
    if pa.types.is_date64(kind):
        return column.cast(pa.int64())
    if pa.types.is_list(kind) and (pa.types.is_date32(kind.value_type) or pa.types.is_date64(kind.value_type)):
        width = pa.int32() if pa.types.is_date32(kind.value_type) else pa.int64()
        return column.cast(pa.list_(width))
    return column
