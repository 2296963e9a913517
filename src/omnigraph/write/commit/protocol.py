"""The commit protocol: how a prepared change becomes one graph commit, whole or not at all. Start at `commit`.

  before    outside of any lock: the files of every change are written; nothing refers to them yet
  window    the branch is ours: nothing was left half done, no schema change is under way, the head is the one that was
            read; tables that the branch writes for the first time are forked; every table's newest version is its pin
  phase A   the sidecar says what is about to happen; from here on a crash is resolved by whoever comes next
  phase B   every table is committed once, and its new version must be pin + 1 with our transaction
  phase C   one publish makes all of it visible: now it has happened
  phase D   the sidecar is removed

The lease is looked at before every table commit and before the publish: a writer that lost it does nothing more. A
failure after phase A is resolved before it is reported (`own_failure`): the writer still holds the branch, so it can
finish or take back its own work.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import replace

from omnigraph.model.errors import (
    Corrupt,
    Internal,
    Json,
    OmniGraphError,
    ReadSetChanged,
    SchemaApplyInProgress,
    TableDrift,
)
from omnigraph.model.identifiers import MAIN, SCHEMA_APPLY_LOCK, TableKey, new_ulid
from omnigraph.storage import MANIFEST, GraphStorage, InjectedFault, Point, reach
from omnigraph.storage.leases import HeldLeases
from omnigraph.storage.manifest import CommitIdentity, HeadIs, PublishPlan, TablePin, TableVersion, VersionIs, publish
from omnigraph.storage.tables import StagedEffect
from omnigraph.write.changes import StagedWork, TableChange
from omnigraph.write.commit.branch_queue import window
from omnigraph.write.commit.effects import stage
from omnigraph.write.commit.forks import fork, owns
from omnigraph.write.commit.leftovers import pending_on
from omnigraph.write.commit.own_failure import Intended, moved_on, resolve_own
from omnigraph.write.commit.preconditions import check_if_commit
from omnigraph.write.commit.publish_ahead import publish_ahead
from omnigraph.write.commit.request import Prepared, Receipt, WriteBase, WriteRequest
from omnigraph.write.recovery import NO_HEAD, Sidecar, SidecarPin, delete_sidecar, take_back_late, write_sidecar

_log = logging.getLogger("omnigraph.write")


# --- before, and the window -------------------------------------------------------------------------------


def commit(
    storage: GraphStorage, base: WriteBase, request: WriteRequest, prepared: Prepared, held: HeldLeases | None
) -> Receipt:
    """Commits what was prepared, or raises and leaves nothing. With `held`, the caller has the branch already."""
    pins, moving = base.pins(), prepared.changes.changes()
    own = [change for change in moving if owns(pins[change.key], base.branch)]
    guard = prepared.changes.guard
    staged = _stage_all(storage, own, pins, guard)
    if not staged and len(own) == len(moving) and not _must_publish(request):
        reach(Point.MUTATION_NOTHING)
        if request.if_commit is not None:  # acknowledged only if its condition still holds now
            check_if_commit(storage.manifest.load(request.branch), request)
        return Receipt(None, prepared.counts)
    reach(Point.MUTATION_STAGED)
    with window(storage, base.branch) if held is None else nullcontext(held) as lease:
        _require_unchanged(storage, base, request)
        for change in moving:
            if not owns(pins[change.key], base.branch):
                own_pin = fork(storage, base, pins[change.key], lease.check)
                staged |= _stage_all(storage, [change], {change.key: own_pin}, guard)
        return commit_effects(storage, base, request, prepared, list(staged.values()), lease)


def _stage_all(
    storage: GraphStorage,
    changes: Sequence[TableChange | StagedWork],
    pins: dict[TableKey, TablePin],
    guard: Callable[[], None] | None,
) -> dict[TableKey, StagedEffect]:
    """The files of changes that turn out to move something. What looks like damage is what `guard` says, if it says so:
    files of a staging area that was lost are taken by whoever cleans up."""
    try:
        effects = {change.key: stage(storage, change, pins[change.key]) for change in changes}
    except (Corrupt, Internal):
        if guard is not None:
            guard()
        raise
    return {key: effect for key, effect in effects.items() if effect is not None}


def _must_publish(request: WriteRequest) -> bool:
    """A write that changes nothing leaves no commit, but a load always does, and a key must be remembered."""
    return request.publishes_empty or request.idempotency_key is not None or request.merged_parent_id is not None


def _require_unchanged(storage: GraphStorage, base: WriteBase, request: WriteRequest) -> None:
    """Under the branch's lease: no dead writer's work, no schema change, the same head."""
    pending = pending_on(storage, base.branch)
    if pending:
        raise ReadSetChanged(f"graph_head:{base.branch}", base.head.head_commit_id, pending[0].operation_id)
    if storage.lineages.exists(MANIFEST, SCHEMA_APPLY_LOCK):
        raise SchemaApplyInProgress("writing is unavailable while schema apply is in progress")
    now = storage.manifest.load(base.branch)
    check_if_commit(now, request)
    base.head.check(now)


# --- phases A to D ----------------------------------------------------------------------------------------


def commit_effects(
    storage: GraphStorage,
    base: WriteBase,
    request: WriteRequest,
    prepared: Prepared,
    effects: Sequence[StagedEffect],
    lease: HeldLeases,
) -> Receipt:
    """The phases, by a writer that holds the branch and has seen that the head is the one of `base`."""
    for effect in effects:
        require_head_at_pin(storage, base, effect.pin, lease)
    sidecar = _intent(storage, base, request, prepared, effects)
    plan = _plan(base, sidecar)
    ahead = publish_ahead(
        storage, base.loaded, replace(plan, changes=prepared.adopted), effects
    )  # its files, while the sidecar and the tables are written
    if effects:
        write_sidecar(storage.objects, sidecar)  # phase A
    work = Intended(sidecar, plan, tuple(effects), has_sidecar=bool(effects))
    fence = _fence(lease, prepared.changes.guard)
    try:
        reach(Point.MUTATION_ARMED)
        versions = _commit_tables(storage, work, fence)  # phase B
        plan = replace(plan, changes=(*prepared.adopted, *versions))
        if effects and sidecar.writer_kind == "BranchMerge":
            work = replace(work, sidecar=_confirm(storage, sidecar, versions))
            reach(Point.MERGE_CONFIRMED)
        reach(Point.MUTATION_BEFORE_PUBLISH)
        published = publish(storage.manifest, plan, fence, ahead)  # phase C
    except (OmniGraphError, InjectedFault) as error:
        return Receipt(resolve_own(storage, base, work, lease, error), prepared.counts)
    if effects:
        _remove_sidecar(storage, sidecar)  # phase D
    return Receipt(published.commit, prepared.counts)


def require_head_at_pin(storage: GraphStorage, base: WriteBase, pin: TablePin, lease: HeldLeases) -> None:
    """Nothing lies above the pin. What a writer that lost its lease left there is taken back, and the work prepared
    again on top of that."""
    newest = storage.tables.head_version(pin)
    if newest == pin.version:
        return
    if not take_back_late(storage, base.loaded, pin, lease.check):
        raise TableDrift(
            f"table '{pin.table_key}' is at version {newest} but the graph shows {pin.version}: another program wrote "
            "to it, and it needs repair"
        )
    raise moved_on(storage, base)


def _intent(
    storage: GraphStorage, base: WriteBase, request: WriteRequest, prepared: Prepared, effects: Sequence[StagedEffect]
) -> Sidecar:
    py: dict[str, Json] = {
        "kind": request.kind,
        "schema_ir_hash": (prepared.schema or base.schema).ir_hash,
        "idempotency_key": request.idempotency_key,
        "request_digest": request.request_digest,
        "result": dict(prepared.counts) if request.idempotency_key is not None and prepared.counts else None,
        "message": request.message,
        **request.extra,
    }
    identity = CommitIdentity(
        actor_id=request.actor_id,
        merged_parent_id=request.merged_parent_id,
        py={name: value for name, value in py.items() if value is not None},
    )
    return Sidecar(
        operation_id=new_ulid(),
        started_at=time.time_ns() // 1000,
        branch=None if base.branch == MAIN else base.branch,
        actor_id=request.actor_id,
        writer_kind=request.writer_kind,
        merge_source_commit_id=request.merged_parent_id,
        tables=tuple(sidecar_pin(storage, effect) for effect in effects),
        identity=identity,
        head=HeadIs(base.head.identifier, NO_HEAD) if prepared.adopted else base.head,
    )


def sidecar_pin(storage: GraphStorage, effect: StagedEffect) -> SidecarPin:
    """What a sidecar says of a staged effect."""
    return SidecarPin(
        table_key=str(effect.pin.table_key),
        table_path=storage.root.join(effect.pin.location),
        expected_version=effect.pin.version,
        post_commit_pin=effect.commits_as,
        table_branch=effect.pin.lineage,
        transaction_id=effect.transaction_id,
    )


def _plan(base: WriteBase, sidecar: Sidecar) -> PublishPlan:
    """The publish, all but the versions that the tables will have."""
    assert sidecar.identity is not None, "our own intents name their commit"
    expected = tuple(VersionIs(pin.table_key, pin.expected_version) for pin in sidecar.tables)
    return PublishPlan(branch=base.branch, requirements=(base.head, *expected), identity=sidecar.identity)


def _fence(lease: HeldLeases, guard: Callable[[], None] | None) -> Callable[[], None]:
    """Raises when the branch, or the staging area of the work, is not ours any more."""

    def check() -> None:
        lease.check()
        if guard is not None:
            guard()

    return check


def _commit_tables(storage: GraphStorage, work: Intended, fence: Callable[[], None]) -> tuple[TableVersion, ...]:
    versions = []
    for effect in work.effects:
        fence()
        versions.append(storage.table_commits.commit(effect, work.commit_id))
        reach(Point.MUTATION_TABLE_COMMITTED)
    return tuple(versions)


def _confirm(storage: GraphStorage, sidecar: Sidecar, versions: Sequence[TableVersion]) -> Sidecar:
    """The sidecar of a merge says where its tables came to be: every reader rolls an unconfirmed merge back."""
    reach(Point.MERGE_BEFORE_CONFIRM)
    reached = {version.table_key: version.table_version for version in versions}
    pins = tuple(replace(pin, confirmed_version=reached[pin.table_key]) for pin in sidecar.tables)
    confirmed = replace(sidecar, tables=pins)
    reach(Point.SIDECAR_CONFIRM)
    write_sidecar(storage.objects, confirmed)
    return confirmed


def _remove_sidecar(storage: GraphStorage, sidecar: Sidecar) -> None:
    """The write has happened: a sidecar that cannot be removed now is recognised as done later."""
    try:
        delete_sidecar(storage.objects, sidecar.operation_id, lasting=False)
    except (OmniGraphError, InjectedFault) as error:
        _log.warning("sidecar %s stays behind: %s", sidecar.operation_id, error)
