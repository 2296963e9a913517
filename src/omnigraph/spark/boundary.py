"""Types at the boundary to the JVM: what Spark cannot hold is cast to the nearest type that it can, exactly.

unsigned 32 → long · unsigned 64 → decimal(20, 0) · date-times → timestamp · vectors → arrays · blobs are left out
"""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from omnigraph.model.errors import BadRequest


def boundary_schema(table: pa.Schema, columns: Sequence[str] | None = None) -> pa.Schema:
    """The columns of a table as Spark sees them: all but the blobs, or the requested ones in the requested order."""
    shown = [field for field in table if not _is_blob(field)]
    if columns is not None:
        known = {field.name: field for field in shown}
        for name in columns:
            if name not in known:
                is_blob = name in table.names
                why = (
                    f"column '{name}' is a Blob, which Spark cannot hold" if is_blob else f"there is no column '{name}'"
                )
                raise BadRequest(why, f"the columns are {', '.join(known)}")
        shown = [known[name] for name in columns]
    return pa.schema([pa.field(field.name, _cast_type(field.type), field.nullable) for field in shown])


def to_boundary(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """A batch of the table, cast to its boundary schema."""
    arrays = [_cast(batch.column(field.name), field.type) for field in schema]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _is_blob(field: pa.Field) -> bool:
    """Lance gives the column an extension type where its library is loaded; elsewhere it is a struct."""
    return isinstance(field.type, pa.BaseExtensionType) or pa.types.is_struct(field.type)


def _cast_type(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_list(kind) or pa.types.is_fixed_size_list(kind) or pa.types.is_large_list(kind):
        return pa.list_(pa.field("element", _cast_type(kind.value_type)))
    if kind in (pa.uint8(), pa.uint16(), pa.uint32()):
        return pa.int64()
    if kind == pa.uint64():
        return pa.decimal128(20, 0)
    return pa.timestamp("us", "UTC") if pa.types.is_date64(kind) or pa.types.is_timestamp(kind) else kind


def _cast(column: pa.Array, wanted: pa.DataType) -> pa.Array:
    if column.type == wanted:
        return column
    if pa.types.is_date64(column.type):
        return column.cast(pa.int64()).cast(pa.timestamp("ms", "UTC")).cast(wanted)
    if pa.types.is_list(wanted):
        if pa.types.is_date64(column.type.value_type):
            column = column.cast(pa.list_(pa.int64())).cast(pa.list_(pa.timestamp("ms", "UTC")))
        return column.cast(wanted)
    return column.cast(wanted)
