"""What a merge returns."""

from __future__ import annotations

from html import escape

from omnigraph.history.diff import DiffStats
from omnigraph.merge.bases import Outcome
from omnigraph.merge.conflicts import MergeConflict
from omnigraph.model.errors import Json
from omnigraph.model.late_dataclass import dataclass
from omnigraph.storage.manifest import GraphCommit


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeResult:
    """The outcome of a merge, or of a dry run. `commit` is None when there was nothing to do, or nothing was done."""

    source: str
    target: str
    outcome: Outcome
    actor_id: str | None
    source_commit_id: str
    target_commit_id: str
    """The head of the target before the merge."""
    base_commit_ids: tuple[str, ...]
    """What both sides last shared; several for branches that merged each other, none when there was nothing to do."""
    stats: DiffStats
    """What the merge changed in the target."""
    commit: GraphCommit | None = None
    dry_run: bool = False
    conflicts: tuple[MergeConflict, ...] = ()
    """Only in a dry run: a merge with conflicts raises them."""
    conflicts_total: int = 0
    resolved: int = 0
    """How many conflicts the caller's options decided."""
    branch_deleted: bool | None = None
    """None when the source was to stay."""
    branch_delete_error: str | None = None

    @property
    def commit_id(self) -> str | None:
        return self.commit.commit_id if self.commit is not None else None

    def to_json(self) -> dict[str, Json]:
        members: dict[str, Json] = {
            "source": self.source,
            "target": self.target,
            "outcome": self.outcome,
            "actor_id": self.actor_id,
        }
        if self.branch_deleted is not None:
            members["branch_deleted"] = self.branch_deleted
        if self.branch_delete_error is not None:
            members["branch_delete_error"] = self.branch_delete_error
        return members | {
            "commit": self.commit_id,
            "stats": self.stats.to_json(),
            "conflicts": [each.to_json() for each in self.conflicts],
            "conflicts_total": self.conflicts_total,
            "dry_run": self.dry_run,
        }

    def _repr_html_(self) -> str:
        words = {"already_up_to_date": "already up to date", "fast_forward": "fast-forward", "merged": "merged"}
        counts = f"{self.stats.inserts} inserts, {self.stats.updates} updates, {self.stats.deletes} deletes"
        ends = f"{escape(self.source)} → {escape(self.target)}"
        conflicts = f", {self.conflicts_total} conflicts" if self.conflicts_total else ""
        return f"<p><b>{ends}</b>: {words[self.outcome]}, {counts}{conflicts}</p>"
