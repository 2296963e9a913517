"""Running a merge: find the base, plan, and commit what was planned as one commit with two parents. Start at `merge`.

The source is captured once, by its head commit; what is written to it later is for the next merge. The target must not
move before the commit: then nothing happens, and the caller may try again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from omnigraph.history import Snapshot, delete_branch, is_later, schema_of, snapshot_of
from omnigraph.history.diff import DiffStats
from omnigraph.language.schema import Catalog
from omnigraph.merge.bases import BaseFinder, MergeBase, NoCommonHistory, Outcome
from omnigraph.merge.conflicts import MergeConflicts
from omnigraph.merge.lifted_rows import with_unfit
from omnigraph.merge.lifting import Lifting
from omnigraph.merge.plan import MergeOptions, MergePlan, TablePlan, changed_ids, plan_merge
from omnigraph.merge.result import MergeResult
from omnigraph.merge.row_writes import whole_rows
from omnigraph.model.errors import (
    BadRequest,
    BranchNotFound,
    BranchReplaced,
    Conflict,
    Corrupt,
    HistoricalVersionReclaimed,
    Json,
    OmniGraphError,
    ReadSetChanged,
    sentence_of,
)
from omnigraph.model.identifiers import MAIN, normalize_branch
from omnigraph.model.late_dataclass import dataclass
from omnigraph.storage import AcceptedSchema, GraphStorage
from omnigraph.storage.manifest import LoadedManifest, TablePin
from omnigraph.storage.tables import (
    StagedEffect,
    Table,
    fragment_states,
    row_addresses,
    shared_fragments,
    stage_patch,
    table_schema,
)
from omnigraph.write import ChangeSet, StagedWork
from omnigraph.write.commit import Prepared, WriteBase, WriteRequest, settle, write, write_base
from omnigraph.write.evolution import catch_up


@dataclass(frozen=True, slots=True, kw_only=True)
class Merge:
    """A merge as a caller asks for it."""

    source: str
    target: str = MAIN
    actor_id: str | None = None
    message: str | None = None
    dry_run: bool = False
    options: MergeOptions = MergeOptions()


def merge(storage: GraphStorage, schema: Callable[[], AcceptedSchema], request: Merge) -> MergeResult:
    """Brings what the source changed into the target, or raises and changes nothing.

    Conflicts raise MergeConflicts; a dry run tells them in its result instead, and writes nothing.
    """
    request = replace(request, source=normalize_branch(request.source), target=normalize_branch(request.target))
    if request.source == request.target:
        raise BadRequest(
            f"cannot merge branch '{request.source}' into itself: a merge requires distinct source and target branches"
        )
    if not request.dry_run:
        storage.require_writable()
        settle(storage, request.source)
    run = _Run(storage, request, storage.manifest.load(request.source))
    if request.dry_run:
        return run.look(write_base(storage, request.target, schema))
    run.bring_up_to_date(schema)
    return run.commit(schema)


def delete_source(storage: GraphStorage, result: MergeResult, *, allow: Callable[[], None]) -> MergeResult:
    """Deletes the branch that was merged, if the caller may: `allow` raises otherwise.

    A refusal leaves the merge as it is, and is told in the result.
    """

    def still_merged(loaded: LoadedManifest) -> None:
        head = loaded.state.head
        if head is None or head.commit_id != result.source_commit_id:
            raise Conflict(f"branch '{result.source}' was written while it was merged", "merge it again")

    try:
        allow()
        delete_branch(storage, result.source, only_if=still_merged)
    except OmniGraphError as error:
        return replace(result, branch_deleted=False, branch_delete_error=sentence_of(error))
    return replace(result, branch_deleted=True)


class _UpToDate(Exception):
    """There is nothing to merge. Never leaves this module."""

    def __init__(self, result: MergeResult) -> None:
        self.result = result


class _Run:
    """One merge of a captured source."""

    def __init__(self, storage: GraphStorage, request: Merge, source: LoadedManifest) -> None:
        self._storage = storage
        self._request = request
        self._source = source
        self._snapshot = snapshot_of(source)
        self._last: MergeResult | None = None

    def commit(self, schema: Callable[[], AcceptedSchema]) -> MergeResult:
        request = self._request
        write_request = WriteRequest(
            branch=request.target,
            kind="merge",
            writer_kind="BranchMerge",
            prepare=self._prepare,
            actor_id=request.actor_id,
            message=request.message,
            merged_parent_id=self._snapshot.commit_id,
            publishes_empty=True,
            extra=_recorded(request.options),
        )
        try:
            receipt = write(self._storage, write_request, schema)
        except _UpToDate as nothing:
            return nothing.result
        assert self._last is not None, "a write prepares before it commits"
        return replace(self._last, commit=receipt.commit)

    def look(self, base: WriteBase) -> MergeResult:
        """What the merge would do."""
        outcome, found = self._base(base.loaded)
        if found is None:
            return self._result(outcome, base, None, None)
        later = self._later(base)
        return self._result(outcome, base, found, self._plan(found, base, later))

    def bring_up_to_date(self, schema: Callable[[], AcceptedSchema]) -> None:
        """A target that has an older schema than the source gets the source's first, unless the merge has conflicts."""
        base = write_base(self._storage, self._request.target, schema)
        later = self._later(base)
        if later is None:
            return
        result = self.look(base)
        if result.conflicts_total:
            ends = (self._request.source, self._request.target)
            raise MergeConflicts(*ends, result.conflicts, result.conflicts_total, None)
        if result.outcome != "already_up_to_date":
            catch_up(self._storage, self._request.target, later, self._request.actor_id)

    def _later(self, base: WriteBase) -> AcceptedSchema | None:
        """The schema of the source, if it is later than that of the target."""
        own = schema_of(self._storage, self._snapshot, base.schema)
        if own.ir_hash == base.schema.ir_hash or not is_later(self._storage, own, base.schema):
            return None
        return own

    def _prepare(self, base: WriteBase) -> Prepared:
        try:
            outcome, found = self._base(base.loaded)
            if found is None:
                raise _UpToDate(self._result(outcome, base, None, None))
            plan = self._plan(found, base)
        except (Corrupt, HistoricalVersionReclaimed):
            self._require_source()
            raise
        if plan.conflicts_total:
            ends = (self._request.source, self._request.target)
            raise MergeConflicts(*ends, plan.conflicts, plan.conflicts_total, found.note)
        self._last = self._result(outcome, base, found, plan)
        works = tuple(staged_work(self._storage, base.schema.catalog, table) for table in plan.tables)
        return Prepared(ChangeSet(works=works, guard=self._require_source))

    def _base(self, target: LoadedManifest) -> tuple[Outcome, MergeBase | None]:
        """The kind of merge and its base; no base when there is nothing to merge."""
        finder = BaseFinder(self._storage, [target, self._source], changed_ids(self._storage))
        theirs, ours = _head(self._snapshot), _head(snapshot_of(target))
        outcome, commit_ids = finder.outcome(theirs, ours)
        if outcome == "already_up_to_date":
            return outcome, None
        if outcome == "fast_forward":
            return outcome, MergeBase(commit_ids, snapshot_of(target), note=finder.note())
        base = finder.base(commit_ids, theirs, ours)
        if base is None:
            raise NoCommonHistory(self._request.source, self._request.target)
        return outcome, base

    def _plan(self, base: MergeBase, target: WriteBase, later: AcceptedSchema | None = None) -> MergePlan:
        schema = later or target.schema
        plan = plan_merge(
            self._storage,
            self._snapshot,
            snapshot_of(target.loaded),
            base,
            schema.catalog,
            self._request.options,
            Lifting(self._storage, schema).lift,
            rules=later is None,
        )
        own = schema_of(self._storage, self._snapshot, schema)
        return plan if own.ir_hash == schema.ir_hash else with_unfit(plan, schema.catalog)

    def _result(
        self, outcome: Outcome, target: WriteBase, base: MergeBase | None, plan: MergePlan | None
    ) -> MergeResult:
        return MergeResult(
            source=self._request.source,
            target=self._request.target,
            outcome=outcome,
            actor_id=self._request.actor_id,
            source_commit_id=_head(self._snapshot),
            target_commit_id=_head(snapshot_of(target.loaded)),
            base_commit_ids=base.commit_ids if base is not None else (),
            dry_run=self._request.dry_run,
            stats=plan.stats if plan is not None else DiffStats(()),
            conflicts=plan.conflicts if plan is not None else (),
            conflicts_total=plan.conflicts_total if plan is not None else 0,
            resolved=plan.resolved if plan is not None else 0,
        )

    def _require_source(self) -> None:
        """Refuses a source that was deleted, or deleted and made again: its commits are not what was captured."""
        try:
            self._storage.manifest.require_still(self._source)
        except (BranchNotFound, BranchReplaced) as error:
            now = "another branch of this name" if isinstance(error, BranchReplaced) else None
            raise ReadSetChanged(f"branch_identifier:{self._request.source}", "the one to be merged", now) from error


