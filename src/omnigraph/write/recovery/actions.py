"""The actions of recovery: forward, back, finish, drop, discard. Each publishes, then records, then removes the file.

Every step can be repeated: a death between two of them is continued by the next pass, which recognises the commit of
the first one by its mark. At most one audit row per operation and kind.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal

from omnigraph.model.errors import BranchHasDependants, Json, RecoveryRequired
from omnigraph.model.identifiers import MAIN
from omnigraph.storage import (
    GraphStorage,
    Point,
    RecoveryKind,
    RecoveryRecord,
    TableOutcome,
    append_record,
    lineage_head,
    reach,
    recovery_records,
    restore_lineage,
    settle_versions,
    version_row,
)
from omnigraph.storage.manifest import (
    Change,
    CommitIdentity,
    GraphCommit,
    PublishPlan,
    Requirement,
    TableRegistration,
    TableTombstone,
    TableVersion,
    VersionIs,
    publish,
)
from omnigraph.write.recovery import schema_apply as recovery_schema
from omnigraph.write.recovery.collecting import collect
from omnigraph.write.recovery.rules import Observed
from omnigraph.write.recovery.sidecars import Sidecar, SidecarPin, delete_sidecar, list_sidecars
from omnigraph.write.recovery.situation import RecoveryMark, Situation, earlier_pass, mark_members, publishing_commit

RECOVERY_ACTOR = "omnigraph:recovery"
Fence = Callable[[], None]
Outcome = Literal["rolled_forward", "rolled_back", "already_visible", "effect_free", "discarded"]
_log = logging.getLogger("omnigraph.write")


@dataclass(frozen=True)
class Resolution:
    """What became of an interrupted write."""

    operation_id: str
    outcome: Outcome
    commit: GraphCommit | None


# --- forward ----------------------------------------------------------------------------------------------


def roll_forward(storage: GraphStorage, situation: Situation, fence: Fence) -> Resolution:
    """Publishes what the writer did: as its own commit if that was minted for this head, else as a recovery's."""
    sidecar = situation.sidecar
    for one in situation.seen:
        settle_versions(storage, one.location, one.pin.table_branch, one.manifest, one.head)
    changes, outcomes = _forward_changes(storage, situation)
    expected: list[Requirement] = [VersionIs(one.pin.table_key, one.pin.expected_version) for one in situation.seen]
    if sidecar.identity is not None and sidecar.head is not None:
        identity = sidecar.identity
        expected.append(sidecar.head)
    else:
        mark = RecoveryMark("RolledForward", outcomes)
        identity = _recovery_identity(storage, sidecar, mark, merged_parent_id=sidecar.merge_source_commit_id)
    reach(Point.ROLL_FORWARD_PUBLISH)
    plan = PublishPlan(branch=sidecar.branch_name, changes=changes, requirements=tuple(expected), identity=identity)
    commit = publish(storage.manifest, plan, fence).commit
    _conclude(storage, sidecar, commit, RecoveryMark("RolledForward", outcomes), fence)
    return Resolution(sidecar.operation_id, "rolled_forward", commit)


def _forward_changes(
    storage: GraphStorage, situation: Situation
) -> tuple[tuple[Change, ...], tuple[TableOutcome, ...]]:
    """Every pin at the version that was found, then the tables that a schema apply adds and hides."""
    sidecar, state = situation.sidecar, situation.state
    changes: list[Change] = []
    outcomes: list[TableOutcome] = []
    for one in situation.seen:
        changes.append(version_row(storage, one.pin.table_key, one.location, one.pin.table_branch, one.head))
        outcomes.append(TableOutcome(one.pin.table_key, one.pin.expected_version, one.head))
    shown = {str(pin.table_key) for pin in state.pins()}
    for added in sidecar.registrations:
        if added.table_key in shown:
            continue
        head = lineage_head(storage, added.table_path, added.table_branch)
        if head is None:
            raise RecoveryRequired(sidecar.operation_id, f"the added table '{added.table_key}' was never created")
        row = version_row(storage, added.table_key, added.table_path, added.table_branch, head)
        changes += [TableRegistration(table_key=added.table_key, location=added.table_path), row]
        outcomes.append(TableOutcome(added.table_key, 0, head))
    for hidden in sidecar.tombstones:
        if state.tombstones.get(hidden.table_key, 0) < hidden.tombstone_version:
            changes.append(TableTombstone(table_key=hidden.table_key, table_version=hidden.tombstone_version))
    return tuple(changes), tuple(outcomes)


# --- back -------------------------------------------------------------------------------------------------


