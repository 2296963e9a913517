"""The merge of one type: three versions of its table, the entities that the source changed, and what becomes of each.

Two diffs against the base are read side by side in order of ids. An entity that the source did not change is never
looked at, and one that the target did not change needs no look at the target.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.history.diff import (
    ChangedRows,
    Mask,
    Op,
    TableSide,
    is_same_table,
    rows_differ,
    rows_side_by_side,
    table_changes,
)
from omnigraph.merge.truth_table import Decision, decide_all
from omnigraph.model.late_dataclass import dataclass
from omnigraph.storage import OneOf
from omnigraph.storage.tables import most_changed_rows

LOOK_UP_IDS = 4096
"""So many entities are looked up at a time."""
MOVED_FAR_ROWS, MOVED_FAR_TIMES = 10_000, 16
"""A target that moved by this many rows, and more for each entity that the source changed, is not compared whole."""


@dataclass(frozen=True, slots=True)
class Sides:
    """One type in the three snapshots of a merge; None where a snapshot does not have it."""

    base: TableSide | None
    source: TableSide | None
    target: TableSide | None


@dataclass(frozen=True, slots=True)
class OtherBase:
    """Entities whose base image is not that of the base snapshot."""

    ids: pa.Array
    side: TableSide | None
    is_known: bool = True
    """False when the histories disagree about the base image: then only equal sides merge."""


@dataclass(frozen=True, slots=True)
class DecidedRows:
    """Entities that the merge must do something about. Rows are row ids, null where a side lacks the entity."""

    ids: pa.Array
    decisions: npt.NDArray[np.int8]
    base: TableSide | None
    base_rows: pa.Array
    source_rows: pa.Array
    target_rows: pa.Array

    def __len__(self) -> int:
        return len(self.ids)

    def filter(self, keep: Mask) -> DecidedRows:
        mask = pa.array(keep)
        rows = (column.filter(mask) for column in (self.base_rows, self.source_rows, self.target_rows))
        return DecidedRows(self.ids.filter(mask), self.decisions[keep], self.base, *rows)

    @property
    def conflicts(self) -> Mask:
        return np.asarray(self.decisions >= Decision.DIVERGENT_INSERT, np.bool_)


def merge_table(sides: Sides, others: Sequence[OtherBase] = ()) -> Iterator[DecidedRows]:
    """The entities of one type that are not simply kept, some at a time."""
    elsewhere = pa.concat_arrays([pa.array([], pa.string()), *(other.ids for other in others)])
    for rows in _by_diffs(sides, elsewhere):
        yield from _not_kept(rows)
    for other in others:
        for start in range(0, len(other.ids), LOOK_UP_IDS):
            yield from _not_kept(_by_look_up(sides, other, other.ids.slice(start, LOOK_UP_IDS)))


def _not_kept(rows: DecidedRows) -> Iterator[DecidedRows]:
    moving = rows.filter(np.asarray(rows.decisions != Decision.KEEP, np.bool_))
    if len(moving):
        yield moving


# --- by the two diffs -------------------------------------------------------------------------------------


def _by_diffs(sides: Sides, elsewhere: pa.Array) -> Iterator[DecidedRows]:
    base, target = sides.base, sides.target
    changes = (_without(rows, elsewhere) for rows in table_changes(base, sides.source))
    if (base is None and target is None) or (base is not None and target is not None and is_same_table(base, target)):
        for rows in changes:
            yield _decided(sides, rows, None)
        return
    few, all_changes = _first_rows(changes)
    if few is not None and _moved_far(base, target, sum(map(len, few))):
        for rows in few:
            yield _decided_by_look_up(sides, rows)
        return
    moved = table_changes(base, target, equal_too=True)
    for one, other in rows_side_by_side(_batches(all_changes), _batches(moved)):
        if one is not None:
            yield _decided(sides, _changed_rows(one), None if other is None else _changed_rows(other))


def _first_rows(changes: Iterator[ChangedRows]) -> tuple[list[ChangedRows] | None, Iterator[ChangedRows]]:
    """All changes, if there are few of them; and the changes once more from their beginning."""
    seen: list[ChangedRows] = []
    for rows in changes:
        seen.append(rows)
        if sum(map(len, seen)) > LOOK_UP_IDS:
            return None, chain(seen, changes)
    return seen, iter(seen)


def _moved_far(base: TableSide | None, target: TableSide | None, count: int) -> bool:
    """Whether looking entities up in the target costs less than finding out everything that it changed."""
    if base is None or target is None:
        return False
    return most_changed_rows(base.table, target.table) > MOVED_FAR_ROWS + MOVED_FAR_TIMES * count


def _decided_by_look_up(sides: Sides, own: ChangedRows) -> DecidedRows:
    """The same as `_decided`, without the diff of the target."""
    found = look_up(sides.target, own.ids)
    was, theirs, ours = own.ops != Op.INSERT, own.ops != Op.DELETE, _mask(found["_rowid"].is_valid())
    target_is_base = _equal(sides.target, found, ours, sides.base, own.before, was)
    same = _equal(sides.target, found, ours, sides.source, own.after, theirs)
    decisions = decide_all(was, theirs, ours, np.zeros(len(own), np.bool_), target_is_base, same)
    rows = (own.before["_rowid"], own.after["_rowid"], found["_rowid"])
    return DecidedRows(own.ids, decisions, sides.base, *(column.combine_chunks() for column in rows))


def _without(rows: ChangedRows, ids: pa.Array) -> ChangedRows:
    if not len(ids):
        return rows
    return rows.filter(~np.asarray(pc.is_in(rows.ids, value_set=ids).to_numpy(zero_copy_only=False), np.bool_))


def _decided(sides: Sides, own: ChangedRows, moved: ChangedRows | None) -> DecidedRows:
    """`own` is what the source did; `moved` what lies elsewhere in the target than in the base, of the same ids."""
    count = len(own)
    there = own.ops != Op.INSERT
    target, target_is_base, same = there.copy(), np.ones(count, np.bool_), np.zeros(count, np.bool_)
    target_rows = own.before["_rowid"].combine_chunks()  # a row that was not touched is where it was
    if moved is not None and len(moved):
        place = pc.index_in(own.ids, value_set=moved.ids)
        met = np.flatnonzero(_mask(place.is_valid()))
        found = np.asarray(place.drop_null().to_numpy(zero_copy_only=False), np.int64)
        target[met] = moved.ops[found] != Op.DELETE
        target_is_base[met] = moved.ops[found] == Op.SAME
        same[met] = _equal_images(sides, own, met, moved, found)
        target_rows = _replaced(target_rows, met, moved.after["_rowid"].combine_chunks().take(pa.array(found)))
    nothing = np.zeros(count, np.bool_)
    decisions = decide_all(there, own.ops != Op.DELETE, target, nothing, target_is_base, same)
    rows = (own.before["_rowid"].combine_chunks(), own.after["_rowid"].combine_chunks(), target_rows)
    return DecidedRows(own.ids, decisions, sides.base, *rows)


def _equal_images(
    sides: Sides, own: ChangedRows, met: npt.NDArray[np.int64], moved: ChangedRows, found: npt.NDArray[np.int64]
) -> Mask:
    """Per entity that both sides touched whether they made the same of it; a removal on both is the same."""
    source, target = own.ops[met] != Op.DELETE, moved.ops[found] != Op.DELETE
    equal: Mask = ~source & ~target
    both = np.flatnonzero(source & target)
    if len(both) and sides.source is not None and sides.target is not None:
        left, right = own.after.take(pa.array(met[both])), moved.after.take(pa.array(found[both]))
        equal[both] = ~rows_differ(sides.source, left, sides.target, right)
    return equal


def _replaced(values: pa.Array, places: npt.NDArray[np.int64], by: pa.Array) -> pa.Array:
    chosen = np.arange(len(values), dtype=np.int64)
    chosen[places] = len(values) + np.arange(len(by), dtype=np.int64)
    return pa.concat_arrays([values, by]).take(pa.array(chosen))


# --- by looking entities up -------------------------------------------------------------------------------


def _by_look_up(sides: Sides, other: OtherBase, ids: pa.Array) -> DecidedRows:
    base, source, target = (look_up(side, ids) for side in (other.side, sides.source, sides.target))
    was, ours, theirs = (_mask(rows["_rowid"].is_valid()) for rows in (base, target, source))
    same = _equal(sides.source, source, theirs, sides.target, target, ours)
    if other.is_known:
        unchanged = _equal(sides.source, source, theirs, other.side, base, was)
        target_is_base = _equal(sides.target, target, ours, other.side, base, was)
    else:  # taken for an image that neither side has: whoever changed it, both did
        was, unchanged, target_is_base = np.ones(len(ids), np.bool_), *(np.zeros(len(ids), np.bool_) for _ in "12")
    decisions = decide_all(was, theirs, ours, unchanged, target_is_base, same)
    rows = (side["_rowid"].combine_chunks() for side in (base, source, target))
    return DecidedRows(ids, decisions, other.side, *rows)


def look_up(side: TableSide | None, ids: pa.Array) -> pa.Table:
    """The cheap columns and `_rowid` of entities by their ids, aligned; a row of nulls where there is none."""
    if side is None:
        return pa.table({"id": ids, "_rowid": pa.nulls(len(ids), pa.uint64())})
    columns = [*side.light, "_rowid"]
    wanted = OneOf("id", tuple(ids.to_pylist()))
    batches = list(side.noted(side.scan([*columns, "_rowaddr"], wanted))) if len(ids) else []
    schema = pa.schema([*(side.schema.field(name) for name in side.light), pa.field("_rowid", pa.uint64())])
    found = pa.Table.from_batches(batches).select(columns) if batches else schema.empty_table()
    return found.take(pc.index_in(ids, value_set=found["id"].combine_chunks()))


def _equal(
    one: TableSide | None, rows: pa.Table, has: Mask, other: TableSide | None, other_rows: pa.Table, other_has: Mask
) -> Mask:
    """Per entity whether two sides have the same image of it, or none."""
    equal: Mask = ~has & ~other_has
    both = np.flatnonzero(has & other_has)
    if len(both) and one is not None and other is not None:
        places = pa.array(both)
        equal[both] = ~rows_differ(one, rows.take(places), other, other_rows.take(places))
    return equal


# --- changed rows as batches, so that two streams of them can be read side by side ------------------------


def _batches(changes: Iterator[ChangedRows]) -> Iterator[pa.RecordBatch]:
    for rows in changes:
        if len(rows):
            sides = [_struct(table) for table in (rows.before, rows.after)]
            columns = [rows.ids, pa.array(rows.ops, pa.int8()), *sides]
            yield pa.RecordBatch.from_arrays(columns, names=["id", "op", "before", "after"])


def _struct(table: pa.Table) -> pa.StructArray:
    columns = [column.combine_chunks() for column in table.columns]
    return pa.StructArray.from_arrays(columns, names=table.column_names)


def _changed_rows(rows: pa.Table) -> ChangedRows:
    columns = {name: rows[name].combine_chunks() for name in rows.column_names}
    before, after = (
        pa.table(columns[name].flatten(), names=[field.name for field in columns[name].type])
        for name in ("before", "after")
    )
    return ChangedRows(columns["id"], np.array(columns["op"].to_numpy(), np.int8), before, after)


def _mask(values: pa.Array | pa.ChunkedArray) -> Mask:
    return np.asarray(values.to_numpy(zero_copy_only=False) if isinstance(values, pa.Array) else values.to_numpy())
