"""Recovery of a schema apply: its staged schema files and its lock, besides its tables.

An apply writes the new source, IR and state under `.staging` names before it publishes and moves them into place
afterwards. A file counts with its staged content as long as there is one, so a half-finished move is still complete.
"""

from __future__ import annotations

import json
import logging
import time

from omnigraph.model.errors import NotFound, RecoveryRequired, SchemaContractDrift
from omnigraph.model.identifiers import SCHEMA_APPLY_LOCK, TableKey
from omnigraph.storage import (
    MANIFEST,
    SCHEMA_FILES,
    AcceptedSchema,
    ContractFiles,
    GraphStorage,
    Point,
    accept,
    archive,
    reach,
    read_files,
    staged_name,
)
from omnigraph.storage.manifest import ManifestState, TablePin
from omnigraph.storage.objects import ObjectStore
from omnigraph.storage.tables import table_schema
from omnigraph.write.recovery.rules import Observed
from omnigraph.write.recovery.sidecars import Sidecar

LOCK_NOTE = "__schema_apply_lock.json"
"""Beside the lock branch of an apply that holds the graph's lease for as long as it lives."""
_log = logging.getLogger("omnigraph.write")


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


def target_hash(sidecar: Sidecar) -> str | None:
    """The schema that an apply of ours brings; None for one of another program, which does not say."""
    recorded = None if sidecar.identity is None else sidecar.identity.py.get("schema_ir_hash")
    return recorded if isinstance(recorded, str) else None


def is_ready(storage: GraphStorage, sidecar: Sidecar, state: ManifestState, seen: tuple[Observed, ...]) -> bool:
    """True when a roll forward may publish: the new schema is staged, or it is already in place."""
    target = target_hash(sidecar)
    if target is not None:
        found = (staged_schema(storage.objects), live_schema(storage.objects))
        return any(schema is not None and schema.ir_hash == target for schema in found)
    return staged_schema(storage.objects) is not None or _live_is_target(storage, sidecar, state, seen)


def is_published(sidecar: Sidecar, state: ManifestState, seen: tuple[Observed, ...]) -> bool:
    """True when the graph shows every table that the apply adds, moves or hides, as it wanted."""
    if sidecar.identity is not None or (not sidecar.registrations and not sidecar.tombstones):
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
    if target_hash(sidecar) is None:  # ours is kept before it is published
        archive(objects, schema)
    for name in SCHEMA_FILES:
        staged = objects.read(staged_name(name))
        if staged is not None:
            objects.write(name, staged.data)
            objects.delete(staged_name(name))
            reach(Point.SCHEMA_FILE_MOVED)


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
    """Removes a lock of ours that no sidecar explains; one of a program without leases waits for `schema unlock`."""
    if not storage.lineages.exists(MANIFEST, SCHEMA_APPLY_LOCK):
        return False
    note = storage.objects.read(LOCK_NOTE)
    if note is None:
        age_s = time.time() - storage.manifest.ref(SCHEMA_APPLY_LOCK).created_at
        _log.warning("the schema lock is %d s old and says not whose it is; `schema unlock` removes it", age_s)
        return False
    _log.warning("removed the schema lock of a dead schema apply (%s)", _owner_of(note.data))
    return release_lock(storage)


def log_kept_lock(error: Exception) -> None:
    _log.warning("the schema lock stays until somebody writes: %s", error)


def _owner_of(data: bytes) -> str:
    try:
        return str(json.loads(data)["owner"])
    except (ValueError, KeyError, TypeError):
        return "owner unknown"
