"""Undoing: what a restore and a revert share. Both bring back rows of an earlier commit as one new commit.

What comes back is planned as a merge with the past, written as any other change, and told in the same result.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from html import escape
from typing import Literal

from omnigraph.history.diff import DiffStats
from omnigraph.merge.conflicts import MergeConflict, MergeConflicts
from omnigraph.merge.plan import MergePlan
from omnigraph.merge.run_merge import staged_work
from omnigraph.model.errors import Json
from omnigraph.model.identifiers import MAIN
from omnigraph.model.late_dataclass import dataclass
from omnigraph.storage import AcceptedSchema, GraphStorage
from omnigraph.storage.manifest import GraphCommit
from omnigraph.write import ChangeSet
from omnigraph.write.commit import Prepared, WriteBase, WriteRequest, write, write_base


@dataclass(frozen=True, slots=True, kw_only=True)
class Undo:
    """What a caller says of a restore or a revert besides what is to come back."""

    branch: str = MAIN
    actor_id: str | None = None
    message: str | None = None
    if_commit: str | None = None
    dry_run: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class UndoResult(ABC):
    """What a restore or a revert did. `commit` is None when there was nothing to change, or nothing was to be done."""

    branch: str
    actor_id: str | None
    stats: DiffStats
    """What changed on the branch."""
    commit: GraphCommit | None = None
    dry_run: bool = False
    conflicts: tuple[MergeConflict, ...] = ()
    """Only in a dry run: otherwise they are raised."""
    conflicts_total: int = 0
    resolved: int = 0
    """How many conflicts the caller's options decided."""

    @property
    def commit_id(self) -> str | None:
        return self.commit.commit_id if self.commit is not None else None

    @abstractmethod
    def undone(self) -> dict[str, Json]:
        """What came back, as the members of the JSON object that say so."""

    @abstractmethod
    def done(self) -> str:
        """The same in words."""

    def to_json(self) -> dict[str, Json]:
        return {
            "branch": self.branch,
            **self.undone(),
            "actor_id": self.actor_id,
            "commit": self.commit_id,
            "stats": self.stats.to_json(),
            "conflicts": [each.to_json() for each in self.conflicts],
            "conflicts_total": self.conflicts_total,
            "dry_run": self.dry_run,
        }

    def _repr_html_(self) -> str:
        counts = f"{self.stats.inserts} inserts, {self.stats.updates} updates, {self.stats.deletes} deletes"
        conflicts = f", {self.conflicts_total} conflicts" if self.conflicts_total else ""
        return f"<p><b>{escape(self.branch)}</b> {escape(self.done())}: {counts}{conflicts}</p>"


@dataclass(frozen=True, slots=True, kw_only=True)
class Undoing:
    """A restore or a revert that is ready to be carried out."""

    kind: Literal["restore", "revert"]
    request: Undo
    named: str
    """What comes back, as a refusal names it."""
    plan: Callable[[WriteBase], MergePlan]
    refusal: type[MergeConflicts]
    extra: Mapping[str, Json]
    """What the commit keeps of it."""
    prepares_again: bool = False


def carry_out(
    storage: GraphStorage, schema: Callable[[], AcceptedSchema], work: Undoing
) -> tuple[MergePlan, GraphCommit | None]:
    """Writes what comes back as one commit, or raises and changes nothing. A dry run only plans it."""
    request = work.request
    if request.dry_run:
        return work.plan(write_base(storage, request.branch, schema)), None
    plans: list[MergePlan] = []

    def prepare(base: WriteBase) -> Prepared:
        plan = work.plan(base)
        if plan.conflicts_total:
            raise work.refusal(work.named, request.branch, plan.conflicts, plan.conflicts_total)
        plans.append(plan)
        return Prepared(ChangeSet(works=tuple(staged_work(storage, base.schema.catalog, each) for each in plan.tables)))

    receipt = write(storage, _write_request(work, prepare), schema)
    return plans[-1], receipt.commit


def _write_request(work: Undoing, prepare: Callable[[WriteBase], Prepared]) -> WriteRequest:
    request = work.request
    return WriteRequest(
        branch=request.branch,
        kind=work.kind,
        writer_kind="Mutation",
        prepare=prepare,
        actor_id=request.actor_id,
        message=request.message,
        if_commit=request.if_commit,
        prepares_again=work.prepares_again,
        extra=dict(work.extra),
    )
