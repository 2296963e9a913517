"""Lifted rows: rows of an earlier commit, written under today's schema. Properties are found by name.

Rows that do not fit today's schema are reported one by one: their type was dropped, a required property is missing, or
a value does not fit the type that its property has now.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import islice

import numpy as np
import pyarrow as pa

from omnigraph.history import Snapshot
from omnigraph.language.schema import Catalog
from omnigraph.merge.bases import MergeBase
from omnigraph.merge.conflicts import CONFLICTS_MAX, MergeConflict
from omnigraph.merge.plan import Lift, MergeOptions, MergePlan, TablePlan, plan_merge
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
    lift: Lift = lambda _: None,
) -> MergePlan:
    """The changes that bring `target` from the state of `base` to that of an earlier commit, as far as they differ."""
    past_today, base_today = (_of_today(snapshot, catalog) for snapshot in (past, base.snapshot))
    lost = _conflicts(_rows_of_dropped_types(storage, past, base.snapshot, catalog))
    if lost is not None:
        return MergePlan((), *lost)
    known = replace(base, snapshot=base_today)
    try:
        plan = plan_merge(storage, past_today, target, known, catalog, options, lift)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise Conflict(f"a value of the earlier commit does not fit today's schema: {error}") from error
    return with_unfit(plan, catalog)


def with_unfit(plan: MergePlan, catalog: Catalog) -> MergePlan:
    """The plan with the rows that the schema does not take as conflicts, unless it has others."""
    if plan.conflicts_total:
        return plan
    unfit = _conflicts(conflict for table in plan.tables for conflict in unfit_rows(catalog, table))
    return plan if unfit is None else replace(plan, conflicts=unfit[0], conflicts_total=unfit[1])


def _conflicts(found: Iterator[MergeConflict]) -> tuple[tuple[MergeConflict, ...], int] | None:
    """The first ones, and how many there are; None when there are none."""
    first = tuple(islice(found, CONFLICTS_MAX))
    return (first, len(first) + sum(1 for _ in found)) if first else None


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
    own = writes.side.schema
    if field.name not in own.names:
        if not field.nullable:
            for entity_id in writes.ids.to_pylist():
                yield _unfit(key, entity_id, f"it has no value for '{field.name}', which is required now")
        return
    was = own.field(field.name)
    if field.name in writes.side.blobs or (was.type == field.type and (field.nullable or not was.nullable)):
        return
    for start in range(0, len(writes.rows), CHECK_ROWS):
        values = writes.side.take(writes.rows[start : start + CHECK_ROWS], [field.name])[field.name].combine_chunks()
        for place in _unfit_places(values, field):
            why = f"the value of '{field.name}' does not fit the type that it has now"
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


def _rows_of_dropped_types(
    storage: GraphStorage, past: Snapshot, base: Snapshot, catalog: Catalog
) -> Iterator[MergeConflict]:
    """The rows whose type was dropped since. Tables that the base has too would not be written."""
    for pin in past.tables:
        if catalog.table(pin.table_key) is None and pin not in base.tables:
            for batch in storage.tables.open(pin).scan(["id"]):
                for entity_id in batch.column("id").to_pylist():
                    yield _unfit(pin.table_key, entity_id, "its type is not in the schema any more")


def _unfit(key: TableKey, entity_id: str, why: str) -> MergeConflict:
    return MergeConflict(
        kind="value_constraint_violation",
        entity_kind=key.kind,
        type_name=key.type_name,
        entity_id=entity_id,
        message=f"'{entity_id}' cannot be written: {why}",
    )
