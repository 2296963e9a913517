"""The first state of a clone without history: a graph that is born with the rows of one snapshot."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import pyarrow as pa

from omnigraph.history import Snapshot
from omnigraph.history.diff import TableSide
from omnigraph.model.errors import Corrupt
from omnigraph.model.identifiers import MAIN, new_ulid
from omnigraph.pipeline.clone.rows import all_rows
from omnigraph.storage import AcceptedSchema, GraphStorage, Point, reach
from omnigraph.storage.copying import create_manifest, create_table
from omnigraph.storage.manifest import GraphCommit, GraphHead, ManifestRow, TableRegistration
from omnigraph.storage.tables import table_schema


def create_from_snapshot(
    source: GraphStorage,
    target: GraphStorage,
    snapshot: Snapshot | None,
    schema: AcceptedSchema,
    *,
    actor_id: str | None,
    counted: Callable[[int], None],
) -> GraphCommit:
    """Every table with its rows in one version, and one commit that shows them. No snapshot means no rows."""
    rows: list[ManifestRow] = []
    pins = {} if snapshot is None else {pin.table_key: pin for pin in snapshot.tables}
    if undeclared := sorted(str(key) for key in pins if schema.catalog.table(key) is None):
        raise Corrupt(source.root.uri, f"tables without a declared type: {', '.join(undeclared)}")
    for entity in schema.catalog.entities:
        key, columns = entity.table_key, table_schema(entity)
        batches: Iterator[pa.RecordBatch] = iter(())
        if snapshot is not None and key in pins:
            batches = _told(all_rows(TableSide(source, pins[key], snapshot), columns), counted)
        rows.append(TableRegistration(table_key=str(key), location=key.location))
        rows.append(create_table(target, key, columns, batches))
        reach(Point.CLONE_TABLE_FILLED)
    commit = _genesis(snapshot, schema, actor_id)
    head = GraphHead(branch=MAIN, head_commit_id=commit.commit_id, parent_commit_id=None)
    create_manifest(target, [*rows, commit, head])
    return commit


def _genesis(snapshot: Snapshot | None, schema: AcceptedSchema, actor_id: str | None) -> GraphCommit:
    cloned = None if snapshot is None else snapshot.commit_id
    return GraphCommit(
        commit_id=new_ulid(),
        branch=None,
        version=1,
        parent_id=None,
        merged_parent_id=None,
        actor_id=actor_id,
        created_at=time.time_ns() // 1000,
        py={"kind": "clone", "schema_ir_hash": schema.ir_hash} | ({} if cloned is None else {"cloned": cloned}),
    )


def _told(batches: Iterator[pa.RecordBatch], counted: Callable[[int], None]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        counted(batch.num_rows)
        yield batch
