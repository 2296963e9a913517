"""One entity as it was at a commit, read without the rest of its table."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from omnigraph.history.commits import snapshot_at
from omnigraph.history.diff import Image, TableSide, read_images
from omnigraph.model.errors import BadRequest, Corrupt, Json, TypeNotFound
from omnigraph.model.identifiers import EntityKind
from omnigraph.model.late_dataclass import dataclass
from omnigraph.storage import Compare, GraphStorage
from omnigraph.storage.manifest import GraphCommit, TablePin


@dataclass(frozen=True, slots=True)
class PastEntity:
    """A node or an edge at one commit."""

    graph_commit_id: str
    kind: EntityKind
    type_name: str
    id: str
    image: Image

    def to_json(self) -> dict[str, Json]:
        return {
            "graph_commit_id": self.graph_commit_id,
            "kind": self.kind,
            "type_name": self.type_name,
            "id": self.id,
            **self.image.to_json(),
        }


def entity_at(storage: GraphStorage, type_name: str, entity_id: str, commit: GraphCommit) -> PastEntity | None:
    """The entity of this type and id as the commit showed it; None when there was none.

    A type is named `Person`, or `node:Person` where a node type and an edge type have the same name.
    """
    snapshot = snapshot_at(storage, commit)
    pin = pin_of_type(snapshot.tables, type_name)
    try:
        storage.tables.require_there(pin)
        side = TableSide(storage, pin, snapshot)
        found = side.table.read(["_rowid"], Compare("id", "=", entity_id))
        images = read_images(side, np.asarray(found["_rowid"].to_numpy(), np.uint64))
    except Corrupt:
        storage.tables.require_there(pin)  # removed while it was read: that is no damage
        raise
    if not images:
        return None
    return PastEntity(commit.commit_id, pin.table_key.kind, pin.table_key.type_name, entity_id, images[0])


def pin_of_type(tables: Sequence[TablePin], type_name: str) -> TablePin:
    """The table of the type that a caller names."""
    found = [pin for pin in tables if type_name in (pin.table_key.type_name, str(pin.table_key))]
    if not found:
        raise TypeNotFound(type_name)
    if len(found) > 1:
        raise BadRequest(
            f"'{type_name}' is a node type and an edge type", f"say which: 'node:{type_name}' or 'edge:{type_name}'"
        )
    return found[0]
