"""Publish: the one write that makes a graph commit visible. All rows of the commit in one compare-and-swap.

A plan lists its changes and its requirements as values. Every attempt reloads the manifest, checks every requirement
against what it loaded, builds the rows from the same state, and commits exactly on top of it. Only a lost
compare-and-swap is retried; a stale plan is never re-parented.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import field
from typing import NoReturn

from omnigraph.model.errors import (
    Conflict,
    ExpectedVersionMismatch,
    Internal,
    Json,
    NotFound,
    ReadSetChanged,
    RowLevelCasContention,
)
from omnigraph.model.identifiers import MAIN, new_ulid
from omnigraph.model.late_dataclass import dataclass
from omnigraph.storage.failpoints import Point, reach
from omnigraph.storage.manifest.rows import (
    GraphCommit,
    GraphHead,
    ManifestRow,
    TableRegistration,
    TableTombstone,
    TableVersion,
)
from omnigraph.storage.manifest.state import BranchIdentifier, ManifestState
from omnigraph.storage.manifest.store import CommitLost, LoadedManifest, ManifestStore, StagedRows

PUBLISHER_RETRY_BUDGET = 5
"""Retries after the first attempt. Ours, because Lance's own retries would skip the checks."""

Change = TableRegistration | TableVersion | TableTombstone


@dataclass(frozen=True, slots=True)
class HeadIs:
    """Requires the exact authority that the caller read: this incarnation of the branch, this head row or none."""

    identifier: BranchIdentifier
    head_commit_id: str | None

    def check(self, loaded: LoadedManifest) -> None:
        if loaded.identifier != self.identifier:
            raise ReadSetChanged(f"branch_identifier:{loaded.branch}", str(self.identifier), str(loaded.identifier))
        row = loaded.state.heads.get(loaded.branch)
        actual = row.head_commit_id if row is not None else None
        if actual != self.head_commit_id:
            raise ReadSetChanged(f"graph_head:{loaded.branch}", self.head_commit_id, actual)


@dataclass(frozen=True, slots=True)
class VersionIs:
    """Requires that the latest visible version of a table is still the one that the caller read."""

    table_key: str
    version: int

    def check(self, loaded: LoadedManifest) -> None:
        actual = loaded.state.latest_version(self.table_key)
        if actual != self.version:
            raise ExpectedVersionMismatch(self.table_key, self.version, actual)


Requirement = HeadIs | VersionIs


