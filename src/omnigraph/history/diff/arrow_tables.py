"""A diff as Arrow: `change`, `id`, and one struct per side with the endpoints and properties of the entity."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from omnigraph.history.diff.images import json_column
from omnigraph.history.diff.row_diff import ChangedRows, Op
from omnigraph.history.diff.side import TableSide


def arrow_schema(before: TableSide | None, after: TableSide | None) -> pa.Schema:
    """The columns of a type's difference. Blobs are text, as in an export."""
    sides = [pa.field(name, _struct(side)) for name, side in (("before", before), ("after", after))]
    return pa.schema([pa.field("change", pa.string()), pa.field("id", pa.string()), *sides])


def arrow_batches(
    before: TableSide | None, after: TableSide | None, changes: Iterator[ChangedRows]
) -> Iterator[pa.RecordBatch]:
    """Changed rows as batches of `arrow_schema`."""
    schema = arrow_schema(before, after)
    for rows in changes:
        words = pa.array([Op(op).word for op in rows.ops.tolist()], pa.string())
        sides = [_side(before, rows.before), _side(after, rows.after)]
        yield pa.RecordBatch.from_arrays([words, rows.ids, *sides], schema=schema)


def _names(side: TableSide) -> list[str]:
    return [*(name for name in ("src", "dst") if name in side.light), *side.properties]


def _struct(side: TableSide | None) -> pa.DataType:
    if side is None:
        return pa.struct([])
    schema = side.schema
    kinds = {name: pa.string() if name in side.blobs else schema.field(name).type for name in _names(side)}
    return pa.struct([pa.field(name, kind) for name, kind in kinds.items()])


def _side(side: TableSide | None, rows: pa.Table) -> pa.Array:
    kind = _struct(side)
    there = np.asarray(rows["_rowid"].is_valid().to_numpy(zero_copy_only=False), np.bool_)
    if side is None or not there.any():
        return pa.nulls(len(there), kind)
    taken = side.take(np.asarray(rows["_rowid"].drop_null().to_numpy(), np.uint64), _names(side) or ["id"])
    columns = [
        pa.array(json_column(side, taken, name), pa.string()) if name in side.blobs else taken[name].combine_chunks()
        for name in _names(side)
    ]
    if not columns:
        return pa.array([{} if present else None for present in there.tolist()], kind)
    present = pa.StructArray.from_arrays(columns, fields=list(kind))
    places = np.cumsum(there) - 1
    return present.take(pa.array(places, mask=~there))
