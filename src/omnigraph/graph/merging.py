"""Merging: the methods of `Graph` that join lines of history, bring back what was, and take back what was done."""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnigraph.graph.versions import Versions
from omnigraph.model.identifiers import normalize_branch

if TYPE_CHECKING:
    from omnigraph.merge import MergeEdges, MergeResult, OnConflict, Resolve, RestoreResult, RevertResult


class Merging(Versions):
    """Merge, restore, revert: each is one new commit, and nothing that was is lost."""

    def merge(
        self,
        source: str,
        into: str | None = None,
        *,
        message: str | None = None,
        dry_run: bool = False,
        on_conflict: OnConflict | None = None,
        resolve: Resolve | None = None,
        merge_edges: MergeEdges = "keep",
        delete_branch: bool = False,
    ) -> MergeResult:
        """Brings what `source` changed into another branch (default: this handle's) as one commit with two parents.

        `on_conflict` is "ours", "theirs", or one of them for each kind of conflict; `resolve` decides single entities,
        as a list or by a function. `merge_edges="converge"` makes one of equal edges that both sides added. A `dry_run`
        says what would happen, conflicts included, and changes nothing.

        >>> draft = graph.create_branch("draft")
        >>> draft.mutate('query add() { insert Person { name: "Alan" } }').affected_nodes
        1
        >>> graph.merge("draft", delete_branch=True).outcome
        'fast_forward'

        Raises MergeConflicts, whose `conflicts` carry the base, ours and theirs; BranchNotFound, InvalidResolution,
        NoCommonHistory, OpenedReadOnly, and BadRequest for a merge of a branch into itself.
        """
        from omnigraph.merge import Merge, MergeOptions, delete_source, merge

        target = self._named(into)
        self._allow("branch_merge", branch=normalize_branch(source), target_branch=target)
        request = Merge(
            source=source,
            target=target,
            actor_id=self._actor,
            message=message,
            dry_run=dry_run,
            options=MergeOptions(on_conflict=on_conflict, resolve=resolve, merge_edges=merge_edges),
        )
        result = merge(self._storage, lambda: self._accepted, request)
        if not delete_branch or dry_run:
            return result
        return delete_source(
            self._storage, result, allow=lambda: self._allow("branch_delete", target_branch=normalize_branch(source))
        )

    def restore(
        self, to: str, *, message: str | None = None, if_commit: str | None = None, dry_run: bool = False
    ) -> RestoreResult:
        """Gives this handle's branch the rows of an earlier commit again, as a new commit. History stays.

        `to` is a commit id, a tag, a branch or a time. The schema is today's; rows that do not fit it are refused.

        >>> before = graph.snapshot().commit_id
        >>> graph.mutate('query remove() { delete Person where name = "Ada" }').affected_nodes
        1
        >>> graph.restore(before).stats.inserts
        2

        Raises UnknownReference, RestoreRefused with the rows that break today's schema, PreconditionFailed,
        HistoricalVersionReclaimed and OpenedReadOnly.
        """
        from omnigraph.merge import Restore, restore_branch

        self._allow("change", branch=self._branch)
        request = Restore(
            commit_id=self._readable(to).commit_id,
            branch=self._branch,
            actor_id=self._actor,
            message=message,
            if_commit=if_commit,
            dry_run=dry_run,
        )
        return restore_branch(self._storage, lambda: self._accepted, request)

    def revert(
        self,
        what: str,
        *,
        mainline: int | None = None,
        on_conflict: OnConflict | None = None,
        resolve: Resolve | None = None,
        message: str | None = None,
        if_commit: str | None = None,
        dry_run: bool = False,
    ) -> RevertResult:
        """Takes back what a commit changed, as a new commit. Later changes stay; where they collide it is a conflict.

        `what` is a commit, or `A..B` for everything after A up to B. A merge needs `mainline`: the parent, 1 or 2,
        whose state is to come back. Conflicts are decided as in `merge`.

        >>> done = graph.mutate('query remove() { delete Person where name = "Ada" }')
        >>> graph.revert(done.commit_id).stats.inserts
        2

        Raises CommitNotFound, CannotRevert, RevertConflicts, PreconditionFailed and OpenedReadOnly.
        """
        from omnigraph.merge import MergeOptions, Revert, revert_commits

        self._allow("change", branch=self._branch)
        request = Revert(
            what=what,
            branch=self._branch,
            mainline=mainline,
            actor_id=self._actor,
            message=message,
            if_commit=if_commit,
            dry_run=dry_run,
            options=MergeOptions(on_conflict=on_conflict, resolve=resolve),
        )
        with self._hiding_names():
            return revert_commits(self._storage, lambda: self._accepted, request)
