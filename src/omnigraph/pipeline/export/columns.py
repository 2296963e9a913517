"""Rows of a table as Parquet columns and as CSV lines, with the declared types. `load` reads both back."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import pyarrow as pa

from omnigraph.history.export import LineWriter, column_texts
from omnigraph.language.schema import EdgeType, NodeType, Property
from omnigraph.model.types import Scalar
from omnigraph.storage.tables import arrow_type

_NEEDS_QUOTES = re.compile(r'[,"\r\n]|^\s|\s$|^$')
_COMPACT_DATE = re.compile(r"^[0-9]{8}$")
"""Read back it would be a date without dashes; with a sign it is the number that it is."""
_OUTSIDE = {"src": "from", "dst": "to"}


def fixed_columns(entity: NodeType | EdgeType) -> tuple[str, ...]:
    return ("id",) if entity.kind == "node" else ("id", "src", "dst")


def outside_name(column: str) -> str:
    """The ends of an edge are called as records call them."""
    return _OUTSIDE.get(column, column)


# --- Parquet ----------------------------------------------------------------------------------------------


def parquet_schema(entity: NodeType | EdgeType, properties: Sequence[Property]) -> pa.Schema:
    """The declared types, but for two: a moment is a timestamp (Parquet has days alone), a blob is its text form."""
    fixed = [pa.field(outside_name(name), pa.string(), nullable=False) for name in fixed_columns(entity)]
    return pa.schema(fixed + [pa.field(prop.name, _kind(prop), nullable=prop.type.nullable) for prop in properties])


def _kind(prop: Property) -> pa.DataType:
    if prop.type.is_blob:
        return pa.string()
    if prop.type.scalar is Scalar.DATETIME:
        moment = pa.timestamp("ms", "UTC")
        return pa.list_(pa.field("item", moment)) if prop.type.is_list else moment
    return arrow_type(prop.type)


def parquet_batch(batch: pa.RecordBatch, writer: LineWriter, schema: pa.Schema) -> pa.RecordBatch:
    arrays = [batch.column(name) for name in fixed_columns(writer.entity)]
    for prop in writer.properties:
        wanted = schema.field(prop.name).type
        if prop.type.is_blob:
            arrays.append(pa.array(writer.blob_texts(batch, prop), pa.string()))
            continue
        refuse_unloadable(batch, prop, writer)
        column = batch.column(prop.name)
        arrays.append(column if column.type == wanted else _moments(column, wanted))
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _moments(column: pa.Array, wanted: pa.DataType) -> pa.Array:
    if pa.types.is_list(wanted):
        return column.cast(pa.list_(pa.field("item", pa.int64()))).cast(wanted)
    return column.cast(pa.int64()).cast(wanted)


def refuse_unloadable(batch: pa.RecordBatch, prop: Property, writer: LineWriter) -> None:
    if prop.type.is_vector or prop.type.scalar.is_float:
        writer.refuse_non_finite(batch, prop)


# --- CSV --------------------------------------------------------------------------------------------------


def csv_header(entity: NodeType | EdgeType, properties: Sequence[Property]) -> bytes:
    names = [*map(outside_name, fixed_columns(entity)), *(prop.name for prop in properties)]
    return (",".join(map(_cell, names)) + "\n").encode()


def csv_lines(batch: pa.RecordBatch, writer: LineWriter) -> Iterator[bytes]:
    """A null is nothing between the commas, the empty text is `""`; lists and vectors are JSON; dates are as asked."""
    columns = [[_cell(text) for text in batch.column(name).to_pylist()] for name in fixed_columns(writer.entity)]
    columns += [_cells(batch, prop, writer) for prop in writer.properties]
    return ((",".join(row) + "\n").encode() for row in zip(*columns, strict=True))


def _cells(batch: pa.RecordBatch, prop: Property, writer: LineWriter) -> list[str]:
    if prop.type.is_blob:
        return [_cell(text) for text in writer.blob_texts(batch, prop)]
    refuse_unloadable(batch, prop, writer)
    column = batch.column(prop.name)
    if prop.type.scalar is Scalar.STRING and not prop.type.is_list:
        return [_cell(text) for text in column.to_pylist()]
    texts = column_texts(column, prop.type, writer.dates)
    if prop.type.is_list or prop.type.is_vector:
        return ["" if text == "null" else _cell(text) for text in texts]
    if prop.type.scalar in (Scalar.DATE, Scalar.DATETIME):
        return ["" if text == "null" else _COMPACT_DATE.sub(r"+\g<0>", text.strip('"')) for text in texts]
    return ["" if text == "null" else text for text in texts]


def _cell(text: str | None) -> str:
    if text is None:
        return ""
    if _NEEDS_QUOTES.search(text) is None:
        return text
    return '"' + text.replace('"', '""') + '"'
