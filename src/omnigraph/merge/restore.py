"""Restoring: one new commit after which a branch has the rows of an earlier commit. Start at `restore_branch`.

Nothing is taken back: the rows that differ are written as in any other commit, under the schema of today. Whoever reads
the changes of the branch sees them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from html import escape

from omnigraph.history import Snapshot, find_commit, snapshot_at, snapshot_of
from omnigraph.history.diff import DiffStats
from omnigraph.merge.bases import MergeBase
from omnigraph.merge.conflicts import SHOWN_IN_SENTENCE, MergeConflict, MergeConflicts
from omnigraph.merge.lifted_rows import plan_from_past
from omnigraph.merge.plan import MergePlan
from omnigraph.merge.run_merge import staged_work
from omnigraph.model.errors import Json
from omnigraph.model.identifiers import MAIN, normalize_branch
from omnigraph.model.late_dataclass import dataclass
from omnigraph.storage import AcceptedSchema, GraphStorage
from omnigraph.storage.manifest import GraphCommit
from omnigraph.write import ChangeSet
from omnigraph.write.commit import Prepared, WriteBase, WriteRequest, write


class RestoreRefused(MergeConflicts):
    """Rows of the earlier commit break the schema of today. Nothing was changed; `conflicts` has the rows.

    `source` is the commit, `target` the branch.
    """

    def sentence(self) -> str:
        shown = [f"{each.type_name}: {each.message}" for each in self.conflicts[:SHOWN_IN_SENTENCE]]
        more = f" (and {self.total - len(shown)} more)" if self.total > len(shown) else ""
        return f"'{self.target}' cannot be restored to commit {self.source}: {'; '.join(shown)}{more}"

    @property
    def hint(self) -> str | None:
        return "make a branch from that commit to read these rows, and load those that the schema of today can take"


@dataclass(frozen=True, slots=True, kw_only=True)
class Restore:
    """A restore as a caller asks for it."""

    commit_id: str
    branch: str = MAIN
    actor_id: str | None = None
    message: str | None = None
    if_commit: str | None = None
    dry_run: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class RestoreResult:
    """What a restore did. `commit` is None when the branch had these rows already, or nothing was to be done."""

    branch: str
    restored_commit_id: str
    actor_id: str | None
    stats: DiffStats
    """What changed on the branch."""
    commit: GraphCommit | None = None
    dry_run: bool = False
    conflicts: tuple[MergeConflict, ...] = ()
    """Only in a dry run: otherwise they are raised."""
    conflicts_total: int = 0

    @property
    def commit_id(self) -> str | None:
        return self.commit.commit_id if self.commit is not None else None

    def to_json(self) -> dict[str, Json]:
        return {
            "branch": self.branch,
            "restored_commit_id": self.restored_commit_id,
            "actor_id": self.actor_id,
            "commit": self.commit_id,
            "stats": self.stats.to_json(),
            "conflicts": [each.to_json() for each in self.conflicts],
            "conflicts_total": self.conflicts_total,
            "dry_run": self.dry_run,
        }

    def _repr_html_(self) -> str:
        counts = f"{self.stats.inserts} inserts, {self.stats.updates} updates, {self.stats.deletes} deletes"
        return f"<p><b>{escape(self.branch)}</b> restored to {self.restored_commit_id}: {counts}</p>"


def restore_branch(storage: GraphStorage, schema: Callable[[], AcceptedSchema], request: Restore) -> RestoreResult:
    """Gives a branch the rows of an earlier commit, as one new commit, or raises and changes nothing.

    Another commit on the branch meanwhile is a conflict: a restore would undo it unseen.
    """
    request = replace(request, branch=normalize_branch(request.branch))
    past = snapshot_at(storage, find_commit(storage, request.commit_id, request.branch))
    if request.dry_run:
        plan = _plan(storage, past, WriteBase(request.branch, storage.manifest.load(request.branch), schema()))
        return _result(request, plan, None)
    plans: list[MergePlan] = []

    def prepare(base: WriteBase) -> Prepared:
        plan = _plan(storage, past, base)
        if plan.conflicts_total:
            raise RestoreRefused(request.commit_id, request.branch, plan.conflicts, plan.conflicts_total)
        plans.append(plan)
        return Prepared(ChangeSet(works=tuple(staged_work(storage, base.schema.catalog, each) for each in plan.tables)))

    receipt = write(storage, _write_request(request, prepare), schema)
    return _result(request, plans[-1], receipt.commit)


def _write_request(request: Restore, prepare: Callable[[WriteBase], Prepared]) -> WriteRequest:
    return WriteRequest(
        branch=request.branch,
        kind="restore",
        writer_kind="Mutation",
        prepare=prepare,
        actor_id=request.actor_id,
        message=request.message,
        if_commit=request.if_commit,
        extra={"restored": request.commit_id},
    )


def _plan(storage: GraphStorage, past: Snapshot, base: WriteBase) -> MergePlan:
    """As a merge whose base is the branch itself: whatever differs is taken from the past."""
    target = snapshot_of(base.loaded)
    return plan_from_past(storage, past, target, MergeBase((), target), base.schema.catalog)


def _result(request: Restore, plan: MergePlan, commit: GraphCommit | None) -> RestoreResult:
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
