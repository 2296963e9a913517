"""Staging: writing the files of a change without moving anything. What comes out is a staged effect, ready to commit.

Nothing staged here is visible to anyone, and nothing refers to the files if the process dies now. One effect moves one
table by exactly one version; the commit is a separate, single-attempt step (`table_commits`).
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterable, Sequence
from typing import Any, Literal, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.model.errors import Internal, KeyConflict, OmniGraphError
from omnigraph.model.format_version import DATA_STORAGE_VERSION
from omnigraph.model.late_dataclass import dataclass
from omnigraph.storage.failpoints import Point, reach
from omnigraph.storage.files import Durability
from omnigraph.storage.lance import (
    Index,
    LanceOperation,
    Transaction,
    files_of_operation,
    sync_operation,
    translated,
    write_fragments,
)
from omnigraph.storage.manifest import TablePin
from omnigraph.storage.objects import ObjectStore
from omnigraph.storage.predicates import Predicate, one_of, to_sql
from omnigraph.storage.root import Root
from omnigraph.storage.tables.key_map import key_maps
from omnigraph.storage.tables.table import Table

UPSERT_BY_INDEX_ROWS_MAX = 300
"""Up to this many rows an upsert looks its ids up; beyond it, joining the whole id column is faster."""
PROBE_CHUNK_KEYS = 8192
"""Keys per look-up of existing ids: one filtered scan each, never one per row."""
PASS_FROM_KEYS = 4 * PROBE_CHUNK_KEYS
"""From so many keys on, one pass over the id column replaces the look-ups."""

Rows: TypeAlias = pa.Table | pa.RecordBatchReader
EffectKind = Literal["append", "insert", "upsert", "overwrite", "delete", "index", "compact", "project", "columns"]


@dataclass(frozen=True, slots=True)
class StagedEffect:
    """A change of one table, on disk and invisible. Picklable: prepared in one process, committed in another."""

    kind: EffectKind
    pin: TablePin
    transaction: Any
    """Lance's own description of the change; opaque outside of this package."""

    @property
    def transaction_id(self) -> str:
        return str(self.transaction.uuid)

    @property
    def commits_as(self) -> int:
        """The version that the table will have."""
        return self.pin.version + 1

    @property
    def rows_appended(self) -> int | None:
        """How many rows the table will have more; None when the effect does more than append."""
        operation = self.transaction.operation
        if not isinstance(operation, LanceOperation.Append):
            return None
        return sum(int(fragment.physical_rows) for fragment in operation.fragments)


def stage_append(table: Table, rows: Rows, storage_options: dict[str, str] | None = None) -> StagedEffect:
    """Rows that the caller has proven to be new."""
    return staged_effect("append", table, _written(table, rows, "append", storage_options))


def stage_insert(table: Table, rows: pa.Table, storage_options: dict[str, str] | None = None) -> StagedEffect:
    """Strict insert: an id that the table has already is a KeyConflict, and nothing is written."""
    taken = existing_ids(table, rows["id"].to_pylist())
    if taken:
        raise KeyConflict(str(table.pin.table_key), min(taken))
    return staged_effect("insert", table, _written(table, rows, "append", storage_options))


def stage_upsert(table: Table, rows: pa.Table, storage_options: dict[str, str] | None = None) -> StagedEffect:
    """Rows replace those of the same id and are added otherwise. The caller passes each id once.

    A few rows are looked up by their ids first: when all of them are new they are simply appended, which is what most
    small writes are. Many rows are joined without the index, which is faster than looking each of them up.
    """
    if rows.num_rows > UPSERT_BY_INDEX_ROWS_MAX:
        return _merged(table, rows, use_index=False)
    try:
        if not existing_ids(table, rows["id"].to_pylist()):
            return staged_effect("upsert", table, _written(table, rows, "append", storage_options))
        return _merged(table, rows, use_index=table.is_indexed("id"))
    except OmniGraphError:
        # A stale index makes Lance report ambiguous matches that are none, and a broken one cannot be read at all.
        return _merged(table, rows, use_index=False)


def _merged(table: Table, rows: pa.Table, *, use_index: bool) -> StagedEffect:
    with translated(table.uri):
        transaction, _ = (
            table.handle.merge_insert("id")
            .when_matched_update_all()
            .when_not_matched_insert_all()
            .conflict_retries(0)
            .use_index(use_index)
            .execute_uncommitted(rows)
        )
    return staged_effect("upsert", table, transaction)


def stage_overwrite(table: Table, rows: Rows, storage_options: dict[str, str] | None = None) -> StagedEffect:
    """The full new content; no rows at all is a legal content."""
    if isinstance(rows, pa.Table) and rows.num_rows == 0:
        operation = LanceOperation.Overwrite(rows.schema, [])
        return staged_effect("overwrite", table, Transaction(table.version, operation))
    return staged_effect("overwrite", table, _written(table, rows, "overwrite", storage_options))


def stage_delete(table: Table, predicate: Predicate, *, use_index: bool = True) -> tuple[StagedEffect | None, int]:
    """Deletion vectors for the rows that match; (None, 0) when none does, so that nothing moves for nothing."""
    addresses = table.read(["_rowaddr"], predicate, use_index=use_index)["_rowaddr"].to_pylist()
    if not addresses:
        return None, 0
    with translated(table.uri):
        operation = _deletion(table, addresses, to_sql(predicate, table.schema))
    return staged_effect("delete", table, Transaction(table.version, operation)), len(addresses)


