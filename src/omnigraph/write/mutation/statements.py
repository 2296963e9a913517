"""Mutations: running insert, update and delete statements against a snapshot and what the query itself wrote so far.

Nothing is on disk when this is done. The result is a change set with each id once: a later statement sees the latest
image of an entity, and the last image wins.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field
from typing import Any

import pyarrow as pa

from omnigraph.language.query import (
    Assignment,
    BoundParams,
    Condition,
    DeleteOp,
    InsertOp,
    Literal,
    MutationIR,
    UpdateOp,
)
from omnigraph.language.schema import Catalog, EdgeType, NodeType
from omnigraph.model.errors import (
    BadRequest,
    InvalidValue,
    LimitExceeded,
    OmniGraphError,
    ResourceLimitExceeded,
    TypeNotFound,
)
from omnigraph.model.identifiers import TableKey, new_ulid
from omnigraph.model.late_dataclass import dataclass
from omnigraph.model.types import PropType
from omnigraph.model.values import canonical_text, coerce_json, coerce_text, node_id
from omnigraph.query import plain
from omnigraph.storage import AnyOf, GraphStorage, OneOf, Predicate
from omnigraph.storage.external import BlobIntake
from omnigraph.storage.manifest import TablePin
from omnigraph.storage.tables import Table, table_schema
from omnigraph.write.changes import ChangeMode, ChangeSet, TableChange
from omnigraph.write.intake import blob_value, embedded_values, without_outdated
from omnigraph.write.mutation.conditions import column_of, columns_in, filter_batch, filter_rows, to_predicate
from omnigraph.write.mutation.stored_rows import Row, read_whole_rows
from omnigraph.write.rules import Violation, refuse

MUTATION_ROWS_MAX = 8192
"""Entities of one type that one mutation may write."""
MUTATION_BYTES_MAX = 32 * 1024 * 1024
"""Arrow bytes of one type that one mutation may write. Bulk work belongs to `load`."""
PROBE_CHUNK_KEYS = 8192


@dataclass(frozen=True, slots=True)
class Mutated:
    """What a mutation wants to change, and how many entities it counts."""

    changes: ChangeSet
    affected_nodes: int
    affected_edges: int


@dataclass
class _Pending:
    """The images that a query has written to one type so far."""

    mode: ChangeMode
    rows: dict[str, Row] = field(default_factory=dict)


class MutationRun:
    """One execution of a mutation. Single use."""

    def __init__(
        self, storage: GraphStorage, pins: Mapping[TableKey, TablePin], catalog: Catalog, params: BoundParams
    ) -> None:
        self._storage = storage
        self._pins = pins
        self._catalog = catalog
        self._params = params
        self._pending: dict[TableKey, _Pending] = {}
        self._removed: dict[TableKey, dict[str, None]] = {}
        self._nodes = 0
        self._edges = 0
        self._blobs = BlobIntake(storage.blob_bases)

    def run(self, mutation: MutationIR) -> Mutated:
        for op in mutation.ops:
            match op:
                case InsertOp():
                    self._insert(op)
                case UpdateOp():
                    self._update(op)
                case DeleteOp():
                    self._delete(op)
        return Mutated(self._change_set(), self._nodes, self._edges)

    # --- statements ---------------------------------------------------------------------------------------

    def _insert(self, op: InsertOp) -> None:
        entity = self._entity(TableKey(op.entity, op.type_name))
        row = self._new_row(entity, op.assignments)
        keyed = isinstance(entity, NodeType) and entity.key is not None
        self._keep(entity, "upsert" if keyed else "insert", [row])
        if op.entity == "node":
            self._nodes += 1
        else:
            self._edges += 1

    def _update(self, op: UpdateOp) -> None:
        entity = self._entity(TableKey("node", op.type_name))
        given = self._assigned(entity, op.assignments)
        values = embedded_values(entity, given, given, self._storage.embedding)
        changed = []
        for row in self._matching_rows(entity, op.predicate):
            changed.append(without_outdated(entity, row, {**row, **values}, values))
            if len(changed) > MUTATION_ROWS_MAX:
                raise _too_many(entity, len(changed))
        self._keep(entity, "upsert", changed)
        self._nodes += len(changed)

    def _delete(self, op: DeleteOp) -> None:
        """Every delete looks at the same starting state. What an earlier statement took is not counted again."""
        key = TableKey(op.entity, op.type_name)
        ids = [row["id"] for row in self._committed_rows(self._entity(key), op.predicate, ["id"])]
        taken = self._take(key, ids)
        if op.entity == "edge":
            self._edges += taken
            return
        self._nodes += taken
        for edge in self._catalog.edges_touching(op.type_name):
            self._edges += self._take(edge.table_key, self._incident(edge, op.type_name, ids))

    def _take(self, key: TableKey, ids: list[str]) -> int:
        removed = self._removed.setdefault(key, {})
        before = len(removed)
        removed.update(dict.fromkeys(ids))
        return len(removed) - before

    def _incident(self, edge: EdgeType, node_name: str, ids: list[str]) -> list[str]:
        """The edges of a type that start or end at one of these nodes."""
        columns = [column for column, end in (("src", edge.from_type), ("dst", edge.to_type)) if end == node_name]
        found: dict[str, None] = {}
        for start in range(0, len(ids), PROBE_CHUNK_KEYS):
            chunk = tuple(ids[start : start + PROBE_CHUNK_KEYS])
            predicate = AnyOf(tuple(OneOf(column, chunk) for column in columns))
            found.update(dict.fromkeys(_read(self._table(edge.table_key), ["id"], predicate)["id"].to_pylist()))
        return list(found)

    # --- rows ---------------------------------------------------------------------------------------------

    def _new_row(self, entity: NodeType | EdgeType, assignments: tuple[Assignment, ...]) -> Row:
        values = self._assigned(entity, assignments)
        row: Row = {prop.name: _default(entity, prop.name) for prop in entity.properties} | values
        row = embedded_values(entity, row, values, self._storage.embedding)
        missing = [prop.name for prop in entity.properties if row[prop.name] is None and not prop.type.nullable]
        refuse([_required(entity, name) for name in missing])
        if isinstance(entity, NodeType) and entity.key is not None:
            parts = [canonical_text(row[name], entity.by_name[name].type) for name in entity.key]
            return {"id": node_id(parts)} | row
        return {"id": new_ulid()} | row

    def _assigned(self, entity: NodeType | EdgeType, assignments: tuple[Assignment, ...]) -> Row:
        """The assigned values as they are stored; a value that does not fit is refused with its property."""
        row, broken = {}, []
        for assignment in assignments:
            literal = assignment.value
            value = plain(literal.value if isinstance(literal, Literal) else self._params[literal.name])
            try:
                where = f"{entity.name}.{assignment.property}"
                stored = stored_value(value, assignment.type, where, self._blobs)
            except InvalidValue as error:
                broken.append(_invalid(entity, assignment.property, error))
                continue
            row[column_of(assignment.property) if entity.kind == "edge" else assignment.property] = stored
        refuse(broken)
        return row

    def _matching_rows(self, entity: NodeType | EdgeType, condition: Condition) -> Iterator[Row]:
        """Committed rows that this query has not rewritten, then those that it has: each in its latest image."""
        pending = self._pending.get(entity.table_key)
        written = pending.rows if pending is not None else {}
        for row in self._committed_rows(entity, condition, None):
            if row["id"] not in written:
                yield row
        if written:
            yield from filter_rows(condition, list(written.values()), table_schema(entity), self._params)

    def _committed_rows(
        self, entity: NodeType | EdgeType, condition: Condition, columns: list[str] | None
    ) -> Iterator[Row]:
        table = self._table(entity.table_key)
        predicate = to_predicate(condition, table.schema, self._params)
        if predicate is None:
            ids = self._ids_by_looking(table, condition)
            predicate = AnyOf(
                tuple(
                    OneOf("id", tuple(ids[start : start + PROBE_CHUNK_KEYS]))
                    for start in range(0, len(ids), PROBE_CHUNK_KEYS)
                )
            )
        if columns is not None:
            yield from _read(table, columns, predicate).to_pylist()
        else:
            yield from _whole_rows(table, predicate, self._blobs)

    def _ids_by_looking(self, table: Table, condition: Condition) -> list[str]:
        columns = ["id", *(name for name in columns_in(condition) if name != "id")]
        ids = []
        for batch in table.scan(columns):
            ids += batch.column("id").filter(pa.array(filter_batch(condition, batch, self._params))).to_pylist()
        return ids

    # --- results ------------------------------------------------------------------------------------------

    def _keep(self, entity: NodeType | EdgeType, mode: ChangeMode, rows: list[Row]) -> None:
        if not rows:
            return
        pending = self._pending.setdefault(entity.table_key, _Pending(mode))
        if mode == "upsert":
            pending.mode = "upsert"
        for row in rows:
            pending.rows.pop(row["id"], None)
            pending.rows[row["id"]] = row
        if len(pending.rows) > MUTATION_ROWS_MAX:
            raise _too_many(entity, len(pending.rows))

    def _change_set(self) -> ChangeSet:
        tables: dict[TableKey, TableChange] = {}
        for key, pending in self._pending.items():
            schema = table_schema(self._entity(key))
            rows = pa.Table.from_pylist(list(pending.rows.values()), schema=schema)
            if rows.nbytes > MUTATION_BYTES_MAX:
                raise ResourceLimitExceeded(f"keyed bytes for {key}", MUTATION_BYTES_MAX, rows.nbytes)
            tables[key] = TableChange(key, pending.mode, rows)
        for key, ids in self._removed.items():
            tables[key] = TableChange(key, "delete", removed=tuple(ids))
        return ChangeSet(tables)

    def _entity(self, key: TableKey) -> NodeType | EdgeType:
        entity = self._catalog.table(key)
        if entity is None:
            raise TypeNotFound(key.type_name)
        return entity

    def _table(self, key: TableKey) -> Table:
        return self._storage.tables.open(self._pins[key])


def stored_value(value: Any, kind: PropType, where: str, blobs: BlobIntake) -> Any:
    """A Python value as it is stored: an integral float is an integer where one is declared, a Blob text its bytes."""
    if kind.scalar.is_integer and not kind.is_list and isinstance(value, float) and value.is_integer():
        value = int(value)
    stored = coerce_json(value, kind, where)
    return blob_value(stored, where, blobs) if kind.is_blob and stored is not None else stored


def _read(table: Table, columns: list[str], predicate: Predicate) -> pa.Table:
    """By index, or by looking at every row when an index is broken."""
    try:
        return table.read(columns, predicate)
    except OmniGraphError:
        return table.read(columns, predicate, use_index=False)


def _whole_rows(table: Table, predicate: Predicate, blobs: BlobIntake) -> Iterator[Row]:
    try:
        yield from list(read_whole_rows(table, predicate, blobs, limit=MUTATION_ROWS_MAX + 1))
    except (BadRequest, LimitExceeded):
        raise
    except OmniGraphError:
        yield from read_whole_rows(table, predicate, blobs, limit=MUTATION_ROWS_MAX + 1, use_index=False)


def _default(entity: NodeType | EdgeType, name: str) -> Any:
    prop = entity.by_name[name]
    return None if prop.default is None else coerce_text(prop.default, prop.type, f"{entity.name}.{name}")


def _required(entity: NodeType | EdgeType, name: str) -> Violation:
    return Violation(
        rule="required",
        message=f"{entity.name}: missing value for non-nullable property '{name}'",
        entity_kind=entity.kind,
        type_name=entity.name,
        property=name,
    )


def _invalid(entity: NodeType | EdgeType, name: str, error: InvalidValue) -> Violation:
    return Violation(
        rule="enum" if "enum" in error.what else "type",
        message=str(error),
        entity_kind=entity.kind,
        type_name=entity.name,
        property=name,
        value=error.value,
    )


def _too_many(entity: NodeType | EdgeType, actual: int) -> ResourceLimitExceeded:
    return ResourceLimitExceeded(f"keyed entities for {entity.table_key}", MUTATION_ROWS_MAX, actual)
