"""Recovery: brings an interrupted write to "fully applied" or "not applied". Start at `resolve`.

Promises  1. Afterwards the newest version of every table that a sidecar named is the published one.
          2. Running it twice equals running it once, wherever the first run died.
          3. It never adopts and never covers a commit that is provably not the writer's; then the file stays.
          4. It holds the lease of the sidecar's branch, so the writer is dead or is the caller itself.
"""

from __future__ import annotations

import logging
import time
from contextlib import ExitStack

from omnigraph.model.errors import (
    Corrupt,
    ExpectedVersionMismatch,
    LeaseTimeout,
    ReadSetChanged,
    RecoveryRequired,
    SchemaApplyInProgress,
)
from omnigraph.model.identifiers import MAIN, SCHEMA_APPLY_LOCK, new_ulid
from omnigraph.storage import (
    MANIFEST,
    GraphStorage,
    RecoveryRecord,
    lineage_versions,
    recovery_records,
    remove_torn_version,
)
from omnigraph.storage.manifest import CommitIdentity, HeadIs, LoadedManifest, TablePin
from omnigraph.write.recovery.actions import (
    Fence,
    Resolution,
    conclude_earlier,
    discard,
    drop,
    finish,
    roll_back,
    roll_forward,
)
from omnigraph.write.recovery.rules import Decision, PinState, decide
from omnigraph.write.recovery.schema_apply import release_stale_lock
from omnigraph.write.recovery.sidecars import Sidecar, SidecarPin, list_sidecars, read_sidecar, write_sidecar
from omnigraph.write.recovery.situation import (
    Situation,
    abandoned_among,
    earlier_pass,
    is_orphan,
    lineages_of,
    look,
)

__all__ = ["RecoveryRecord", "Resolution", "pending", "recover_branch", "recover_graph", "recoveries", "resolve"]

LOOKS_MAX = 4
"""How often recovery looks again when something was published between its look and its publish."""
LEASE_WAIT_S = 20.0
"""Longer than the lease of a dead writer on an object store lasts; whoever holds it after that is alive."""
NO_HEAD = "none"
"""A head that no branch ever has: an intent that names it is always taken back."""
_log = logging.getLogger("omnigraph.write")


class RecoveryContended(RecoveryRequired):
    """Something kept publishing while recovery looked. Nothing is lost: the file stays for the next pass."""


def pending(storage: GraphStorage) -> list[Sidecar]:
    """The intents that are not resolved yet; also those of writers that live."""
    return list_sidecars(storage.objects)


def recoveries(storage: GraphStorage) -> list[RecoveryRecord]:
    """What recovery has done to this graph so far, oldest first."""
    return recovery_records(storage)


# --- one write --------------------------------------------------------------------------------------------


def resolve(storage: GraphStorage, sidecar: Sidecar, fence: Fence, *, forward: bool = True) -> Resolution:
    """Brings one write to its end. The caller holds the lease of its branch, for a branch that is gone main's too,
    and for a schema apply the graph's; `fence` raises when it no longer does.

    Without `forward` a write that is complete and not visible is taken back too: its files could not be synced.
    """
    for _ in range(LOOKS_MAX):
        try:
            resolution = _resolve(storage, sidecar, fence, forward)
        except (ExpectedVersionMismatch, ReadSetChanged) as error:
            _log.info("recovery of %s looks again: %s", sidecar.operation_id, error)
            continue
        _log.info("operation %s of %s: %s", sidecar.operation_id, sidecar.branch_name, resolution.outcome)
        return resolution
    raise RecoveryContended(sidecar.operation_id, "another program publishes without taking the lease")


def _resolve(storage: GraphStorage, sidecar: Sidecar, fence: Fence, forward: bool) -> Resolution:
    if is_orphan(storage, sidecar):
        return discard(storage, sidecar, fence)
    situation = _look_past_torn(storage, sidecar, fence)
    fence()
    earlier = earlier_pass(situation.state, sidecar.operation_id)
    if earlier is not None:
        return conclude_earlier(storage, sidecar, *earlier, fence)
    match decide(situation.states, situation.seen, situation.verdicts):
        case Decision.FINISH:
            return finish(storage, situation, fence)
        case Decision.DROP:
            return drop(storage, situation, fence)
        case Decision.ROLL_FORWARD if forward:
            return roll_forward(storage, situation, fence)
        case Decision.ROLL_FORWARD | Decision.ROLL_BACK:
            return roll_back(storage, situation, fence)
        case Decision.ABORT:
            raise RecoveryRequired(sidecar.operation_id, _why_not(situation))


def _look_past_torn(storage: GraphStorage, sidecar: Sidecar, fence: Fence) -> Situation:
    """The situation; what a power cut tore in the middle of this write was never confirmed, and goes first."""
    try:
        return look(storage, sidecar)
    except Corrupt:
        fence()
        torn = [
            (location, version)
            for location, lineage in lineages_of(storage, sidecar)
            if (version := remove_torn_version(storage, location, lineage)) is not None
        ]
        if not torn:
            raise
        for location, version in torn:
            _log.warning(
                "%s: version %d was torn by a power cut, was never confirmed, and is removed", location, version
            )
        return look(storage, sidecar)


def _why_not(situation: Situation) -> str:
    for one, state in zip(situation.seen, situation.states, strict=True):
        shown = f"table '{one.pin.table_key}' is at version {one.head}, the graph shows {one.manifest}"
        if state is PinState.INVARIANT_VIOLATION:
            return f"{shown}: versions of the table are missing"
        if state is PinState.FOREIGN_COMMIT:
            return f"{shown}, and a version in between was not made by this write; nothing was changed"
    raise AssertionError("only these two states abort")


