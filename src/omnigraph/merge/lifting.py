"""Lifting: the tables of a merge read under one schema, the latest of those that take part.

A column of today is found in an older table along the renames in between; one that came later is null there, or what
rows were given when it came; one that was dropped is as if it had never been.
"""

from __future__ import annotations

import pyarrow as pa

from omnigraph.history import Continued, continued, schema_of
from omnigraph.history.diff import Lift, TableSide
from omnigraph.language.schema import EdgeType, NodeType
from omnigraph.model.values import coerce_text
from omnigraph.storage import AcceptedSchema, GraphStorage
from omnigraph.storage.tables import table_schema

FIXED = ("id", "src", "dst")


class Lifting:
    """Lifts the sides of one merge to a schema."""

    def __init__(self, storage: GraphStorage, schema: AcceptedSchema) -> None:
        self._storage = storage
        self._schema = schema
        self._continued: dict[str, Continued] = {}

    def lift(self, side: TableSide | None) -> None:
        """Makes a side read as under the schema; one that follows it already is left alone."""
        entity = None if side is None else self._schema.catalog.table(side.pin.table_key)
        if side is None or entity is None:
            return
        was = schema_of(self._storage, side.snapshot, self._schema)
        if was.ir_hash == self._schema.ir_hash:
            return
        known = self._continued.get(was.ir_hash)
        if known is None:
            known = self._continued[was.ir_hash] = continued(self._storage, was, self._schema)
        side.lift = _lift(entity, known, side.table.schema)


def _lift(entity: NodeType | EdgeType, known: Continued, stored: pa.Schema) -> Lift:
    columns = {name: name for name in FIXED if name in stored.names}
    fills: dict[str, pa.Scalar] = {}
    target = table_schema(entity)
    for prop in entity.properties:
        source = known.properties.get((entity.table_key, prop.name))
        if source is not None and source in stored.names:
            columns[prop.name] = source
        elif prop.default is not None:
            value = coerce_text(prop.default, prop.type, f"{entity.name}.{prop.name}")
            fills[prop.name] = _scalar(value, target.field(prop.name).type)
    return Lift(columns, fills)


def _scalar(value: object, kind: pa.DataType) -> pa.Scalar:
    if pa.types.is_date32(kind) or pa.types.is_date64(kind):  # stored as days or milliseconds
        plain = pa.int32() if pa.types.is_date32(kind) else pa.int64()
        return pa.array([value], plain).view(kind)[0]
    return pa.scalar(value, kind)
