"""Schema restore: a type or property that was dropped comes back as it was in an earlier commit, with its data."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

from omnigraph.history import Snapshot, schema_of
from omnigraph.language import did_you_mean
from omnigraph.language.schema import CompiledSchema, with_property, with_type
from omnigraph.model.errors import BadRequest, TypeNotFound
from omnigraph.model.identifiers import EntityKind, TableKey
from omnigraph.model.late_dataclass import dataclass
from omnigraph.storage import GraphStorage, accept, read_files
from omnigraph.write.evolution.apply import SchemaChange, apply_schema
from omnigraph.write.evolution.receipt import SchemaReceipt

_ENTITY = re.compile(r"(node|edge):([A-Za-z_]\w*)(?:\.([A-Za-z_]\w*))?", re.ASCII)
Compile = Callable[[str], CompiledSchema]


@dataclass(frozen=True, slots=True)
class DroppedEntity:
    """`node:T`, `edge:E`, or a property of one, `node:T.p`."""

    kind: EntityKind
    type_name: str
    prop: str | None = None

    @property
    def key(self) -> TableKey:
        return TableKey(self.kind, self.type_name)


def parse_entity(text: str) -> DroppedEntity:
    found = _ENTITY.fullmatch(text)
    if found is None:
        raise BadRequest(f"'{text}' names no type or property", "write node:Person, edge:Knows or node:Person.age")
    return DroppedEntity("node" if found[1] == "node" else "edge", found[2], found[3])


def restore_schema(
    storage: GraphStorage, entity: str, past: Snapshot, compiled: Compile, change: SchemaChange | None = None
) -> SchemaReceipt:
    """Brings back what `entity` names, from the snapshot of an earlier commit, as one commit."""
    dropped = parse_entity(entity)
    live = accept(read_files(storage.objects))
    earlier = schema_of(storage, past, live)
    pin = next((each for each in past.tables if each.table_key == dropped.key), None)
    if pin is None:
        near = did_you_mean(dropped.type_name, [each.table_key.type_name for each in past.tables])
        raise TypeNotFound(dropped.type_name, near or "it is not in the schema of that commit")
    declared = live.catalog.table(dropped.key)
    if dropped.prop is None:
        if declared is not None:
            raise BadRequest(f"{entity} is in the schema", "restore a property of it, or the rows with `restore`")
        text = with_type(live.source, earlier.source, dropped.kind, dropped.type_name)
    else:
        if declared is None:
            raise BadRequest(f"the type of {entity} is not in the schema", f"restore {dropped.key} as a whole")
        if declared.property(dropped.prop) is not None:
            raise BadRequest(f"{entity} is in the schema", "bring its values back with `restore`")
        text = with_property(live.source, earlier.source, dropped.kind, dropped.type_name, dropped.prop)
    if text is None:
        raise BadRequest(
            f"the schema of that commit does not declare {entity} by itself", "declare it in the schema and apply that"
        )
    desired = compiled(text)
    asked = change or SchemaChange(desired=desired)
    restored = None if dropped.prop is None else entity
    return apply_schema(storage, replace(asked, desired=desired, past={dropped.key: pin}, restored=restored))