def head_of(loaded: LoadedManifest) -> HeadIs:
    """The requirement that nothing was published since `loaded`."""
    row = loaded.state.heads.get(loaded.branch)
    return HeadIs(loaded.identifier, row.head_commit_id if row is not None else None)


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitIdentity:
    """What a graph commit is born with. Minted once, before any effect; only the parent is found at publish."""

    commit_id: str = field(default_factory=new_ulid)
    created_at: int = field(default_factory=lambda: time.time_ns() // 1000)
    actor_id: str | None = None
    merged_parent_id: str | None = None
    py: dict[str, Json] = field(default_factory=dict, hash=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishPlan:
    """One graph commit, ready to be published."""

    branch: str = MAIN
    changes: tuple[Change, ...] = ()
    requirements: tuple[Requirement, ...] = ()
    identity: CommitIdentity


@dataclass(frozen=True, slots=True)
class Published:
    """A commit that is visible."""

    commit: GraphCommit
    manifest: LoadedManifest


def stage_publish(store: ManifestStore, plan: PublishPlan, loaded: LoadedManifest) -> StagedRows | None:
    """Writes the files of a publish that will probably be made on `loaded`, ahead of it. Nothing becomes visible."""
    if store.needs_compaction(loaded):
        return None  # the publish will be made on another base
    return store.stage(loaded, rows_of(plan, loaded)[1])


def publish(
    store: ManifestStore,
    plan: PublishPlan,
    fence: Callable[[], None] = lambda: None,
    staged: Callable[[], StagedRows | None] = lambda: None,
) -> Published:
    """Publishes a plan, or raises and publishes nothing. `fence` must raise when the caller lost its lease.

    `staged` gives what `stage_publish` wrote; it is used only if it is exactly what this publish would write.
    """
    for _attempt in range(1 + PUBLISHER_RETRY_BUDGET):
        loaded = store.load(plan.branch)
        reach(Point.PUBLISH_LOADED)
        for requirement in plan.requirements:
            requirement.check(loaded)
        if store.needs_compaction(loaded):
            loaded = store.compact(loaded)
        commit, rows = rows_of(plan, loaded)
        fence()
        reach(Point.PUBLISH_BEFORE)
        try:
            published = store.commit(loaded, rows, staged())
        except CommitLost:
            continue
        reach(Point.PUBLISH_AFTER)
        return Published(commit, published)
    raise RowLevelCasContention(plan.branch, 1 + PUBLISHER_RETRY_BUDGET)


def rows_of(plan: PublishPlan, loaded: LoadedManifest) -> tuple[GraphCommit, list[ManifestRow]]:
    """Everything that a plan writes on top of a loaded manifest: its changes, the commit, the moved head."""
    commit = _commit_row(plan, loaded)
    return commit, [*changed_rows(plan.changes, loaded.state), commit, _head_row(plan, loaded, commit)]


def _commit_row(plan: PublishPlan, loaded: LoadedManifest) -> GraphCommit:
    identity, head = plan.identity, loaded.state.head
    return GraphCommit(
        commit_id=identity.commit_id,
        branch=None if plan.branch == MAIN else plan.branch,
        version=loaded.version + 1,
        parent_id=head.commit_id if head is not None else None,
        merged_parent_id=identity.merged_parent_id,
        actor_id=identity.actor_id,
        created_at=identity.created_at,
        py=identity.py,
    )


def _head_row(plan: PublishPlan, loaded: LoadedManifest, commit: GraphCommit) -> GraphHead:
    before = loaded.state.heads.get(plan.branch)
    extra = before.extra if before is not None else {}
    return GraphHead(
        branch=plan.branch, head_commit_id=commit.commit_id, parent_commit_id=commit.parent_id, extra=extra
    )


# --- the rules of rows, pure ------------------------------------------------------------------------------


def changed_rows(changes: tuple[Change, ...], state: ManifestState) -> list[ManifestRow]:
    """The rows that a plan writes on top of a state; refuses what would be wrong or invisible."""
    registered = dict(state.locations)
    for change in changes:
        if isinstance(change, TableRegistration):
            _check_registration(change, registered)
            registered[change.table_key] = change.location
    rows: list[ManifestRow] = []
    seen: set[str] = set()
    for change in changes:
        if change.table_key not in registered:
            raise NotFound(f"table '{change.table_key}' is not registered")
        if change.object_id in seen:
            raise Conflict(f"'{change.object_id}' occurs twice in one publish")
        seen.add(change.object_id)
        if _writes(change, state):
            rows.append(change)
    return rows


def _check_registration(change: TableRegistration, registered: dict[str, str]) -> None:
    known = registered.get(change.table_key)
    if known is not None and known != change.location:
        raise Conflict(f"table '{change.table_key}' is registered at '{known}', not at '{change.location}'")


def _writes(change: Change, state: ManifestState) -> bool:
    """False for a change that is already there, field for field."""
    match change:
        case TableRegistration():
            return state.locations.get(change.table_key) != change.location
        case TableTombstone():
            if state.tombstones.get(change.table_key) == change.table_version:
                raise Conflict(f"'{change.object_id}' is already published")
            return True
        case TableVersion():
            return _writes_version(change, state)


def _writes_version(change: TableVersion, state: ManifestState) -> bool:
    existing = state.published.get(change.object_id)
    if existing is not None:
        if existing == change:
            return False
        if existing.row_count == change.row_count and existing.table_branch != change.table_branch:
            return True  # owner handoff: the same content, now read from another lineage
        raise Conflict(f"table version '{change.object_id}' is already published with other content")
    newest = state.newest.get(change.table_key)
    floor = max(newest.table_version if newest else 0, state.tombstones.get(change.table_key, 0))
    if change.table_version <= floor:
        _refuse_hidden(change, floor)
    return True


def _refuse_hidden(change: TableVersion, floor: int) -> NoReturn:
    """Snapshots take the greatest version number of any lineage: a lower one would be published and never seen."""
    raise Internal(
        f"version {change.table_version} of '{change.table_key}' would be hidden by version {floor}",
        "write the change onto the branch's own lineage instead of pointing at another one",
    )