@dataclass(frozen=True, slots=True)
class IndexSpec:
    """An index to build: the column, Lance's type, the name, and the parameters of that type."""

    column: str
    kind: str
    name: str
    parameters: tuple[tuple[str, Any], ...] = ()


def stage_indexes(table: Table, specs: Sequence[IndexSpec]) -> StagedEffect:
    """Builds indexes over every fragment; all of them become one version. Replaces indexes of the same name."""
    built, replaced = [], []
    with translated(table.uri):
        fragments = [fragment.fragment_id for fragment in table.handle.get_fragments()]
        for spec in specs:
            segment = table.handle.create_index_uncommitted(
                spec.column, spec.kind, name=spec.name, replace=True, fragment_ids=fragments, **dict(spec.parameters)
            )
            if spec.kind == "INVERTED":  # a raw full-text segment is unreadable until it is merged out of staging
                segment = table.handle.merge_existing_index_segments([segment])
            built.append(segment)
            replaced += segments_named(table, spec.name)
        operation = LanceOperation.CreateIndex(built, replaced)
    return staged_effect("index", table, Transaction(table.version, operation))


def existing_ids(table: Table, ids: Iterable[str], *, use_index: bool = True) -> set[str]:
    """Which of these ids the table has."""
    wanted = list(dict.fromkeys(ids))
    if not table.count():
        return set()
    if len(wanted) >= PASS_FROM_KEYS:
        return _among(table, pa.array(wanted, pa.string()))
    known = key_maps().present(table, wanted) if len(wanted) <= PROBE_CHUNK_KEYS else None
    if known is not None:
        return known
    found: set[str] = set()
    for start in range(0, len(wanted), PROBE_CHUNK_KEYS):
        chunk = wanted[start : start + PROBE_CHUNK_KEYS]
        hits = table.read(["id"], one_of("id", chunk), use_index=use_index)
        found.update(hits["id"].to_pylist())
    return found


def _among(table: Table, wanted: pa.Array) -> set[str]:
    """By one pass over the ids, which costs less than very many look-ups."""
    found: set[str] = set()
    for batch in table.scan(["id"], use_index=False):
        ids = batch.column("id")
        found.update(ids.filter(pc.is_in(ids, value_set=wanted)).to_pylist())
    return found


# --- effects whose turn comes later -----------------------------------------------------------------------


def on_newer_version(effect: StagedEffect, table: Table) -> StagedEffect:
    """The same added rows, as a change of this version of the table: what is added does not depend on what is there."""
    if effect.rows_appended is None:
        raise Internal(f"the effect on '{effect.pin.table_key}' does more than add rows")
    if table.pin == effect.pin:
        return effect
    return staged_effect(effect.kind, table, Transaction(table.version, effect.transaction.operation))


def sync_staged(effect: StagedEffect, root: Root, durability: Durability) -> None:
    """Makes the files of an effect durable already now; the commit then has less to wait for."""
    if root.is_local and durability == "full":
        sync_operation(root.join(effect.pin.path), effect.transaction.operation)


def discard(effect: StagedEffect, objects: ObjectStore) -> None:
    """Removes the files of an effect that will never be committed."""
    for path in files_of_operation(effect.transaction.operation) or ():
        whole = f"{effect.pin.path}/{path}"
        if os.path.splitext(path)[1]:
            objects.delete(whole, lasting=False)
        else:
            objects.delete_tree(whole)  # the folder of its large blobs


# --- parts ------------------------------------------------------------------------------------------------


def staged_effect(kind: EffectKind, table: Table, transaction: Any) -> StagedEffect:
    """The effect of a transaction on a table at its pin; the transaction is named once and for all."""
    """An effect of a transaction that Lance described, for the sibling modules of this package."""
    transaction.uuid = str(uuid.uuid4()) if not transaction.uuid else transaction.uuid
    reach(Point.TABLE_STAGED)
    return StagedEffect(kind, table.pin, transaction)


def _written(table: Table, rows: Rows, mode: str, storage_options: dict[str, str] | None) -> Any:
    with translated(table.uri):
        transaction: Any = write_fragments(
            rows,
            table.handle,
            mode=mode,
            return_transaction=True,
            data_storage_version=DATA_STORAGE_VERSION,
            allow_external_blob_outside_bases=True,
            storage_options=storage_options,
        )
    fragments = transaction.operation.fragments
    if isinstance(rows, pa.Table) and rows.num_rows <= UPSERT_BY_INDEX_ROWS_MAX and len(fragments) == 1:
        key_maps().announced.announce(str(fragments[0].files[0]._path), rows["id"].to_pylist())
    return transaction


def _deletion(table: Table, addresses: list[int], sql: str) -> Any:
    by_fragment: dict[int, list[int]] = {}
    for address in addresses:
        by_fragment.setdefault(address >> 32, []).append(address & 0xFFFFFFFF)
    changed, emptied = [], []
    for fragment_id, offsets in by_fragment.items():
        metadata = table.handle.get_fragment(fragment_id).delete_rows(offsets)
        if metadata is None:
            emptied.append(fragment_id)
        else:
            changed.append(metadata)
    return LanceOperation.Delete(changed, emptied, sql)


def segments_named(table: Table, name: str) -> list[Any]:
    """The segments of an index as Lance wants them named when they are to go."""
    return [
        Index(
            uuid=segment.uuid,
            name=index.name,
            fields=list(index.fields),
            dataset_version=segment.dataset_version_at_last_update,
            fragment_ids=segment.fragment_ids,
            index_version=segment.index_version,
        )
        for index in table.handle.describe_indices()
        if index.name == name
        for segment in index.segments
    ]
