"""Rows straight into a table and published, past every rule: for tests that need content, also broken content."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from omnigraph.model.identifiers import TableKey
from omnigraph.storage import GraphStorage, accept, read_files
from omnigraph.storage.manifest import CommitIdentity, PublishPlan, head_of, publish
from omnigraph.storage.tables import stage_append
from omnigraph.storage.tables.columns import table_schema


def append_rows(storage: GraphStorage, key: str, rows: list[dict[str, Any]]) -> None:
    """Appends rows to a table of main; missing properties are null."""
    entity = accept(read_files(storage.objects)).catalog.table(TableKey.parse(key))
    assert entity is not None
    schema = table_schema(entity)
    columns = [_column([row.get(field.name) for row in rows], field.type) for field in schema]
    with storage.leases.hold("main") as lease:
        loaded = storage.manifest.load()
        pin = next(pin for pin in loaded.state.pins() if str(pin.table_key) == key)
        staged = stage_append(storage.tables.open(pin), pa.table(columns, schema=schema))
        change = storage.table_commits.commit(staged)
        lineage = CommitIdentity(py={"kind": "load"})
        plan = PublishPlan(branch="main", changes=(change,), requirements=(head_of(loaded),), identity=lineage)
        publish(storage.manifest, plan, fence=lease.check)


def _column(values: list[Any], kind: pa.DataType) -> pa.Array:
    """Dates are given as the numbers that are stored."""
    if pa.types.is_date(kind):
        return pa.array(values, pa.int32() if pa.types.is_date32(kind) else pa.int64()).cast(kind)
    if pa.types.is_list(kind) and pa.types.is_date(kind.value_type):
        return pa.array(values, pa.list_(pa.int32())).cast(kind)
    return pa.array(values, kind)
