"""Facts about a schema change that only the stored tables know: rows, bytes to write, indexes that go, branches."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import pyarrow as pa

from omnigraph.history import branch_list, current_snapshot, snapshot_at, tag_list
from omnigraph.history import find_commit as commit_of_tag
from omnigraph.language.schema import (
    AddConstraint,
    AddProperty,
    AddType,
    ChangeCardinality,
    ChangeImplements,
    ChangePropertyType,
    DropProperty,
    DropType,
    ExtendEnum,
    RemoveConstraint,
    RenameProperty,
    Step,
    UpdatePropertyMetadata,
    UpdateTypeMetadata,
)
from omnigraph.model.errors import BranchNotFound, Gone, NotFound
from omnigraph.model.identifiers import MAIN, TableKey
from omnigraph.model.late_dataclass import dataclass
from omnigraph.storage import GraphStorage
from omnigraph.storage.manifest import TablePin
from omnigraph.storage.tables import Table, stored_bytes, table_schema
from omnigraph.write.evolution.table_evolutions import Effect, TableEvolution

_ALWAYS = (AddType, RenameProperty, RemoveConstraint, ExtendEnum, UpdateTypeMetadata, UpdatePropertyMetadata)


@dataclass(frozen=True, slots=True)
class TableFacts:
    """What the change of one table costs.

    >>> plan = graph.plan_schema(graph.schema_source.replace("age: I32?", "age: I64?"))
    >>> [(table.type, table.effect, table.rows) for table in plan.tables]
    [('node:Person', 'columns', 2)]
    """

    type: str
    effect: Effect
    """`create`, `hide`, `project` (no row is written), `columns`, `rewrite` (every row), `copy` (to another table)."""
    rows: int
    bytes_rewritten: int
    """An estimate: what is written, before it is compressed."""
    indexes_lost: tuple[str, ...] = ()
    """The next `optimize` builds those again that the schema still asks for."""

    def to_json(self) -> dict[str, object]:
        """As one document.

        >>> plan = graph.plan_schema(graph.schema_source.replace("age: I32?", "age: I64?"))
        >>> plan.tables[0].to_json()
        {'type': 'node:Person', 'effect': 'columns', 'rows': 2, 'bytes_rewritten': 16, 'indexes_lost': []}
        """
        return {
            "type": self.type,
            "effect": self.effect,
            "rows": self.rows,
            "bytes_rewritten": self.bytes_rewritten,
            "indexes_lost": list(self.indexes_lost),
        }


@dataclass(frozen=True, slots=True)
class BlockingBranch:
    """A branch that a schema change would leave behind with data that nobody could merge any more.

    >>> draft = graph.create_branch("draft")
    >>> plan = graph.plan_schema("node Person { name: String @key }  edge Knows: Person -> Person")
    >>> [branch.name for branch in plan.blocking_branches]
    ['draft']
    """

    name: str
    head_commit_id: str | None
    written_at: int | None
    """When its head was made, in microseconds since the epoch."""

    def to_json(self) -> dict[str, object]:
        """As one document.

        >>> draft = graph.create_branch("draft")
        >>> plan = graph.plan_schema("node Person { name: String @key }  edge Knows: Person -> Person")
        >>> sorted(plan.blocking_branches[0].to_json())
        ['head_commit_id', 'name', 'written_at']
        """
        return {"name": self.name, "head_commit_id": self.head_commit_id, "written_at": self.written_at}


def table_facts(
    storage: GraphStorage, pins: Mapping[TableKey, TablePin], changes: Iterable[TableEvolution]
) -> tuple[TableFacts, ...]:
    """What each change costs, from metadata alone: no row is read."""
    return tuple(_facts(storage, change, pins.get(change.was) if change.was else None) for change in changes)


def _facts(storage: GraphStorage, change: TableEvolution, pin: TablePin | None) -> TableFacts:
    if pin is None:
        return TableFacts(str(change.key), change.effect, 0, 0)
    table = storage.tables.open(pin)
    written = bytes_written(table, change) if change.effect in ("columns", "rewrite", "copy") else 0
    return TableFacts(str(change.key), change.effect, pin.row_count, written, _lost(table, change))


def bytes_written(table: Table, change: TableEvolution) -> int:
    """About how much a change that writes rows writes of this table, before it is compressed."""
    if change.effect != "columns":
        return stored_bytes(table)
    assert change.entity is not None
    schema = table_schema(change.entity)
    return table.pin.row_count * sum(_width(schema.field(each.name).type) for each in change.filled)


def _width(kind: pa.DataType) -> int:
    return max(1, kind.bit_width // 8) if pa.types.is_primitive(kind) else 16


def _lost(table: Table, change: TableEvolution) -> tuple[str, ...]:
    indexes = table.indexes()
    if change.effect in ("rewrite", "copy", "hide"):
        return tuple(index.name for index in indexes)
    moved = {each.source for each in change.filled} | set(change.dropped)
    return tuple(index.name for index in indexes if moved.intersection(index.columns))


# --- branches and tags ------------------------------------------------------------------------------------


def goes_with_branches(step: Step) -> bool:
    """Whether a branch with the schema of before can still be merged: nothing is lost, nothing must be checked."""
    match step:
        case AddProperty():
            return step.property_type.nullable and step.default is None
        case ChangePropertyType():
            return step.before.scalar is step.after.scalar and step.tier == "safe"
        case AddConstraint() | ChangeCardinality() | ChangeImplements():
            return step.tier == "safe"
        case DropType() | DropProperty():
            return step.type_kind == "interface"
        case _:
            return isinstance(step, _ALWAYS)


def blocking_branches(storage: GraphStorage, steps: Sequence[Step]) -> tuple[BlockingBranch, ...]:
    """The branches that stand against these steps, by name; none when every step goes with branches."""
    if all(goes_with_branches(step) for step in steps):
        return ()
    found = []
    for name in branch_list(storage):
        if name == MAIN:
            continue
        try:
            head = current_snapshot(storage, name).commit
        except BranchNotFound:
            continue
        made = (None, None) if head is None else (head.commit_id, head.created_at)
        found.append(BlockingBranch(name, *made))
    return tuple(found)


def pinning_tags(storage: GraphStorage, changes: Iterable[TableEvolution]) -> tuple[str, ...]:
    """The tags whose commits show a table that is to be gone from the past."""
    wanted = {change.was for change in changes if change.is_hard}
    if not wanted:
        return ()
    found = []
    for tag in tag_list(storage):
        try:
            tables = snapshot_at(storage, commit_of_tag(storage, tag.commit_id)).tables
        except (NotFound, Gone):
            continue  # its commit is gone already
        if any(pin.table_key in wanted for pin in tables):
            found.append(tag.name)
    return tuple(found)
