"""A failure after the sidecar: our own work is finished or taken back by us, and the answer is what became of it.

Only our own commit id says that it happened. What could not be synced is never confirmed: if it is not visible, it is
taken back, and if it is, the answer says that it is not durable.
"""

from __future__ import annotations

from omnigraph.model.errors import (
    BranchNotFound,
    BranchReplaced,
    CommitNotDurable,
    GraphReplaced,
    LeaseLost,
    LeaseTimeout,
    OmniGraphError,
    OutcomeUnknown,
    ReadSetChanged,
    RecoveryRequired,
    SyncFailed,
    sentence_of,
)
from omnigraph.model.late_dataclass import dataclass
from omnigraph.storage import GraphStorage, InjectedFault
from omnigraph.storage.leases import HeldLeases
from omnigraph.storage.manifest import GraphCommit, PublishPlan
from omnigraph.storage.tables import StagedEffect, StaleEffect
from omnigraph.write.commit.request import WriteBase
from omnigraph.write.recovery import Outcome, Resolution, Sidecar, recover_one, resolve


@dataclass(frozen=True, slots=True)
class Intended:
    """A write whose sidecar is written, if it has effects, and whose publish is about to come."""

    sidecar: Sidecar
    plan: PublishPlan
    effects: tuple[StagedEffect, ...]
    has_sidecar: bool = True
    """A write that moves no table has none, but a schema change always has."""

    @property
    def commit_id(self) -> str:
        return self.plan.identity.commit_id


def resolve_own(
    storage: GraphStorage, base: WriteBase, work: Intended, lease: HeldLeases, error: Exception
) -> GraphCommit:
    """The commit, if the work is or can be brought to its end; otherwise nothing is left, and the error is raised."""
    for effect in work.effects:
        storage.handles.forget(effect.pin.path)  # whatever becomes of these versions, their numbers may come again
    try:
        resolution = _resolution(storage, work, lease, error)
    except (GraphReplaced, BranchReplaced, CommitNotDurable):
        raise
    except LeaseTimeout as failed:
        raise OutcomeUnknown(f"commit {work.commit_id}", f"{sentence_of(error)}; {sentence_of(failed)}") from error
    except (OmniGraphError, InjectedFault) as failed:
        reason = f"{sentence_of(error)}; resolving it failed too: {sentence_of(failed)}"
        raise RecoveryRequired(work.sidecar.operation_id, reason) from error
    if resolution.outcome in ("rolled_forward", "already_visible") and resolution.commit is not None:
        return resolution.commit
    if isinstance(error, StaleEffect) or (
        isinstance(error, ReadSetChanged) and error.member.startswith("table_version:")
    ):
        raise moved_on(storage, base) from error  # a late version of another writer was taken back with ours
    raise error


def moved_on(storage: GraphStorage, base: WriteBase) -> ReadSetChanged:
    """The head is another one than the work was prepared for; whether that matters to it is decided by who asks."""
    now = storage.manifest.load(base.branch).state.head
    actual = None if now is None else now.commit_id
    return ReadSetChanged(f"graph_head:{base.branch}", base.head.head_commit_id, actual)


def _resolution(storage: GraphStorage, work: Intended, lease: HeldLeases, error: Exception) -> Resolution:
    """What became of our own work, brought to its end by us if need be."""
    forward = not isinstance(error, SyncFailed)
    if not forward and _published(storage, work) is not None:
        raise CommitNotDurable(work.commit_id, sentence_of(error)) from error
    if work.has_sidecar:
        try:
            lease.check()
            return resolve(storage, work.sidecar, lease.check, forward=forward)
        except LeaseLost:  # another writer has the branch, and has resolved our intent or is about to
            resolution = recover_one(storage, work.sidecar, forward=forward)
            if resolution is not None:
                return resolution
    commit = _published(storage, work)
    outcome: Outcome = "effect_free" if commit is None else "already_visible"
    return Resolution(work.sidecar.operation_id, outcome, commit)


def _published(storage: GraphStorage, work: Intended) -> GraphCommit | None:
    try:
        return storage.manifest.load(work.plan.branch).state.commits.get(work.commit_id)
    except BranchNotFound:
        return None