def roll_back(storage: GraphStorage, situation: Situation, fence: Fence) -> Resolution:
    """Puts the published content back on top of every table that moved, and publishes those versions."""
    sidecar = situation.sidecar
    moved = [one for one in situation.seen if one.moved]
    if not moved:
        return drop(storage, situation, fence)
    if sidecar.is_schema_apply:
        recovery_schema.discard_staged(storage.objects)
    outcomes = tuple(TableOutcome(one.pin.table_key, _first_seen_head(one), one.manifest) for one in moved)
    mark = RecoveryMark("RolledBack", outcomes)
    identity = _recovery_identity(storage, sidecar, mark)
    restored = [_restored(storage, one, identity.commit_id, fence) for one in moved]
    _remove_untouched_forks(storage, situation, fence)
    reach(Point.TABLES_RESTORED)
    plan = PublishPlan(
        branch=sidecar.branch_name,
        changes=tuple(restored),
        requirements=tuple(VersionIs(one.pin.table_key, one.manifest) for one in moved),
        identity=identity,
    )
    commit = publish(storage.manifest, plan, fence).commit
    _conclude(storage, sidecar, commit, mark, fence)
    return Resolution(sidecar.operation_id, "rolled_back", commit)


def _restored(storage: GraphStorage, one: Observed, commit_id: str, fence: Fence) -> TableVersion:
    lineage, head = one.pin.table_branch, one.head
    if not one.is_restored:
        fence()  # a restore wins over anything that another holder of the lease might have written meanwhile
        head = restore_lineage(storage, one.location, lineage, one.manifest, head=head, commit_id=commit_id)
    return version_row(storage, one.pin.table_key, one.location, lineage, head)


def _first_seen_head(one: Observed) -> int:
    """The head before any restore of ours."""
    return next((above.version - 1 for above in one.above if above.restores is not None), one.head)


def _remove_untouched_forks(storage: GraphStorage, situation: Situation, fence: Fence) -> None:
    """A fork that this write cut and never wrote to is removed, unless somebody else could be reading it."""
    untouched = [one for one in situation.seen if one.pin.table_branch is not None and not one.moved]
    if not untouched:
        return
    used = _named_lineages(storage, situation.sidecar)
    for one in untouched:
        lineage = one.pin.table_branch
        if lineage is None or (one.pin.table_key, lineage) in used:
            continue
        fence()  # whoever holds the lease by now may have cut a fork of this name
        try:
            storage.lineages.delete(one.location, lineage)
        except BranchHasDependants as error:
            _log.warning("fork '%s' of %s stays behind: %s", lineage, one.location, error)


def _named_lineages(storage: GraphStorage, sidecar: Sidecar) -> set[tuple[str, str]]:
    """The lineages that any commit of a live branch, or another intent, names."""
    named = {
        (row.table_key, row.table_branch)
        for branch in storage.manifest.branches()
        for row in storage.manifest.load(branch).state.published.values()
        if row.table_branch is not None
    }
    others = (one for one in list_sidecars(storage.objects) if one.operation_id != sidecar.operation_id)
    return named | {
        (pin.table_key, pin.table_branch) for one in others for pin in one.tables if pin.table_branch is not None
    }


# --- neither ----------------------------------------------------------------------------------------------


def finish(storage: GraphStorage, situation: Situation, fence: Fence) -> Resolution:
    """The work is visible already: nothing is published, only recorded."""
    sidecar = situation.sidecar
    storage.manifest.settle(situation.loaded)
    commit = publishing_commit(storage, situation)
    if commit is None:
        raise RecoveryRequired(sidecar.operation_id, "its versions are visible, but the branch has no commit")
    outcomes = [TableOutcome(pin.table_key, pin.expected_version, _reached(pin)) for pin in sidecar.tables]
    outcomes += [
        TableOutcome(one.table_key, 0, situation.state.latest_version(one.table_key)) for one in sidecar.registrations
    ]
    _conclude(storage, sidecar, commit, RecoveryMark("RolledForward", tuple(outcomes)), fence)
    return Resolution(sidecar.operation_id, "already_visible", commit)


def _reached(pin: SidecarPin) -> int:
    return pin.post_commit_pin if pin.confirmed_version is None else pin.confirmed_version


def drop(storage: GraphStorage, situation: Situation, fence: Fence) -> Resolution:
    """The write had no effect: there is nothing to tell anyone but that its file is gone."""
    sidecar = situation.sidecar
    _remove_untouched_forks(storage, situation, fence)
    if sidecar.is_schema_apply:
        fence()
        recovery_schema.discard_staged(storage.objects)
        recovery_schema.release_lock(storage)
    delete_sidecar(storage.objects, sidecar.operation_id)
    return Resolution(sidecar.operation_id, "effect_free", None)


