"""Recovery of a schema apply: its staged schema files and its lock, besides its tables.

An apply writes the new source, IR and state under `.staging` names before it publishes and moves them into place
afterwards. A file counts with its staged content as long as there is one, so a half-finished move is still complete.
"""

from __future__ import annotations

import json
import logging
import time

from omnigraph.language.schema import compile_schema
from omnigraph.model.errors import NotFound, RecoveryRequired, SchemaContractDrift
from omnigraph.model.identifiers import SCHEMA_APPLY_LOCK, TableKey
from omnigraph.storage import (
    MANIFEST,
    SCHEMA_FILES,
    AcceptedSchema,
    ContractFiles,
    GraphStorage,
    accept,
    archive,
    read_files,
)
from omnigraph.storage.manifest import ManifestState, TablePin
from omnigraph.storage.objects import ObjectStore
from omnigraph.storage.tables import table_schema
from omnigraph.write.recovery.rules import Observed
from omnigraph.write.recovery.sidecars import Sidecar

LOCK_NOTE = "__schema_apply_lock.json"
"""Beside the lock branch of an apply that holds the graph's lease for as long as it lives."""
FOREIGN_LOCK_AGE_S = 600
"""A lock without that note was made by a program that takes no lease; younger than this it may be alive."""
_log = logging.getLogger("omnigraph.write")


def staged_name(name: str) -> str:
    return f"{name}.staging"


def staged_schema(objects: ObjectStore) -> AcceptedSchema | None:
    """The new schema, if it is complete: something is staged, and the three files agree."""
    staged = [objects.read(staged_name(name)) for name in SCHEMA_FILES]
    if not any(staged):
        return None
    live = read_files(objects)
    chosen = [
        new.data if new is not None else old
        for new, old in zip(staged, (live.source, live.ir, live.state), strict=True)
    ]
    return _accepted(ContractFiles(*chosen))


def live_schema(objects: ObjectStore) -> AcceptedSchema | None:
    """The schema in place, or None while its files do not agree."""
    return _accepted(read_files(objects))


def _accepted(files: ContractFiles) -> AcceptedSchema | None:
    try:
        return accept(files)
    except (SchemaContractDrift, NotFound):
        return None  # a half-written set is what a crash leaves; the caller decides what follows


def is_ready(storage: GraphStorage, sidecar: Sidecar, state: ManifestState, seen: tuple[Observed, ...]) -> bool:
    """True when a roll forward may publish: the new schema is staged, or it is already in place."""
    return staged_schema(storage.objects) is not None or _live_is_target(storage, sidecar, state, seen)


def is_published(sidecar: Sidecar, state: ManifestState, seen: tuple[Observed, ...]) -> bool:
    """True when the graph shows every table that the apply adds, moves or hides, as it wanted."""
    if not sidecar.registrations and not sidecar.tombstones:
        return False  # the versions alone tell, or nothing does
    shown = {str(pin.table_key) for pin in state.pins()}
    return (
        all(one.table_key in shown for one in sidecar.registrations)
        and all(state.tombstones.get(one.table_key, 0) >= one.tombstone_version for one in sidecar.tombstones)
        and all(one.manifest > one.pin.expected_version and not one.moved for one in seen)
    )


def _live_is_target(storage: GraphStorage, sidecar: Sidecar, state: ManifestState, seen: tuple[Observed, ...]) -> bool:
    """Another implementation moves the files first and publishes then; a death in between leaves this."""
    live = live_schema(storage.objects)
    if live is None or not (sidecar.tables or sidecar.registrations or sidecar.tombstones):
        return False
    declared = {str(entity.table_key): entity for entity in live.catalog.entities}
    after = {str(pin.table_key) for pin in state.pins()} | {one.table_key for one in sidecar.registrations}
    if set(declared) != after - {one.table_key for one in sidecar.tombstones}:
        return False
    return all(_columns(storage, one) == table_schema(declared[one.pin.table_key]).names for one in seen)


def _columns(storage: GraphStorage, one: Observed) -> list[str]:
    pin = TablePin(TableKey.parse(one.pin.table_key), one.location, one.head, one.pin.table_branch, 0)
    return list(storage.tables.open(pin).schema.names)


def promote(objects: ObjectStore, sidecar: Sidecar) -> None:
    """Moves what is staged into place: source, IR, state. Repeating it after a death continues it."""
    if not any(objects.exists(staged_name(name)) for name in SCHEMA_FILES):
        return
    schema = staged_schema(objects)
    if schema is None:
        raise RecoveryRequired(
            sidecar.operation_id, "the schema change is published, but its staged files do not agree with each other"
        )
    archive(objects, compile_schema(schema.source, strict=False))
    for name in SCHEMA_FILES:
        staged = objects.read(staged_name(name))
        if staged is not None:
            objects.write(name, staged.data)
            objects.delete(staged_name(name))


def discard_staged(objects: ObjectStore) -> None:
    """Before anything is restored: a complete set that survived would turn the next pass into a roll forward."""
    for name in SCHEMA_FILES:
        objects.delete(staged_name(name))


# --- the lock ---------------------------------------------------------------------------------------------


def release_lock(storage: GraphStorage) -> bool:
    """Removes the lock of a dead apply; the caller holds the graph's lease."""
    gone = storage.lineages.delete(MANIFEST, SCHEMA_APPLY_LOCK)
    storage.manifest.forget(SCHEMA_APPLY_LOCK)
    storage.objects.delete(LOCK_NOTE)
    return gone


def release_stale_lock(storage: GraphStorage) -> bool:
    """Removes a lock that no sidecar explains, unless a program without leases may still hold it."""
    if not storage.lineages.exists(MANIFEST, SCHEMA_APPLY_LOCK):
        return False
    note = storage.objects.read(LOCK_NOTE)
    created_at = storage.manifest.ref(SCHEMA_APPLY_LOCK).created_at
    age_s = time.time() - created_at
    if note is None and age_s < FOREIGN_LOCK_AGE_S:
        _log.warning("the schema lock is %d s old and has no sidecar; it is kept for %d s", age_s, FOREIGN_LOCK_AGE_S)
        return False
    _log.warning("removed the schema lock of a dead schema apply (%s)", _owner_of(note.data if note else b"{}"))
    return release_lock(storage)


def _owner_of(data: bytes) -> str:
    try:
        return str(json.loads(data)["owner"])
    except (ValueError, KeyError, TypeError):
        return "owner unknown"
