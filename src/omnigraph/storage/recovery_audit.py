"""The recovery audit: one row per interrupted write that was resolved. A dataset of its own, append-only.

It is created with its first row, so a graph that never needed recovery has none.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any, Literal

import pyarrow as pa

from omnigraph.model.errors import Corrupt, Unreachable
from omnigraph.model.format_version import DATA_STORAGE_VERSION
from omnigraph.model.late_dataclass import dataclass
from omnigraph.storage.files import sync_folder
from omnigraph.storage.graph_storage import GraphStorage
from omnigraph.storage.lance import (
    Dataset,
    Fault,
    LanceDataset,
    classify,
    require_whole,
    sync_version,
    translate,
    translated,
    write_fragments,
)
from omnigraph.storage.layout import RECOVERY_AUDIT

RecoveryKind = Literal["RolledForward", "RolledBack", "OrphanedBranchDiscarded"]
APPEND_TRIES = 5
"""Recoveries of different branches may create the dataset at once: one wins, the others append."""

AUDIT_SCHEMA = pa.schema(
    [
        pa.field("graph_commit_id", pa.string(), nullable=False),
        pa.field("recovery_kind", pa.string(), nullable=False),
        pa.field("recovery_for_actor", pa.string()),
        pa.field("operation_id", pa.string(), nullable=False),
        pa.field("sidecar_writer_kind", pa.string(), nullable=False),
        pa.field("per_table_outcomes_json", pa.string(), nullable=False),
        pa.field("created_at", pa.timestamp("us"), nullable=False),
    ]
)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC).replace(tzinfo=None)


@dataclass(frozen=True, slots=True)
class TableOutcome:
    """What recovery did to one table."""

    table_key: str
    from_version: int
    to_version: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RecoveryRecord:
    """One row of the audit."""

    graph_commit_id: str  # the commit that made the outcome visible
    recovery_kind: RecoveryKind
    recovery_for_actor: str | None
    operation_id: str
    sidecar_writer_kind: str
    outcomes: tuple[TableOutcome, ...]
    created_at: int  # microseconds since the epoch


def recovery_records(storage: GraphStorage) -> list[RecoveryRecord]:
    """Every row, oldest first."""
    dataset = _open(storage)
    if dataset is None:
        return []
    with translated(storage.root.join(RECOVERY_AUDIT)):
        rows = dataset.to_table().to_pylist()
    return sorted((_record_of(row) for row in rows), key=lambda record: (record.created_at, record.operation_id))


def append_record(storage: GraphStorage, record: RecoveryRecord) -> None:
    """Adds a row, durably. The caller has looked that the operation has none of this kind."""
    rows = pa.Table.from_pylist([_row_of(record)], schema=AUDIT_SCHEMA)
    uri, options = storage.root.join(RECOVERY_AUDIT), storage.root.lance_options
    for _ in range(APPEND_TRIES):
        before = _open(storage)
        try:
            transaction = write_fragments(
                rows,
                uri if before is None else before,
                mode="create" if before is None else "append",
                return_transaction=True,
                data_storage_version=DATA_STORAGE_VERSION,
                storage_options=options,
            )
            if storage.root.is_local:
                require_whole(uri, transaction.operation)
            after = LanceDataset.commit(
                uri if before is None else before, transaction, enable_stable_row_ids=True, storage_options=options
            )
        except (OSError, ValueError, RuntimeError) as error:
            if classify(error) in (Fault.CONFLICT, Fault.EXISTS):
                continue
            raise translate(error, uri) from error
        _settle(storage, before, after)
        return
    raise Unreachable(f"the recovery audit '{uri}' moved {APPEND_TRIES} times while a row was added")


def _settle(storage: GraphStorage, before: Dataset | None, after: Dataset) -> None:
    if storage.root.is_local and storage.durability == "full":
        sync_version(before, after)
        if before is None:
            sync_folder(storage.root.join(RECOVERY_AUDIT))
            sync_folder(storage.root.uri)


def _open(storage: GraphStorage) -> Dataset | None:
    try:
        return storage.handles.open_for_change(RECOVERY_AUDIT)
    except (OSError, ValueError, RuntimeError) as error:
        if classify(error) is Fault.MISSING:
            return None
        raise translate(error, storage.root.join(RECOVERY_AUDIT)) from error


# --- codec ------------------------------------------------------------------------------------------------


def _row_of(record: RecoveryRecord) -> dict[str, Any]:
    outcomes = [
        {"table_key": one.table_key, "from_version": one.from_version, "to_version": one.to_version}
        for one in record.outcomes
    ]
    return {
        "graph_commit_id": record.graph_commit_id,
        "recovery_kind": record.recovery_kind,
        "recovery_for_actor": record.recovery_for_actor,
        "operation_id": record.operation_id,
        "sidecar_writer_kind": record.sidecar_writer_kind,
        "per_table_outcomes_json": json.dumps(outcomes, separators=(",", ":"), ensure_ascii=False),
        "created_at": _EPOCH + timedelta(microseconds=record.created_at),
    }


def _record_of(row: dict[str, Any]) -> RecoveryRecord:
    try:
        outcomes = tuple(
            TableOutcome(str(one["table_key"]), int(one["from_version"]), int(one["to_version"]))
            for one in json.loads(row["per_table_outcomes_json"])
        )
        return RecoveryRecord(
            graph_commit_id=row["graph_commit_id"],
            recovery_kind=row["recovery_kind"],
            recovery_for_actor=row["recovery_for_actor"],
            operation_id=row["operation_id"],
            sidecar_writer_kind=row["sidecar_writer_kind"],
            outcomes=outcomes,
            created_at=(row["created_at"] - _EPOCH) // timedelta(microseconds=1),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise Corrupt(RECOVERY_AUDIT, f"a row cannot be read: {error}") from error
