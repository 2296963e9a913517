"""Lifted rows: rows of the past, written under the schema of today. Properties are found by name.

What the schema of today cannot take is told row by row: a type or a required property that the row does not have, a
value that does not fit the type that its property has now.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import islice

import numpy as np
import pyarrow as pa

from omnigraph.history import Snapshot
from omnigraph.history.diff import TableSide, table_side
from omnigraph.language.schema import Catalog
from omnigraph.merge.bases import MergeBase
from omnigraph.merge.conflicts import CONFLICTS_MAX, MergeConflict
from omnigraph.merge.plan import MergeOptions, MergePlan, TablePlan, plan_merge
from omnigraph.merge.row_writes import RowWrites
from omnigraph.model.errors import Conflict
from omnigraph.model.identifiers import TableKey
from omnigraph.storage import GraphStorage
from omnigraph.storage.tables import table_schema

CHECK_ROWS = 4096


def plan_from_past(
    storage: GraphStorage,
    past: Snapshot,
    target: Snapshot,
    base: MergeBase,
    catalog: Catalog,
    options: MergeOptions | None = None,
) -> MergePlan:
    """What it takes to bring into `target` what differs between `base` and an earlier state."""
    kept = tuple(pin for pin in past.tables if catalog.table(pin.table_key) is not None)
    known = MergeBase(base.commit_ids, _of_today(base.snapshot, catalog), base.overrides, base.note)
    dropped = [_dropped(storage, key, past, base) for key in _keys_beyond(past, kept)]
    lost = [conflict for found in dropped for conflict in found]
    if lost:
        return MergePlan((), tuple(lost[:CONFLICTS_MAX]), len(lost))
    try:
        plan = plan_merge(storage, replace(past, tables=kept), target, known, catalog, options)
    except pa.ArrowInvalid as error:
        raise Conflict(f"a value of then does not fit the schema of today: {error}") from error
    if plan.conflicts_total:
        return plan
    unfit = [conflict for table in plan.tables for conflict in unfit_rows(catalog, table)]
    return replace(plan, conflicts=tuple(unfit[:CONFLICTS_MAX]), conflicts_total=len(unfit)) if unfit else plan


def unfit_rows(catalog: Catalog, table: TablePlan) -> Iterator[MergeConflict]:
    """The rows to be written that the schema does not take."""
    entity = catalog.table(table.key)
    assert entity is not None, "types that are gone were left out"
    schema = table_schema(entity)
    for writes in table.writes:
        for field in schema:
            if field.name not in (writes.values or {}):
                yield from _unfit_column(table.key, writes, field)


def _unfit_column(key: TableKey, writes: RowWrites, field: pa.Field) -> Iterator[MergeConflict]:
    own = writes.side.table.schema
    if field.name not in own.names:
        if not field.nullable:
            for entity_id in writes.ids.to_pylist():
                yield _unfit(key, entity_id, f"it has no value for '{field.name}', which is required today")
        return
    was = own.field(field.name)
    if field.name in writes.side.blobs or (was.type == field.type and (field.nullable or not was.nullable)):
        return
    for start in range(0, len(writes.rows), CHECK_ROWS):
        values = writes.side.take(writes.rows[start : start + CHECK_ROWS], [field.name])[field.name].combine_chunks()
        for place in _unfit_places(values, field):
            why = f"the value of '{field.name}' does not fit its type of today"
            yield _unfit(key, writes.ids[start + place].as_py(), why)


def _unfit_places(values: pa.Array, field: pa.Field) -> list[int]:
    if not field.nullable and values.null_count:
        return list(np.flatnonzero(values.is_null().to_numpy(zero_copy_only=False)).tolist())
    try:
        values.cast(field.type)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return [place for place in range(len(values)) if not _casts(values.slice(place, 1), field.type)]
    return []


def _casts(value: pa.Array, kind: pa.DataType) -> bool:
    try:
        value.cast(kind)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return False
    return True


# --- types that are gone ----------------------------------------------------------------------------------


def _of_today(snapshot: Snapshot, catalog: Catalog) -> Snapshot:
    return replace(snapshot, tables=tuple(pin for pin in snapshot.tables if catalog.table(pin.table_key) is not None))


def _keys_beyond(past: Snapshot, kept: tuple[object, ...]) -> list[TableKey]:
    return [pin.table_key for pin in past.tables if pin not in kept]


def _dropped(storage: GraphStorage, key: TableKey, past: Snapshot, base: MergeBase) -> list[MergeConflict]:
    """The rows of a type that was dropped since, unless the other state has the same table."""
    pins = {pin.table_key: pin for pin in past.tables}
    if pins[key] in base.snapshot.tables:
        return []
    side = table_side(storage, pins[key], past)
    ids = [] if side is None else list(islice(_ids(side), CONFLICTS_MAX))
    return [_unfit(key, entity_id, "its type is not in the schema any more") for entity_id in ids]


def _ids(side: TableSide) -> Iterator[str]:
    for batch in side.table.scan(["id"]):
        yield from batch.column("id").to_pylist()


def _unfit(key: TableKey, entity_id: str, why: str) -> MergeConflict:
    return MergeConflict(
        kind="value_constraint_violation",
        entity_kind=key.kind,
        type_name=key.type_name,
        entity_id=entity_id,
        message=f"'{entity_id}' cannot be written: {why}",
    )
