"""The Arrow schema of a table, from the catalog. Column order and nullability are part of the storage format."""

from __future__ import annotations

import pyarrow as pa

from omnigraph.language.schema import EdgeType, NodeType
from omnigraph.model.types import PropType, Scalar

_SCALARS: dict[Scalar, pa.DataType] = {
    Scalar.STRING: pa.string(),
    Scalar.BOOL: pa.bool_(),
    Scalar.I32: pa.int32(),
    Scalar.I64: pa.int64(),
    Scalar.U32: pa.uint32(),
    Scalar.U64: pa.uint64(),
    Scalar.F32: pa.float32(),
    Scalar.F64: pa.float64(),
    Scalar.DATE: pa.date32(),
    Scalar.DATETIME: pa.date64(),
}

# Lance's own blob helper makes four children, which earlier releases refuse for a table of two. The format has two.
BLOB_TYPE = pa.struct([pa.field("data", pa.large_binary()), pa.field("uri", pa.string())])
BLOB_MARK = {"ARROW:extension:name": "lance.blob.v2"}


def arrow_type(prop: PropType) -> pa.DataType:
    if prop.is_vector:
        return pa.list_(pa.field("item", pa.float32()), prop.dimension)
    if prop.is_blob:
        return BLOB_TYPE
    scalar = _SCALARS[prop.scalar]
    return pa.list_(pa.field("item", scalar)) if prop.is_list else scalar


def arrow_field(name: str, prop: PropType) -> pa.Field:
    mark = BLOB_MARK if prop.is_blob else None
    return pa.field(name, arrow_type(prop), nullable=prop.nullable, metadata=mark)


def table_schema(entity: NodeType | EdgeType) -> pa.Schema:
    """`id`, for edges `src` and `dst`, then the properties in byte order of their names."""
    own = ["id"] if entity.kind == "node" else ["id", "src", "dst"]
    fixed = [pa.field(name, pa.string(), nullable=False) for name in own]
    ordered = sorted(entity.properties, key=lambda prop: prop.name.encode())
    return pa.schema(fixed + [arrow_field(prop.name, prop.type) for prop in ordered])


def plainly_typed(rows: pa.Table) -> pa.Table:
    """The rows in our own types. Columns of blobs that come from a file have an extension type once some part of Lance
    has registered it, which may happen at any time in the life of a process."""
    for place, field in enumerate(rows.schema):
        if isinstance(field.type, pa.BaseExtensionType):
            kind = field.type.storage_type
            column = pa.chunked_array([chunk.storage for chunk in rows.column(place).chunks], kind)
            rows = rows.set_column(place, pa.field(field.name, kind, field.nullable), column)
    return rows
