"""Composite keys of another implementation: readable, and not to be written.

Our ids of a composite key are JSON arrays. A release that takes one member alone leaves other ids behind; adding ours
beside them would give one node two identities.
"""

from __future__ import annotations

from collections.abc import Mapping

from omnigraph.language.schema import Catalog, NodeType
from omnigraph.model.errors import Conflict
from omnigraph.model.identifiers import TableKey
from omnigraph.storage import GraphStorage
from omnigraph.storage.manifest import TablePin
from omnigraph.write.changes import ChangeSet


def refuse_foreign_ids(
    storage: GraphStorage, pins: Mapping[TableKey, TablePin], catalog: Catalog, changes: ChangeSet
) -> None:
    """Refuses to write a type with a composite key whose stored ids are not those of the key."""
    for change in changes.changes():
        entity = catalog.table(change.key)
        if isinstance(entity, NodeType) and entity.key is not None and len(entity.key) > 1:
            for batch in storage.tables.open(pins[change.key]).scan(["id"], limit=1):
                if any(not str(stored).startswith("[") for stored in batch.column("id").to_pylist()):
                    raise Conflict(
                        f"the ids of '{change.key}' are not those of its composite key {list(entity.key)}",
                        "rebuild the graph: export it, create a new one, and load the records without their ids",
                    )
