"""A small graph on disk whose tables a test fills directly, and the view that validation has of it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from omnigraph.graph import Graph
from omnigraph.language.schema.catalog import Catalog
from omnigraph.model.identifiers import TableKey
from omnigraph.storage import OneOf, open_storage
from omnigraph.storage.manifest import CommitIdentity, PublishPlan, head_of, publish
from omnigraph.storage.tables import StagedEffect, stage_delete, stage_insert, stage_overwrite, stage_upsert
from omnigraph.storage.tables.columns import table_schema
from omnigraph.write.changes import ChangeSet, TableChange
from omnigraph.write.load.prepare import PreparedLoad, prepare_load
from omnigraph.write.rules.committed_view import CommittedView

Rows = Iterable[Mapping[str, Any]]


class CommittedGraph:
    """Commits change sets without the write path's protocol: one writer, no crash, no sidecar."""

    def __init__(self, path: Path, schema: str) -> None:
        graph = Graph.init(str(path), schema, durability="os")
        self.catalog: Catalog = graph.schema.catalog
        self.storage = open_storage(str(path), durability="os")

    def view(self) -> CommittedView:
        state = self.storage.manifest.load("main").state
        return CommittedView(self.storage, {pin.table_key: pin for pin in state.pins()})

    def rows(self, type_name: str) -> list[dict[str, Any]]:
        """What the table of a type holds, by id."""
        pins = self.storage.manifest.load("main").state.pins()
        pin = next(pin for pin in pins if pin.table_key.type_name == type_name)
        return sorted(self.storage.tables.open(pin).read().to_pylist(), key=lambda row: row["id"])

    def change(self, type_name: str, mode: Any, rows: Rows = (), removed: Iterable[str] = ()) -> TableChange:
        """A change of one type from plain rows; absent properties are NULL."""
        kind = "node" if self.catalog.node(type_name) is not None else "edge"
        key = TableKey(kind, type_name)
        entity = self.catalog.table(key)
        assert entity is not None
        if mode == "delete":
            return TableChange(key, mode, removed=tuple(removed))
        return TableChange(key, mode, pa.Table.from_pylist(list(rows), schema=table_schema(entity)), tuple(removed))

    def changes(self, *changes: TableChange) -> ChangeSet:
        return ChangeSet({change.key: change for change in changes})

    def commit(self, changes: ChangeSet) -> None:
        loaded = self.storage.manifest.load("main")
        pins = {pin.table_key: pin for pin in loaded.state.pins()}
        moved = []
        for change in changes.changes():
            effect = _staged(self.storage.tables.open(pins[change.key]), change)
            if effect is not None:
                moved.append(self.storage.table_commits.commit(effect))
        plan = PublishPlan(changes=tuple(moved), requirements=(head_of(loaded),), identity=CommitIdentity())
        publish(self.storage.manifest, plan)

    def prepare(self, *records: Any, mode: Any = "append", **options: Any) -> PreparedLoad:
        """A load of records given as JSON values, or of lines given as bytes."""
        lines = [each if isinstance(each, bytes) else json.dumps(each).encode() + b"\n" for each in records]
        return prepare_load(
            lines,
            file="in.jsonl",
            catalog=self.catalog,
            mode=mode,
            view=self.view(),
            load_id="load",
            started_ms=1_700_000_000_000,
            **options,
        )

    def load(self, *records: Any, mode: Any = "append", **options: Any) -> PreparedLoad:
        """Prepares a load and commits it, or raises what stands against it."""
        prepared = self.prepare(*records, mode=mode, **options)
        prepared.refuse()
        self.commit(prepared.changes)
        return prepared


def node(type_name: str, **data: Any) -> dict[str, Any]:
    return {"type": type_name, "data": data}


def edge(type_name: str, src: str, dst: str, **data: Any) -> dict[str, Any]:
    return {"edge": type_name, "from": src, "to": dst, "data": data}


def _staged(table: Any, change: TableChange) -> StagedEffect | None:
    match change.mode:
        case "delete":
            return stage_delete(table, OneOf("id", change.removed))[0]
        case "insert":
            return stage_insert(table, change.rows)
        case "upsert":
            return stage_upsert(table, change.rows)
        case "overwrite":
            return stage_overwrite(table, change.rows)