def _head(snapshot: Snapshot) -> str:
    if snapshot.commit_id is None:
        raise Corrupt(snapshot.branch, "the branch has no commit")
    return snapshot.commit_id


def _recorded(options: MergeOptions) -> dict[str, Json]:
    """How conflicts were decided, as the commit keeps it."""
    if options.on_conflict is None and options.resolve is None:
        return {}
    by_kind = options.on_conflict
    how: Json = by_kind if isinstance(by_kind, str) else dict(by_kind or {})
    return {"on_conflict": how if how else "resolved"}


# --- staging ----------------------------------------------------------------------------------------------


def staged_work(storage: GraphStorage, catalog: Catalog, table: TablePlan) -> StagedWork:
    """The change of one type: rows stream from where they are into new files of the target's table."""
    entity = catalog.table(table.key)
    assert entity is not None, "checked when the table was planned"
    schema = table_schema(entity)

    def stage(pin: TablePin) -> StagedEffect | None:
        opened = storage.tables.open(pin)
        gone = gone_addresses(table, opened)
        return stage_patch(opened, _all_rows(table, schema), gone, storage.root.lance_options)

    return StagedWork(table.key, stage)


def _all_rows(table: TablePlan, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    for each in table.writes:
        yield from whole_rows(each, schema)


def gone_addresses(table: TablePlan, opened: Table) -> npt.NDArray[np.uint64]:
    """Where the rows lie that are replaced or removed.

    What the target changed was read there. The rest lies where it was in the base, or where a compaction put it.
    """
    row_ids = table.gone_rows
    found = np.zeros(len(row_ids), np.uint64)
    missing = np.arange(len(row_ids))
    elsewhere = {state.number for state in fragment_states(opened)}
    for side in (table.sides.target, table.sides.base):
        if side is not None and len(missing):
            addresses, known = side.places.find(row_ids[missing])
            shared = shared_fragments(side.table, opened)
            known &= np.isin(addresses >> np.uint64(32), list(shared))
            found[missing[known]] = addresses[known]
            missing = missing[~known]
            if side is table.sides.base:
                elsewhere -= shared
    found[missing] = row_addresses(opened, row_ids[missing], elsewhere)
    return found