def is_late(storage: GraphStorage, loaded: LoadedManifest, pin: TablePin) -> bool:
    """True when every version above the pin was made for a graph commit that never came, or restores the pin."""
    head = storage.tables.head_version(pin)
    above = lineage_versions(storage, pin.location, pin.lineage, pin.version + 1, head)
    abandoned = abandoned_among(above, loaded.state)
    return bool(above) and all(each.version in abandoned or each.restores == pin.version for each in above)


def take_back_late(storage: GraphStorage, loaded: LoadedManifest, pin: TablePin, fence: Fence) -> bool:
    """Takes back versions of a table that landed after their writer had lost its lease and its sidecar was resolved.

    True when every version above the pin is explained by a graph commit that never came: then the published content is
    on top again. The intent is written down again for that, for a head that never was, so that a death in between is
    resolved in the same way. The caller holds the branch's lease.
    """
    if not is_late(storage, loaded, pin):
        return False
    (first,) = lineage_versions(storage, pin.location, pin.lineage, pin.version + 1, pin.version + 1)
    intent = SidecarPin(
        table_key=str(pin.table_key),
        table_path=storage.root.join(pin.location),
        expected_version=pin.version,
        post_commit_pin=pin.version + 1,
        table_branch=pin.lineage,
        transaction_id=first.transaction_id,
    )
    sidecar = Sidecar(
        operation_id=new_ulid(),
        started_at=time.time_ns() // 1000,
        branch=None if loaded.branch == MAIN else loaded.branch,
        actor_id=None,
        writer_kind="Mutation",
        tables=(intent,),
        identity=CommitIdentity(),
        head=HeadIs(loaded.identifier, NO_HEAD),
    )
    write_sidecar(storage.objects, sidecar)
    _log.warning("table '%s': versions above %d belong to no commit and are taken back", pin.table_key, pin.version)
    resolve(storage, sidecar, fence)
    return True


# --- many writes ------------------------------------------------------------------------------------------


def recover_branch(storage: GraphStorage, branch: str, fence: Fence, *, sidecars: list[Sidecar]) -> list[Resolution]:
    """Resolves what a writer of this branch must not step over; the caller holds the branch's lease.

    That is every intent of the branch and every schema apply; on main also those of branches that are gone.
    """
    resolved = []
    for listed in sidecars:
        with ExitStack() as stack:
            check = _right_to_resolve(storage, branch, listed, fence, stack)
            sidecar = read_sidecar(storage.objects, listed.operation_id)
            if check is not None and sidecar is not None:
                resolved.append(resolve(storage, sidecar, check))
    return resolved


def _right_to_resolve(
    storage: GraphStorage, branch: str, sidecar: Sidecar, fence: Fence, stack: ExitStack
) -> Fence | None:
    """The fence of every lease that a sidecar needs; None for one that is no business of this branch.

    Never waits for a lease: the caller holds one already, and the other side may wait for that.
    """
    if sidecar.is_schema_apply:
        others = () if branch == MAIN else (MAIN,)
        try:
            more = stack.enter_context(storage.leases.hold(*others, graph=True, wait_s=0))
        except LeaseTimeout as error:
            raise SchemaApplyInProgress("writing is unavailable while schema apply is in progress") from error
        return _both(fence, more.check)
    if sidecar.branch_name == branch:
        return fence
    if branch == MAIN and not _exists(storage, sidecar.branch_name):
        try:
            more = stack.enter_context(storage.leases.hold(sidecar.branch_name, wait_s=0))
        except LeaseTimeout:
            return None  # somebody is busy with that name, and will meet the file
        return _both(fence, more.check)
    return None


def _both(one: Fence, other: Fence) -> Fence:
    def check() -> None:
        one()
        other()

    return check


def _exists(storage: GraphStorage, branch: str) -> bool:
    return branch == MAIN or storage.lineages.exists(MANIFEST, branch)


def recover_graph(storage: GraphStorage) -> list[Resolution]:
    """Resolves everything that dead writers left, oldest first. An intent whose writer lives is left to it."""
    storage.require_writable()
    resolved = []
    for listed in list_sidecars(storage.objects):
        try:
            resolution = recover_one(storage, listed)
        except LeaseTimeout:
            _log.info("operation %s is left to its writer, who lives", listed.operation_id)
        except RecoveryContended as error:
            _log.warning("%s", error)
        else:
            resolved += [resolution] if resolution is not None else []
    if storage.lineages.exists(MANIFEST, SCHEMA_APPLY_LOCK):
        release_dead_lock(storage)
    return resolved


def recover_one(storage: GraphStorage, listed: Sidecar, *, forward: bool = True) -> Resolution | None:
    """Takes the leases, then reads the file again: while we waited, its writer may have finished."""
    branch = listed.branch_name
    while True:
        gone = not _exists(storage, branch)
        names = (branch, MAIN) if gone else (branch,)
        is_schema = listed.is_schema_apply
        with storage.leases.hold(*names, graph=is_schema, wait_s=LEASE_WAIT_S, of_the_dead=True) as lease:
            if gone != (not _exists(storage, branch)):
                continue  # the branch went or came while we waited
            sidecar = read_sidecar(storage.objects, listed.operation_id)
            return None if sidecar is None else resolve(storage, sidecar, lease.check, forward=forward)


def release_dead_lock(storage: GraphStorage) -> None:
    """A schema apply of ours holds the graph's lease as long as it lives."""
    try:
        with storage.leases.hold(graph=True, wait_s=0):
            if not any(sidecar.is_schema_apply for sidecar in list_sidecars(storage.objects)):
                release_stale_lock(storage)
    except LeaseTimeout:
        _log.info("the schema lock is left to its schema apply, which lives")
