"""Replaying: the difference between two snapshots of the source as one commit of the target, which has the first one.

The target belongs to the clone alone, and counts for nothing until the clone is done: so there is no sidecar and no
lease here, only the files of a change, one commit per table, one publish.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np
import pyarrow as pa

from omnigraph.history import Snapshot
from omnigraph.history.diff import Op, TableSide, table_changes
from omnigraph.language.schema import Catalog, EdgeType, NodeType
from omnigraph.model.errors import Corrupt
from omnigraph.model.identifiers import MAIN, TableKey
from omnigraph.model.late_dataclass import dataclass
from omnigraph.pipeline.clone.rows import RowIds, all_rows, some_rows
from omnigraph.storage import GraphStorage, OneOf, Point, reach
from omnigraph.storage.copying import create_table
from omnigraph.storage.manifest import (
    CommitIdentity,
    GraphCommit,
    LoadedManifest,
    PublishPlan,
    TablePin,
    TableRegistration,
    TableTombstone,
    TableVersion,
    publish,
)
from omnigraph.storage.tables import StagedEffect, Table, stage_overwrite, stage_patch, table_schema

LOOK_UP_IDS = 8192
Change = TableRegistration | TableVersion | TableTombstone


@dataclass(frozen=True, slots=True)
class Step:
    """One commit to make again: from a snapshot of the source to another."""

    branch: str
    before: Snapshot
    after: Snapshot
    catalog: Catalog
    """That of the rows after it."""
    identity: CommitIdentity


@dataclass(frozen=True, slots=True)
class Replay:
    """The two graphs, and what the clone made of the source's main."""

    source: GraphStorage
    target: GraphStorage
    shares_main: bool
    """Whether the target's main has the versions of the source's: then a branch may name them as it did there."""
    counted: Callable[[int], None] = lambda _: None
    """Hears of rows that are written."""

    def run(self, step: Step) -> GraphCommit:
        """Makes the commit. A change that changes no row leaves a commit all the same."""
        loaded = self.target.manifest.load(step.branch)
        pins = {pin.table_key: pin for pin in loaded.state.pins()}
        before = {pin.table_key: pin for pin in step.before.tables}
        after = {pin.table_key: pin for pin in step.after.tables}
        changes: list[Change] = []
        for key in sorted(after, key=str):
            if before.get(key) != after[key] or key not in pins:
                changes += self._table(step, loaded, key, pins.get(key))
        for key in sorted(before.keys() - after.keys(), key=str):
            changes.append(TableTombstone(table_key=str(key), table_version=loaded.state.latest_version(str(key))))
        plan = PublishPlan(branch=step.branch, changes=tuple(changes), identity=step.identity)
        published = publish(self.target.manifest, plan)
        reach(Point.CLONE_REPLAYED)
        return published.commit

    def _table(self, step: Step, loaded: LoadedManifest, key: TableKey, pin: TablePin | None) -> Iterator[Change]:
        after = step.after.table(key)
        if self.shares_main and after.lineage is None and step.branch != MAIN:
            if pin is None:
                yield TableRegistration(table_key=str(key), location=after.location)
            yield from self._same_version(loaded, step, key)
            return
        side = TableSide(self.source, after, step.after)
        schema = table_schema(_entity(step.catalog, key))
        if pin is None:
            yield from self._new_table(step, side, schema)
            return
        own = self._own(step.branch, loaded, pin)
        effect = self._effect(step, side, schema, own)
        if effect is not None:
            yield self.target.table_commits.commit(effect, step.identity.commit_id)
        elif own is not pin:
            self.target.lineages.delete(own.location, step.branch)  # no snapshot names it: the next write cuts it again

    def _new_table(self, step: Step, side: TableSide, schema: pa.Schema) -> Iterator[Change]:
        """A type that came later: shown without rows first, as branches that catch up with main show it."""
        key = side.pin.table_key
        yield TableRegistration(table_key=str(key), location=key.location)
        yield create_table(self.target, key, schema, iter(()))
        opened = self.target.tables.open(TablePin(key, key.location, 1, None, 0))
        nothing = np.empty(0, np.uint64)
        effect = stage_patch(opened, self._told(all_rows(side, schema)), nothing, self.target.root.lance_options)
        if effect is not None:
            yield self.target.table_commits.commit(effect, step.identity.commit_id)

    def _same_version(self, loaded: LoadedManifest, step: Step, key: TableKey) -> Iterator[Change]:
        """A branch that reads main's own table: the version is there under the same number."""
        pin = step.after.table(key)
        main = self.target.manifest.load(MAIN).state
        row = main.published.get(f"{key}${pin.version:020d}")
        if row is None or row.table_branch is not None:
            raise Corrupt(
                str(key), f"version {pin.version} of main, which '{step.branch}' reads, was not published there"
            )
        if loaded.state.published.get(row.object_id) != row:
            yield row

    def _own(self, branch: str, loaded: LoadedManifest, pin: TablePin) -> TablePin:
        """The lineage that the branch writes, cut where it was first written."""
        if branch == MAIN or pin.lineage == branch:
            return pin
        self.target.lineages.create(pin.location, branch, pin.lineage, pin.version)
        return replace(pin, lineage=branch, incarnation=loaded.state.incarnation)

    def _effect(self, step: Step, side: TableSide, schema: pa.Schema, pin: TablePin) -> StagedEffect | None:
        opened, options = self.target.tables.open(pin), self.target.root.lance_options
        if not _same_columns(opened, schema):
            rows = pa.RecordBatchReader.from_batches(schema, self._told(all_rows(side, schema)))
            return stage_overwrite(opened, rows, options)
        was = next((each for each in step.before.tables if each.table_key == pin.table_key), None)
        old = None if was is None else TableSide(self.source, was, step.before)
        row_ids, gone = _difference(old, side, opened)
        return stage_patch(opened, self._told(some_rows(side, row_ids, schema)), gone, options)

    def _told(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            self.counted(batch.num_rows)
            yield batch


def _entity(catalog: Catalog, key: TableKey) -> NodeType | EdgeType:
    entity = catalog.table(key)
    if entity is None:
        raise Corrupt(str(key), "the snapshot has a table that its schema does not declare")
    return entity


def _same_columns(table: Table, schema: pa.Schema) -> bool:
    """Names and nullability decide; a blob column shows itself in several types."""
    return [(field.name, field.nullable) for field in table.schema] == [(f.name, f.nullable) for f in schema] and all(
        was.type == now.type or "blob" in str(was.type) + str(now.metadata)
        for was, now in zip(table.schema, schema, strict=True)
    )


def _difference(old: TableSide | None, new: TableSide, target: Table) -> tuple[RowIds, RowIds]:
    """The rows of the source to write, by row id, and those of the target to take away, by address."""
    come: list[RowIds] = [np.empty(0, np.uint64)]
    gone: list[RowIds] = [np.empty(0, np.uint64)]
    for rows in table_changes(old, new):
        kept = pa.array(rows.ops != Op.DELETE)
        come.append(np.asarray(rows.after["_rowid"].filter(kept).to_numpy(), np.uint64))
        removed = rows.ids.filter(pa.array(rows.ops != Op.INSERT))
        for start in range(0, len(removed), LOOK_UP_IDS):
            ids = tuple(removed.slice(start, LOOK_UP_IDS).to_pylist())
            found = np.asarray(target.read(["_rowaddr"], OneOf("id", ids))["_rowaddr"].to_numpy(), np.uint64)
            if len(found) != len(ids):
                raise Corrupt(target.uri, f"{len(ids)} rows were to be replaced, {len(found)} were found")
            gone.append(found)
    return np.concatenate(come), np.concatenate(gone)
