"""Commits: the history that a branch can see, and the way from a commit id to what it showed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from omnigraph.history.snapshots import Snapshot, snapshot_of
from omnigraph.model.errors import BranchNotFound, CommitNotFound, Corrupt, HistoricalVersionReclaimed
from omnigraph.model.identifiers import MAIN, SCHEMA_APPLY_LOCK, ulid_from
from omnigraph.model.values import parse_datetime
from omnigraph.storage import GraphStorage
from omnigraph.storage.manifest import BranchRef, GraphCommit, LoadedManifest, ManifestState, TablePin

CLOCKS_APART_S = 600
"""So far the clocks of two writers may be apart. It decides which branch is looked at first, and nothing else."""
SEARCH_FORWARD_VERSIONS = 16
"""A commit recorded one version too low (another program compacted meanwhile) is searched for this far ahead."""


def commit_list(storage: GraphStorage, branch: str = MAIN, *, limit: int | None = None) -> list[GraphCommit]:
    """The commits of a branch, inherited and own, newest first."""
    return storage.manifest.load(branch).state.history()[:limit]


def find_commit(storage: GraphStorage, commit_id: str, branch: str = MAIN) -> GraphCommit:
    """A commit by its id: on the given branch first, then on main, then on every other."""
    for name in dict.fromkeys((branch, MAIN)):
        commit = storage.manifest.load(name).state.commits.get(commit_id)
        if commit is not None:
            return commit
    for ref in _likely_first(storage.manifest.branch_refs(), commit_id):
        commit = _own_commit_if_there(storage, ref, commit_id) if ref.name not in (branch, SCHEMA_APPLY_LOCK) else None
        if commit is not None:
            return commit
    raise CommitNotFound(commit_id)


def _likely_first(refs: Sequence[BranchRef], commit_id: str) -> list[BranchRef]:
    """The branch of a commit is older than it, and seldom much: of thousands, the first ones are the likely ones."""

    def order(ref: BranchRef) -> tuple[bool, int]:
        made_later = ulid_from((ref.created_at - CLOCKS_APART_S) * 1000, bytes(10)) > commit_id
        return made_later, -ref.created_at

    return sorted(refs, key=order)


def _own_commit_if_there(storage: GraphStorage, ref: BranchRef, commit_id: str) -> GraphCommit | None:
    try:
        return storage.manifest.own_commit(ref, commit_id)
    except (BranchNotFound, Corrupt):
        if ref.name in storage.manifest.branches():
            raise
        return None  # deleted since it was listed


def state_if_there(storage: GraphStorage, branch: str) -> ManifestState | None:
    """What a listed branch shows; None when it was deleted since it was listed."""
    try:
        return storage.manifest.load(branch).state
    except BranchNotFound:
        return None
    except Corrupt:
        if branch in storage.manifest.branches():
            raise
        return None


def commit_as_of(storage: GraphStorage, branch: str, moment: str) -> GraphCommit:
    """The newest commit of a branch, along its first parents, that was made at or before an RFC 3339 moment."""
    state = storage.manifest.load(branch).state
    limit_us = (parse_datetime(moment) + 1) * 1000  # a millisecond stands for all of its microseconds
    commit = state.head
    while commit is not None and commit.created_at >= limit_us:
        commit = state.commits.get(commit.parent_id or "")
    if commit is None:
        raise CommitNotFound(f"as of {moment}")
    return commit


def snapshot_at(storage: GraphStorage, commit: GraphCommit) -> Snapshot:
    """What the graph showed right after this commit."""
    return snapshot_of(manifest_at(storage, commit))


def manifest_at(storage: GraphStorage, commit: GraphCommit, older: LoadedManifest | None = None) -> LoadedManifest:
    """The manifest as this commit published it. `older` is that of a commit before it: then less is read."""
    branch = commit.branch or MAIN
    for version in range(commit.version, commit.version + SEARCH_FORWARD_VERSIONS + 1):
        try:
            loaded = storage.manifest.load_at(branch, version, older)
        except HistoricalVersionReclaimed:
            break
        if _shows(loaded, commit):
            return loaded
    # Either its versions are gone, or the branch was deleted and made anew under the same name.
    raise HistoricalVersionReclaimed(f"commit {commit.commit_id} on branch {branch}", commit.version)


def _shows(loaded: LoadedManifest, commit: GraphCommit) -> bool:
    head = loaded.state.heads.get(loaded.branch)
    return head is not None and head.head_commit_id == commit.commit_id


def require_kept(storage: GraphStorage, pins: Iterable[TablePin]) -> None:
    """Refuses table versions that were removed or are about to be: nothing may be named that cannot be read."""
    named = tuple(pins)
    storage.condemned.require_kept(named)
    for pin in named:
        storage.tables.require_there(pin)
