"""Commit diff: what one commit changed, compared with its first parent, in the order that the feed promises.

Nodes before edges, then by the opaque id of the type, then by entity id. The order never changes, so a reader can stop
anywhere and continue from there later.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

import numpy as np
import pyarrow as pa

from omnigraph.history.diff import (
    ChangedRows,
    ChangeFilter,
    ComparedTable,
    EntityChange,
    TableSide,
    changes_with_images,
    compared_tables,
    is_blob,
    is_same_pin,
    type_id,
)
from omnigraph.history.feed.refusals import ChangeCursorRejected, ChangeSchemaBoundary
from omnigraph.history.feed.tokens import BlockPosition
from omnigraph.history.snapshots import Snapshot
from omnigraph.model.errors import Corrupt
from omnigraph.model.late_dataclass import dataclass
from omnigraph.storage import GraphStorage
from omnigraph.storage.manifest import GraphCommit, TablePin

IMAGES, IMAGES_WITH_BLOBS = 256, 4
"""So many images are made at a time: blobs may have many megabytes each."""

UPKEEP = frozenset({"ensure_indices", "optimize"})
"""Kinds of commits that change no entity: there is nothing to compare."""


@dataclass(frozen=True, slots=True)
class _Table:
    opaque: str
    compared: ComparedTable

    @property
    def order(self) -> tuple[bool, str]:
        return self.compared.key.kind == "edge", self.opaque


class CommitDiff:
    """One commit beside its first parent. Nothing is read before `changes` is iterated."""

    def __init__(self, storage: GraphStorage, commit: GraphCommit, before: Snapshot, after: Snapshot) -> None:
        self._storage = storage
        self._commit = commit
        self._before = before
        self._after = after

    def changes(self, wanted: ChangeFilter, resume: BlockPosition | None = None) -> Iterator[EntityChange]:
        """The changes that are wanted, in order; those behind `resume` if it is given."""
        try:
            for table in self._wanted_tables(wanted, resume):
                rows = table.compared.changes(wanted)
                if resume is not None and table.opaque == resume.type_id:
                    rows = _behind(rows, resume)
                yield from _entities(table, rows)
        except Corrupt:
            self._require_there()  # files that were removed while they were read are no damage
            raise

    def _wanted_tables(self, wanted: ChangeFilter, resume: BlockPosition | None) -> list[_Table]:
        tables = [table for table in self._tables if wanted.wants_table(table.compared.key)]
        if resume is None:
            return tables
        places = [place for place, table in enumerate(tables) if table.opaque == resume.type_id]
        if not places:
            raise ChangeCursorRejected("the place that it names is not among these changes")
        return tables[places[0] :]

    @cached_property
    def _tables(self) -> list[_Table]:
        """Every table that moved; refuses a change of the schema, whatever is wanted."""
        self._require_there()
        found = []
        for compared in compared_tables(self._storage, self._before, self._after):
            if _is_boundary(compared):
                raise ChangeSchemaBoundary(self._commit.commit_id, compared.key.type_name)
            found.append(_Table(type_id(self._storage.manifest.genesis, compared.key), compared))
        return sorted(found, key=lambda table: table.order)

    def _require_there(self) -> None:
        for pin in self._moved_pins():
            self._storage.tables.require_there(pin)

    def _moved_pins(self) -> Iterator[TablePin]:
        old, new = ({pin.table_key: pin for pin in each.tables} for each in (self._before, self._after))
        for key in sorted({*old, *new}):
            if not is_same_pin(old.get(key), new.get(key)):
                yield from (pin for pin in (old.get(key), new.get(key)) if pin is not None)


def _is_boundary(table: ComparedTable) -> bool:
    """Whether the schema of a type changed so that images of both sides do not compare."""
    before, after = table.before, table.after
    if before is not None and after is not None:
        return _columns(before) != _columns(after)
    return any(side is not None and side.pin.row_count > 0 for side in (before, after))


def _columns(side: TableSide) -> dict[str, tuple[str, bool]]:
    return {field.name: (_type_text(field), field.nullable) for field in side.table.schema}


def _type_text(field: pa.Field) -> str:
    return "blob" if is_blob(field) else str(field.type)


def _entities(table: _Table, batches: Iterator[ChangedRows]) -> Iterator[EntityChange]:
    sides = (table.compared.before, table.compared.after)
    has_blobs = any(side is not None and side.blobs for side in sides)
    at_a_time = IMAGES_WITH_BLOBS if has_blobs else IMAGES
    for rows in batches:
        yield from changes_with_images(table.compared, rows, table.opaque, at_a_time=at_a_time)


def _behind(batches: Iterator[ChangedRows], resume: BlockPosition) -> Iterator[ChangedRows]:
    """The rows behind the one that was delivered last. It must be there: a commit never changes."""
    for rows in batches:
        ids = rows.ids.to_pylist()
        if ids[-1] < resume.floor:
            continue
        places = [place for place, entity_id in enumerate(ids) if resume.is_at(entity_id)]
        if places:
            yield rows.filter(np.arange(len(ids)) > places[0])
            yield from batches
            return
    raise ChangeCursorRejected("the place that it names is not among these changes")
