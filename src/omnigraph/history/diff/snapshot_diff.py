"""Diff: the net difference of two snapshots, entity by entity. Start at `diff_snapshots`.

A diff is lazy: it reads when it is iterated, once for each way of looking at it, and holds a few thousand rows at most.
Types that did not move are not opened, and only fragments that differ are read.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cached_property
from html import escape

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from omnigraph.history.diff.arrow_tables import arrow_batches, arrow_schema
from omnigraph.history.diff.entity_changes import ChangeFilter, EntityChange, op_name, type_id
from omnigraph.history.diff.images import IMAGE_ROWS, Image, read_images
from omnigraph.history.diff.row_diff import CHANGES, ChangedRows, table_changes
from omnigraph.history.diff.side import TableSide
from omnigraph.history.snapshots import Snapshot
from omnigraph.model.errors import Json
from omnigraph.model.identifiers import TableKey
from omnigraph.model.late_dataclass import dataclass
from omnigraph.storage import GraphStorage
from omnigraph.storage.manifest import TablePin


@dataclass(frozen=True, slots=True)
class TypeStats:
    """How many entities of one type differ."""

    kind: str
    type_name: str
    inserts: int = 0
    updates: int = 0
    deletes: int = 0

    def to_json(self) -> dict[str, Json]:
        return {
            "kind": self.kind,
            "type_name": self.type_name,
            "inserts": self.inserts,
            "updates": self.updates,
            "deletes": self.deletes,
        }


@dataclass(frozen=True, slots=True)
class DiffStats:
    """How many entities differ, in all and by type; types without a difference are left out."""

    types: tuple[TypeStats, ...]

    @property
    def inserts(self) -> int:
        return sum(each.inserts for each in self.types)

    @property
    def updates(self) -> int:
        return sum(each.updates for each in self.types)

    @property
    def deletes(self) -> int:
        return sum(each.deletes for each in self.types)

    @property
    def total(self) -> int:
        return self.inserts + self.updates + self.deletes

    def to_json(self) -> dict[str, Json]:
        return {
            "inserts": self.inserts,
            "updates": self.updates,
            "deletes": self.deletes,
            "types_affected": len(self.types),
            "types": [each.to_json() for each in self.types],
        }


@dataclass(frozen=True, slots=True)
class ComparedTable:
    """The two sides of one type; None where a snapshot does not have it."""

    key: TableKey
    before: TableSide | None
    after: TableSide | None

    def changes(self, wanted: ChangeFilter) -> Iterator[ChangedRows]:
        for rows in table_changes(self.before, self.after):
            if wanted.ops is not None:
                rows = rows.filter(np.isin(rows.ops, [op for op in CHANGES if wanted.wants_op(op)]))
            if len(rows):
                yield rows


class Diff:
    """What differs between two snapshots. Iterate it for entities: nodes before edges, types by name, ids ascending."""

    def __init__(self, storage: GraphStorage, before: Snapshot, after: Snapshot, wanted: ChangeFilter) -> None:
        self._storage = storage
        self._wanted = wanted
        self.before = before
        self.after = after

    def __iter__(self) -> Iterator[EntityChange]:
        for table in self.tables():
            for rows in table.changes(self._wanted):
                yield from changes_with_images(table, rows, type_id(self._genesis, table.key))

    def __repr__(self) -> str:
        return f"Diff({self.before.commit_id!r}, {self.after.commit_id!r})"

    @cached_property
    def stats(self) -> DiffStats:
        """The counts by type, without reading a value more than it takes to tell that something differs."""
        found = []
        for table in self.tables():
            counts = np.zeros(len(CHANGES), np.int64)
            for rows in table.changes(self._wanted):
                counts += np.bincount(rows.ops, minlength=len(CHANGES))
            if counts.any():
                found.append(TypeStats(table.key.kind, table.key.type_name, *counts.tolist()))
        return DiffStats(tuple(found))

    def is_empty(self) -> bool:
        """Whether nothing differs; stops at the first difference."""
        return not any(True for table in self.tables() for _ in table.changes(self._wanted))

    def to_arrow(self) -> dict[str, pa.Table]:
        """One table per type that differs: `change`, `id`, and the properties of each side as `before` and `after`."""
        tables = {}
        for compared in self.tables():
            batches = list(arrow_batches(compared.before, compared.after, compared.changes(self._wanted)))
            if batches:
                schema = arrow_schema(compared.before, compared.after)
                tables[str(compared.key)] = pa.Table.from_batches(batches, schema)
        return tables

    def to_json(self) -> dict[str, Json]:
        """The whole diff as one JSON object; for one that may be large write `json_lines` instead."""
        return {
            "from": self._end(self.before),
            "to": self._end(self.after),
            "changes": [change.to_json() for change in self],
            "stats": self.stats.to_json(),
        }

    def json_lines(self) -> Iterator[str]:
        """One change object per line, without the line end."""
        return (json.dumps(change.to_json(), ensure_ascii=False) for change in self)

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><td>{escape(each.type_name)}</td><td>{each.inserts}</td><td>{each.updates}</td>"
            f"<td>{each.deletes}</td></tr>"
            for each in self.stats.types
        )
        head = "<tr><th>type</th><th>inserts</th><th>updates</th><th>deletes</th></tr>"
        return f"<table><thead>{head}</thead><tbody>{rows}</tbody></table>"

    # --- parts --------------------------------------------------------------------------------------------

    def tables(self) -> Iterator[ComparedTable]:
        """The types whose tables moved, nodes before edges, by name."""
        return compared_tables(self._storage, self.before, self.after, self._wanted)

    @staticmethod
    def _end(snapshot: Snapshot) -> Json:
        return {"commit": snapshot.commit_id, "branch": snapshot.branch}

    @cached_property
    def _genesis(self) -> str:
        return self._storage.manifest.genesis


def diff_snapshots(
    storage: GraphStorage, before: Snapshot, after: Snapshot, wanted: ChangeFilter | None = None
) -> Diff:
    """The difference between two snapshots of one graph, whatever branches they are of."""
    return Diff(storage, before, after, wanted or ChangeFilter())


def compared_tables(
    storage: GraphStorage, before: Snapshot, after: Snapshot, wanted: ChangeFilter | None = None
) -> Iterator[ComparedTable]:
    """The types that two snapshots may differ in. Equal pins are skipped without opening anything."""
    old, new = ({pin.table_key: pin for pin in snapshot.tables} for snapshot in (before, after))
    for key in sorted({*old, *new}, key=_nodes_first):
        one, other = old.get(key), new.get(key)
        if (wanted is None or wanted.wants_table(key)) and not is_same_pin(one, other):
            yield ComparedTable(key, table_side(storage, one, before), table_side(storage, other, after))


def changes_with_images(
    table: ComparedTable, rows: ChangedRows, opaque: str, *, at_a_time: int = IMAGE_ROWS
) -> Iterator[EntityChange]:
    """Changed rows with their images. `opaque` is the id of the type; so many images are held at a time."""
    key = table.key
    for start in range(0, len(rows), at_a_time):
        part = rows.filter(_window(len(rows), start, at_a_time))
        before, after = images_of(table.before, part.before), images_of(table.after, part.after)
        facts = zip(part.ids.to_pylist(), part.ops.tolist(), before, after, strict=True)
        for entity_id, op, old, new in facts:
            yield EntityChange(key.kind, key.type_name, opaque, entity_id, op_name(op), old, new)


def table_side(storage: GraphStorage, pin: TablePin | None, snapshot: Snapshot) -> TableSide | None:
    """A table of a snapshot, ready to be compared."""
    return None if pin is None else TableSide(storage, pin, snapshot)


def images_of(side: TableSide | None, rows: pa.Table) -> list[Image | None]:
    """The images of aligned rows: None where the side lacks the entity."""
    there = np.asarray(rows["_rowid"].is_valid().to_numpy(zero_copy_only=False), np.bool_)
    if side is None or not there.any():
        return [None] * len(there)
    images = iter(read_images(side, valid_row_ids(rows)))
    return [next(images) if present else None for present in there.tolist()]


def valid_row_ids(rows: pa.Table) -> npt.NDArray[np.uint64]:
    """The row ids of the aligned rows that are there."""
    return np.asarray(rows["_rowid"].drop_null().to_numpy(), np.uint64)


def _nodes_first(key: TableKey) -> tuple[bool, bytes]:
    return key.kind == "edge", key.type_name.encode()


def is_same_pin(one: TablePin | None, other: TablePin | None) -> bool:
    """The base lineage is made once with its table. A name comes again: then only the same branch says the same."""
    if one is None or other is None or one != other:
        return False
    return one.lineage is None or (one.incarnation is not None and one.incarnation == other.incarnation)


def _window(count: int, start: int, size: int) -> npt.NDArray[np.bool_]:
    places = np.arange(count)
    return np.asarray((places >= start) & (places < start + size), np.bool_)
