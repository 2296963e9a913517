"""Effects: turning the change of a table into files on disk that nothing refers to yet."""

from __future__ import annotations

import pyarrow as pa

from omnigraph.storage import GraphStorage, OneOf
from omnigraph.storage.manifest import TablePin
from omnigraph.storage.tables import StagedEffect, stage_delete, stage_insert, stage_overwrite, stage_upsert
from omnigraph.write.changes import StagedWork, TableChange


def stage(storage: GraphStorage, change: TableChange | StagedWork, pin: TablePin) -> StagedEffect | None:
    """The staged effect of a change on the table at its pin; None when nothing would move."""
    if isinstance(change, StagedWork):
        return change.stage(pin)
    table = storage.tables.open(pin)
    options = storage.root.lance_options
    match change.mode:
        case "delete":
            effect, _ = stage_delete(table, OneOf("id", change.removed))
            return effect
        case "insert":
            return stage_insert(table, _rows(change), options)
        case "upsert":
            return stage_upsert(table, _rows(change), options)
        case "overwrite":
            return stage_overwrite(table, _rows(change), options)


def _rows(change: TableChange) -> pa.Table:
    assert change.rows is not None, "only a delete has no rows"
    return change.rows