def discard(storage: GraphStorage, sidecar: Sidecar, fence: Fence) -> Resolution:
    """The branch is gone and its work with it. One commit without changes keeps the fact; main has it if need be."""
    branch = sidecar.branch_name if sidecar.branch_name in storage.manifest.branches() else MAIN
    earlier = earlier_pass(storage.manifest.load(branch).state, sidecar.operation_id)
    mark = RecoveryMark("OrphanedBranchDiscarded", ())
    if earlier is None:
        plan = PublishPlan(branch=branch, identity=_recovery_identity(storage, sidecar, mark))
        commit = publish(storage.manifest, plan, fence).commit
    else:
        commit = earlier[0]
    reach(Point.ORPHAN_AUDIT)
    _record(storage, sidecar, commit, mark)
    delete_sidecar(storage.objects, sidecar.operation_id)
    return Resolution(sidecar.operation_id, "discarded", commit)


def conclude_earlier(
    storage: GraphStorage, sidecar: Sidecar, commit: GraphCommit, mark: RecoveryMark, fence: Fence
) -> Resolution:
    """Another pass published its outcome and died: record it, remove the file."""
    _conclude(storage, sidecar, commit, mark, fence)
    outcome: Outcome = "rolled_back" if mark.kind == "RolledBack" else "rolled_forward"
    return Resolution(sidecar.operation_id, outcome, commit)


# --- parts ------------------------------------------------------------------------------------------------


def _conclude(storage: GraphStorage, sidecar: Sidecar, commit: GraphCommit, mark: RecoveryMark, fence: Fence) -> None:
    """What follows every publish, in this order: schema files, audit, lock, file."""
    if sidecar.is_schema_apply and mark.kind == "RolledForward":
        recovery_schema.promote(storage.objects, sidecar)
        reach(Point.SCHEMA_COLLECTING)
        collect(storage, sidecar, fence)
    reach(Point.RECORD_AUDIT)
    _record(storage, sidecar, commit, mark)
    if sidecar.is_schema_apply:
        recovery_schema.release_lock(storage)
    delete_sidecar(storage.objects, sidecar.operation_id)


def _record(storage: GraphStorage, sidecar: Sidecar, commit: GraphCommit, mark: RecoveryMark) -> None:
    """One row per operation and kind; a row that is there already is enough."""
    if _has_record(recovery_records(storage), sidecar.operation_id, mark.kind):
        return
    record = RecoveryRecord(
        graph_commit_id=commit.commit_id,
        recovery_kind=mark.kind,
        recovery_for_actor=sidecar.actor_id,
        operation_id=sidecar.operation_id,
        sidecar_writer_kind=sidecar.writer_kind,
        outcomes=mark.outcomes,
        created_at=time.time_ns() // 1000,
    )
    append_record(storage, record)


def _has_record(records: Iterable[RecoveryRecord], operation_id: str, kind: RecoveryKind) -> bool:
    return any(record.operation_id == operation_id and record.recovery_kind == kind for record in records)


def _recovery_identity(
    storage: GraphStorage, sidecar: Sidecar, mark: RecoveryMark, *, merged_parent_id: str | None = None
) -> CommitIdentity:
    """A commit of recovery's own. It names the operation, so that a later pass finds it."""
    py: dict[str, Json] = {"kind": "recovery", "recovery": mark_members(sidecar.operation_id, mark)}
    recorded = _schema_hash(storage, sidecar, mark)
    if recorded is not None:
        py["schema_ir_hash"] = recorded
    return CommitIdentity(actor_id=RECOVERY_ACTOR, merged_parent_id=merged_parent_id, py=py)


def _schema_hash(storage: GraphStorage, sidecar: Sidecar, mark: RecoveryMark) -> str | None:
    """The schema that the branch has after this recovery: the new one of an apply, else that of its head."""
    if sidecar.is_schema_apply:
        staged = recovery_schema.staged_schema(storage.objects) if mark.kind == "RolledForward" else None
        schema = staged or recovery_schema.live_schema(storage.objects)
        return None if schema is None else schema.ir_hash
    branch = sidecar.branch_name if sidecar.branch_name in storage.manifest.branches() else MAIN
    head = storage.manifest.load(branch).state.head
    recorded = None if head is None else head.py.get("schema_ir_hash")
    return recorded if isinstance(recorded, str) else None


def finish_schema_apply(storage: GraphStorage, sidecar: Sidecar, fence: Fence) -> None:
    """What follows the publish of a schema change, by its own writer."""
    recovery_schema.promote(storage.objects, sidecar)
    reach(Point.SCHEMA_COLLECTING)
    collect(storage, sidecar, fence)
    delete_sidecar(storage.objects, sidecar.operation_id)
