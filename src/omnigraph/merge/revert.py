"""Reverting: one new commit that takes back what one commit, or a range of them, did. Start at `revert_commits`.

It is a three-way merge: the base is the state after the reverted commit, theirs the state before it, ours the head of
the branch. What was changed again since is a conflict, and is decided as in a merge. The reverted commits stay in the
history; a merge that was reverted stays merged.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pyarrow as pa

from omnigraph.history import UPKEEP_KINDS, KnownCommits, Snapshot, find_commit, resolve, snapshot_at, snapshot_of
from omnigraph.history.diff import compared_tables
from omnigraph.merge.bases import MergeBase
from omnigraph.merge.conflicts import MergeConflicts
from omnigraph.merge.lifted_rows import plan_from_past
from omnigraph.merge.lifting import Lifting
from omnigraph.merge.plan import MergeOptions, MergePlan
from omnigraph.merge.undo import Undo, Undoing, UndoResult, carry_out
from omnigraph.model.errors import BadRequest, Json
from omnigraph.model.identifiers import MAIN, normalize_branch
from omnigraph.model.late_dataclass import dataclass
from omnigraph.storage import AcceptedSchema, GraphStorage
from omnigraph.storage.manifest import GraphCommit
from omnigraph.write.commit import WriteBase

RANGE_MARK = ".."


@dataclass(eq=False)
class CannotRevert(BadRequest):
    """A commit that cannot be reverted, or not in this way. Nothing was changed."""

    commit_id: str
    reason: str
    advice: str | None = None

    def sentence(self) -> str:
        return f"commit {self.commit_id} cannot be reverted: {self.reason}"

    def details(self) -> dict[str, Json]:
        return {"commit_id": self.commit_id, "reason": self.reason}


class RevertConflicts(MergeConflicts):
    """What the commit did was changed again since. Nothing was changed; `conflicts` has it as data.

    `source` is the reverted commit or range ("theirs" is the state before it), `target` the branch ("ours").
    """

    def sentence(self) -> str:
        return f"reverting {self.source} on '{self.target}' has {self.counted()}: {self.first_ones()}"

    @property
    def hint(self) -> str | None:
        if any(each.is_row_conflict for each in self.conflicts):
            return "pass on_conflict (--on-conflict) ours or theirs, or decide single entities with resolve (--resolve)"
        return f"change '{self.target}' so that it follows its schema without these rows, then revert again"


@dataclass(frozen=True, slots=True, kw_only=True)
class Revert(Undo):
    """A revert as a caller asks for it: `what` is a commit, or `A..B` for what came after A up to B."""

    what: str
    mainline: int | None = None
    """For a merge: the parent, 1 or 2, whose state is to come back."""
    options: MergeOptions = MergeOptions()


@dataclass(frozen=True, slots=True, kw_only=True)
class RevertResult(UndoResult):
    """What a revert did. `commit` is None when there was nothing left to take back, or nothing was to be done."""

    reverted: tuple[str, ...]
    """The ids of the commits, newest first."""

    def undone(self) -> dict[str, Json]:
        return {"reverted": list(self.reverted)}

    def done(self) -> str:
        return f"without {self.reverted[0]}" if len(self.reverted) == 1 else f"without {len(self.reverted)} commits"


def revert_commits(storage: GraphStorage, schema: Callable[[], AcceptedSchema], request: Revert) -> RevertResult:
    """Takes back what commits did, as one new commit, or raises and changes nothing.

    Conflicts raise RevertConflicts; a dry run returns them in its result instead.
    """
    request = replace(request, branch=normalize_branch(request.branch))
    span = _span(storage, request)
    work = Undoing(
        kind="revert",
        request=request,
        named=request.what,
        plan=lambda base: _plan(storage, span, base, request.options),
        refusal=RevertConflicts,
        extra={"reverted": list(span.reverted)},
        prepares_again=True,  # on another head it means the same: what these commits did goes
    )
    plan, commit = carry_out(storage, schema, work)
    return RevertResult(
        branch=request.branch,
        reverted=span.reverted,
        actor_id=request.actor_id,
        stats=plan.stats,
        commit=commit,
        dry_run=request.dry_run,
        conflicts=plan.conflicts,
        conflicts_total=plan.conflicts_total,
        resolved=plan.resolved,
    )


def _plan(storage: GraphStorage, span: _Span, base: WriteBase, options: MergeOptions) -> MergePlan:
    merge_base = MergeBase((span.reverted[0],), span.after)
    return plan_from_past(
        storage,
        span.before,
        snapshot_of(base.loaded),
        merge_base,
        base.schema.catalog,
        options,
        Lifting(storage, base.schema).lift,
    )


# --- what is to be reverted -------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Span:
    """Commits that are reverted together, newest first, and the states around them."""

    reverted: tuple[str, ...]
    before: Snapshot
    after: Snapshot


def _span(storage: GraphStorage, request: Revert) -> _Span:
    first, mark, last = request.what.partition(RANGE_MARK)
    commit = resolve(storage, last if mark else first, request.branch).commit
    _require_contained(storage, request.branch, commit)
    if mark:
        _refuse_mainline_of_range(request, commit)
        span = _range(storage, resolve(storage, first, request.branch).commit, commit)
    else:
        parent_id = _parent_of(commit, request.mainline)
        before = snapshot_at(storage, find_commit(storage, parent_id, request.branch))
        span = _Span((commit.commit_id,), before, snapshot_at(storage, commit))
    _refuse_schema_change(storage, span)
    return span


def _require_contained(storage: GraphStorage, branch: str, commit: GraphCommit) -> None:
    loaded = storage.manifest.load(branch)
    head = loaded.state.head
    if commit.commit_id in loaded.state.commits:
        return
    if head is None or not KnownCommits(storage, [loaded]).graph.is_ancestor(commit.commit_id, head.commit_id):
        raise CannotRevert(commit.commit_id, f"it is not in the history of '{branch}'")


def _parent_of(commit: GraphCommit, mainline: int | None) -> str:
    """The parent whose state comes back. Only a merge has a choice, and there it must be made."""
    if commit.parent_id is None:
        raise CannotRevert(commit.commit_id, "it is the first commit of the graph")
    if commit.py.get("kind") in UPKEEP_KINDS:
        raise CannotRevert(commit.commit_id, "it is upkeep and changed no entity")
    if commit.merged_parent_id is None:
        if mainline is not None:
            raise CannotRevert(commit.commit_id, "mainline is given, and it is not a merge")
        return commit.parent_id
    parents = {1: commit.parent_id, 2: commit.merged_parent_id}
    if mainline not in parents:
        choice = "mainline=1 (--mainline 1) takes back what the merge brought, 2 what the branch itself had done"
        raise CannotRevert(commit.commit_id, "it is a merge, and mainline must be 1 or 2", choice)
    return parents[mainline]


def _refuse_mainline_of_range(request: Revert, commit: GraphCommit) -> None:
    if request.mainline not in (None, 1):
        raise CannotRevert(commit.commit_id, "a range follows first parents", "leave mainline out")


def _range(storage: GraphStorage, first: GraphCommit, last: GraphCommit) -> _Span:
    """The commits after `first` up to `last`, along first parents."""
    commits = storage.manifest.load(last.branch or MAIN).state.commits
    reverted: list[str] = []
    commit: GraphCommit | None = last
    while commit is not None and commit.commit_id != first.commit_id:
        reverted.append(commit.commit_id)
        commit = commits.get(commit.parent_id or "")
    if commit is None:
        raise CannotRevert(last.commit_id, f"commit {first.commit_id} is not among its first parents")
    if not reverted:
        raise CannotRevert(last.commit_id, "the range is empty: both ends are the same commit")
    if all(commits[each].py.get("kind") in UPKEEP_KINDS for each in reverted):
        raise CannotRevert(last.commit_id, "the range is upkeep and changed no entity")
    return _Span(tuple(reverted), snapshot_at(storage, first), snapshot_at(storage, last))


def _refuse_schema_change(storage: GraphStorage, span: _Span) -> None:
    """A schema is changed by `schema apply` alone: taking it back is another such change."""
    types = [{pin.table_key for pin in snapshot.tables} for snapshot in (span.before, span.after)]
    ends = [None if each.commit is None else each.commit.py.get("schema_ir_hash") for each in (span.before, span.after)]
    changed = types[0] != types[1] or (None not in ends and ends[0] != ends[1])
    for table in () if changed else compared_tables(storage, span.before, span.after):
        if table.before is not None and table.after is not None:
            changed |= _columns(table.before.table.schema) != _columns(table.after.table.schema)
    if changed:
        raise CannotRevert(span.reverted[0], "it changed the schema", "bring the rows back with restore instead")


def _columns(schema: pa.Schema) -> list[tuple[str, str, bool]]:
    return [(field.name, str(field.type), field.nullable) for field in schema]
