"""Entities as JSON lines: column by column into texts, then one template per type. Pure apart from reading blobs."""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Iterator
from json.encoder import encode_basestring
from typing import Any, Literal

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.language.schema import EdgeType, NodeType, Property
from omnigraph.model.errors import Conflict
from omnigraph.model.late_dataclass import dataclass
from omnigraph.model.types import PropType, Scalar
from omnigraph.model.values import json_value
from omnigraph.storage.blobs import blob_cells, read_blobs
from omnigraph.storage.tables import Table

Dates = Literal["raw", "iso"]
"""raw: integers, days and milliseconds since 1970. iso: text."""

_STORED_DATES = {Scalar.DATE: pa.int32(), Scalar.DATETIME: pa.int64()}


@dataclass(eq=False)
class ValueNotExportable(Conflict):
    """A number that JSON cannot carry. An export of it could never be loaded again."""

    _hint = "replace the value with a finite number or null, then export again"

    type_name: str
    entity_id: str
    property: str
    value: str

    def sentence(self) -> str:
        return f"{self.type_name} '{self.entity_id}' cannot be exported: property '{self.property}' is {self.value}"


@dataclass(frozen=True, slots=True)
class LineWriter:
    """Makes the lines of one type from batches of its rows; the batches carry `_rowid`."""

    entity: NodeType | EdgeType
    properties: tuple[Property, ...]
    """What is written after `id`, in byte order of the names."""
    dates: Dates
    table: Table
    nothing_is_null: bool
    """How to read a blob of no bytes: see `blob_cells`."""

    def lines(self, batch: pa.RecordBatch) -> Iterator[bytes]:
        template = self._template()
        fixed = ("id",) if self.entity.kind == "node" else ("src", "dst", "id")
        columns = [_strings(batch.column(name)) for name in fixed]
        columns += [self._texts(batch, prop) for prop in self.properties]
        return ((template % row).encode() for row in zip(*columns, strict=True))

    def _template(self) -> str:
        name = _literal(self.entity.name)
        members = ",".join(f"{_literal(prop)}:%s" for prop in ("id", *(prop.name for prop in self.properties)))
        if self.entity.kind == "node":
            return f'{{"type":{name},"data":{{{members}}}}}\n'
        return f'{{"edge":{name},"from":%s,"to":%s,"data":{{{members}}}}}\n'

    def _texts(self, batch: pa.RecordBatch, prop: Property) -> list[str]:
        column = batch.column(prop.name)
        if prop.type.is_blob:
            return ["null" if text is None else encode_basestring(text) for text in self.blob_texts(batch, prop)]
        if prop.type.is_vector or prop.type.scalar.is_float:
            self.refuse_non_finite(batch, prop)
        return column_texts(column, prop.type, self.dates)

    def blob_texts(self, batch: pa.RecordBatch, prop: Property) -> list[str | None]:
        """The text form of every value of a Blob column: its bytes in base64, or the address that it refers to."""
        column = batch.column(prop.name)
        cells = blob_cells(column, nothing_is_null=self.nothing_is_null and prop.type.nullable)
        wanted = [
            row_id
            for row_id, cell in zip(batch.column("_rowid").to_pylist(), cells, strict=True)
            if cell is not None and cell.kind == "managed"
        ]
        managed = iter(read_blobs(self.table, prop.name, wanted))
        texts: list[str | None] = []
        for cell in cells:
            if cell is None:
                texts.append(None)
            elif cell.kind == "external":
                texts.append(cell.uri or "")
            else:
                texts.append(f"base64:{base64.b64encode(next(managed)).decode()}")
        return texts

    def refuse_non_finite(self, batch: pa.RecordBatch, prop: Property) -> None:
        """Raises for a number that could never be loaded again."""
        column = batch.column(prop.name)
        nested = prop.type.is_vector or prop.type.is_list
        if pc.all(pc.is_finite(column.flatten() if nested else column)).as_py() is not False:
            return
        for entity_id, value in zip(batch.column("id").to_pylist(), column.to_pylist(), strict=True):
            for number in value or () if nested else (value,):
                if number is not None and not math.isfinite(number):
                    raise ValueNotExportable(self.entity.name, entity_id, prop.name, repr(number))


def column_texts(column: pa.Array, type_: PropType, dates: Dates) -> list[str]:
    """The JSON text of every value of a column that is not a Blob."""
    if type_.is_vector:
        return _vectors(column)
    stored = _as_stored(column, type_)
    if type_.is_list:
        return [_compact(json_value(value, type_, dates=dates)) for value in stored.to_pylist()]
    if type_.scalar is Scalar.STRING:
        return _strings(stored)
    if type_.scalar.is_float:
        numbers: list[str] = pc.fill_null(_float_texts(stored), "null").to_pylist()
        return numbers
    if type_.scalar in _STORED_DATES and dates == "iso":
        return [_compact(json_value(value, type_, dates=dates)) for value in stored.to_pylist()]
    texts: list[str] = pc.fill_null(stored.cast(pa.string()), "null").to_pylist()
    return texts


def _as_stored(column: pa.Array, type_: PropType) -> pa.Array:
    """Dates as the integers that they are."""
    integer = _STORED_DATES.get(type_.scalar)
    if integer is None:
        return column
    return column.cast(pa.list_(pa.field("item", integer)) if type_.is_list else integer)


def _strings(column: pa.Array) -> list[str]:
    return ["null" if value is None else encode_basestring(value) for value in column.to_pylist()]


def _vectors(column: pa.FixedSizeListArray) -> list[str]:
    size = column.type.list_size
    texts = pa.FixedSizeListArray.from_arrays(
        _float_texts(column.values[column.offset * size :][: len(column) * size]), size
    )
    joined = pc.binary_join(texts.cast(pa.list_(pa.string())), ",").to_pylist()
    present = column.is_valid().to_pylist()
    return [f"[{text}]" if there else "null" for text, there in zip(joined, present, strict=True)]


def _float_texts(numbers: pa.Array) -> pa.Array:
    """The shortest texts that read back as the same numbers, a 32-bit float as the double that it is.

    Each has a point or an exponent: `-0` would be read as an integer and lose its sign.
    """
    texts = numbers.cast(pa.float64()).cast(pa.string())
    whole = pc.invert(pc.or_(pc.match_substring(texts, "."), pc.match_substring(texts, "e")))
    if not pc.any(whole).as_py():
        return texts
    return pc.if_else(pc.fill_null(whole, False), pc.binary_join_element_wise(texts, ".0", ""), texts)


def _compact(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _literal(name: str) -> str:
    return encode_basestring(name).replace("%", "%%")
