"""Restoring: one new commit after which a branch has the rows of an earlier commit. Start at `restore_branch`.

Nothing is taken back: the rows that differ are written as in any other commit, under the schema of today. Whoever reads
the changes of the branch sees them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from omnigraph.history import Snapshot, find_commit, snapshot_at, snapshot_of
from omnigraph.merge.bases import MergeBase
from omnigraph.merge.conflicts import MergeConflicts
from omnigraph.merge.lifted_rows import plan_from_past
from omnigraph.merge.lifting import Lifting
from omnigraph.merge.plan import MergePlan
from omnigraph.merge.undo import Undo, Undoing, UndoResult, carry_out
from omnigraph.model.errors import Json
from omnigraph.model.identifiers import normalize_branch
from omnigraph.model.late_dataclass import dataclass
from omnigraph.storage import AcceptedSchema, GraphStorage
from omnigraph.write.commit import WriteBase


class RestoreRefused(MergeConflicts):
    """Rows of the earlier commit break the schema of today. Nothing was changed; `conflicts` has the rows.

    `source` is the commit, `target` the branch.
    """

    def sentence(self) -> str:
        return f"'{self.target}' cannot be restored to commit {self.source}: {self.first_ones()}"

    @property
    def hint(self) -> str | None:
        return "make a branch from that commit to read these rows, and load those that the schema of today can take"


@dataclass(frozen=True, slots=True, kw_only=True)
class Restore(Undo):
    """A restore as a caller asks for it."""

    commit_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RestoreResult(UndoResult):
    """What a restore did. `commit` is None when the branch had these rows already, or nothing was to be done."""

    restored_commit_id: str

    def undone(self) -> dict[str, Json]:
        return {"restored_commit_id": self.restored_commit_id}

    def done(self) -> str:
        return f"restored to {self.restored_commit_id}"


def restore_branch(storage: GraphStorage, schema: Callable[[], AcceptedSchema], request: Restore) -> RestoreResult:
    """Gives a branch the rows of an earlier commit, as one new commit, or raises and changes nothing.

    Another commit on the branch meanwhile is a conflict: a restore would undo it unseen.
    """
    request = replace(request, branch=normalize_branch(request.branch))
    past = snapshot_at(storage, find_commit(storage, request.commit_id, request.branch))
    work = Undoing(
        kind="restore",
        request=request,
        named=request.commit_id,
        plan=lambda base: _plan(storage, past, base),
        refusal=RestoreRefused,
        extra={"restored": request.commit_id},
    )
    plan, commit = carry_out(storage, schema, work)
    return RestoreResult(
        branch=request.branch,
        restored_commit_id=request.commit_id,
        actor_id=request.actor_id,
        stats=plan.stats,
        commit=commit,
        dry_run=request.dry_run,
        conflicts=plan.conflicts,
        conflicts_total=plan.conflicts_total,
    )


def _plan(storage: GraphStorage, past: Snapshot, base: WriteBase) -> MergePlan:
    """As a merge whose base is the branch itself: whatever differs is taken from the past."""
    target = snapshot_of(base.loaded)
    return plan_from_past(
        storage, past, target, MergeBase((), target), base.schema.catalog, lift=Lifting(storage, base.schema).lift
    )
