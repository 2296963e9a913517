"""Table changes: the entities of one type that differ between two versions of its table, in order of their ids.

Candidates come from fragments that differ. Both sides are sorted by id outside of memory and read side by side, so the
memory is bounded whatever the size of the change; rows that turn out to be equal are dropped.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import IntEnum

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.history.diff.cells import Mask
from omnigraph.history.diff.side import TableSide, heavy_columns_differ, light_columns_differ
from omnigraph.history.export import SortedRun, sort_by_id
from omnigraph.model.late_dataclass import dataclass
from omnigraph.storage.tables import CandidateRows, all_rows, candidate_rows, shared_version

RowIds = npt.NDArray[np.uint64]


class Op(IntEnum):
    """What happened to an entity. The order is the one in which changes of one entity are listed."""

    INSERT = 0
    UPDATE = 1
    DELETE = 2
    SAME = 3
    """Written again with equal values. Only told to those who ask for it."""

    @property
    def word(self) -> str:
        return self.name.lower()


CHANGES = (Op.INSERT, Op.UPDATE, Op.DELETE)


@dataclass(frozen=True, slots=True)
class ChangedRows:
    """Some entities that differ. Everything is aligned with `ids`; a side that lacks an entity has a row of nulls."""

    ids: pa.Array
    ops: npt.NDArray[np.int8]
    before: pa.Table
    after: pa.Table
    """The cheap columns of each side, and `_rowid`."""

    def __len__(self) -> int:
        return len(self.ids)

    def filter(self, keep: Mask) -> ChangedRows:
        mask = pa.array(keep)
        return ChangedRows(self.ids.filter(mask), self.ops[keep], self.before.filter(mask), self.after.filter(mask))


def is_same_table(before: TableSide, after: TableSide) -> bool:
    """Whether both pins name the same version of the same lineage: then there is nothing to compare."""
    one, other = before.pin, after.pin
    if (one.location, one.lineage, one.version) != (other.location, other.lineage, other.version):
        return False
    return one.lineage is None or before.table.identity == after.table.identity


def table_changes(
    before: TableSide | None, after: TableSide | None, *, equal_too: bool = False
) -> Iterator[ChangedRows]:
    """The entities that differ, some at a time, ids ascending. A side that is None does not have the type.

    `equal_too` adds the rows that lie elsewhere than before, although their values are equal.
    """
    if before is None and after is None:
        return
    if before is not None and after is not None and is_same_table(before, after):
        return
    left, right = _sorted_candidates(before, after)
    for old, new in rows_side_by_side(left, right):
        yield from _compared(before, old, after, new, equal_too)


def _sorted_candidates(
    before: TableSide | None, after: TableSide | None
) -> tuple[Iterator[pa.RecordBatch], Iterator[pa.RecordBatch]]:
    if before is not None and after is not None:
        shared = shared_version(before.storage.lineages, before.pin, after.pin)
        gone, come = candidate_rows(before.table, after.table, shared, after.read_object)
        return _sorted(before, gone), _sorted(after, come)
    if before is not None:
        return _sorted(before, all_rows(before.table)), iter(())
    assert after is not None
    return iter(()), _sorted(after, all_rows(after.table))


def _sorted(side: TableSide, rows: CandidateRows) -> Iterator[pa.RecordBatch]:
    return sort_by_id(side.noted(side.candidates(rows, side.light)))


def rows_side_by_side(
    left: Iterator[pa.RecordBatch], right: Iterator[pa.RecordBatch]
) -> Iterator[tuple[pa.Table | None, pa.Table | None]]:
    """Rows of two sorted streams, cut so that an id that is in both is in both parts of one pair."""
    runs = [SortedRun(left), SortedRun(right)]
    ready = [run.ready() for run in runs]
    while any(ready):
        bound = min(run.ids[-1] for run, is_ready in zip(runs, ready, strict=True) if is_ready)
        parts = [run.up_to(bound) if is_ready else None for run, is_ready in zip(runs, ready, strict=True)]
        one, other = (None if part is None else pa.Table.from_batches([part]) for part in parts)
        yield one, other
        ready = [run.ready() for run in runs]


def _compared(
    before: TableSide | None, old: pa.Table | None, after: TableSide | None, new: pa.Table | None, equal_too: bool
) -> Iterator[ChangedRows]:
    """The rows of one pair that differ."""
    paired = align(before, old, after, new)
    both = np.flatnonzero(paired.ops == Op.UPDATE)
    if before is not None and after is not None and len(both):
        rows = pa.array(both)
        differs = rows_differ(before, paired.before.take(rows), after, paired.after.take(rows))
        paired.ops[both[~differs]] = Op.SAME
        if not equal_too:
            paired = paired.filter(paired.ops != Op.SAME)
    if len(paired):
        yield paired


def rows_differ(one: TableSide, rows: pa.Table, other: TableSide, other_rows: pa.Table) -> Mask:
    """Per pair of rows whether they differ at all; vectors and blobs are read only where the rest is equal."""
    differs = light_columns_differ(one, rows, other, other_rows)
    open_rows = np.flatnonzero(~differs)
    if len(open_rows):
        places = pa.array(open_rows)
        differs[open_rows] = heavy_columns_differ(one, rows.take(places), other, other_rows.take(places))
    return differs


def align(before: TableSide | None, old: pa.Table | None, after: TableSide | None, new: pa.Table | None) -> ChangedRows:
    """Rows of two sides by their ids. What both have is taken for an update."""
    old, new = _rows_of(before, old), _rows_of(after, new)
    ids = pc.unique(pa.concat_arrays([*old["id"].chunks, *new["id"].chunks, pa.array([], pa.string())]))
    ids = ids.take(pc.sort_indices(ids))
    left, right = (pc.index_in(ids, value_set=side["id"].combine_chunks()) for side in (old, new))
    was, is_ = (np.asarray(places.is_valid().to_numpy(zero_copy_only=False)) for places in (left, right))
    ops = np.where(was & is_, Op.UPDATE, np.where(is_, Op.INSERT, Op.DELETE)).astype(np.int8)
    return ChangedRows(ids, ops, old.take(left), new.take(right))


def _rows_of(side: TableSide | None, rows: pa.Table | None) -> pa.Table:
    if rows is not None:
        return rows
    fields = [pa.field("id", pa.string())]
    if side is not None:
        fields = [side.schema.field(name) for name in side.light]
    return pa.schema([*fields, pa.field("_rowid", pa.uint64())]).empty_table()
