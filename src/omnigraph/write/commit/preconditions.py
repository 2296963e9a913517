"""Preconditions: repeats of a request, `if_commit`, and which commits may lie between without changing anything."""

from __future__ import annotations

from collections.abc import Mapping

from omnigraph.model.errors import Conflict, PreconditionFailed, ReadSetChanged
from omnigraph.storage.manifest import GraphCommit, LoadedManifest, ManifestState
from omnigraph.write.commit.request import Receipt, WriteRequest

TRANSPARENT_KINDS = frozenset({"ensure_indices", "optimize"})
"""Commits that change no entity: `if_commit` looks through them."""


def find_repeat(loaded: LoadedManifest, request: WriteRequest) -> Receipt | None:
    """The receipt of the write that already used this idempotency key, if one did."""
    if request.idempotency_key is None:
        return None
    for commit in loaded.state.commits.values():
        if commit.py.get("idempotency_key") == request.idempotency_key:
            if commit.py.get("request_digest") != request.request_digest:
                raise Conflict(
                    f"idempotency key '{request.idempotency_key}' was used for another request in {commit.commit_id}",
                    "use a new key for a new request",
                )
            kept = commit.py.get("result")
            return Receipt(commit, kept if isinstance(kept, Mapping) else {}, replayed=True)
    return None


def check_if_commit(loaded: LoadedManifest, request: WriteRequest) -> None:
    """Raises unless the head is the commit that the caller named, but for upkeep on top of it."""
    if request.if_commit is None:
        return
    commit = loaded.state.head
    while commit is not None and commit.commit_id != request.if_commit and commit.py.get("kind") in TRANSPARENT_KINDS:
        commit = loaded.state.commits.get(commit.parent_id or "")
    if commit is None or commit.commit_id != request.if_commit:
        head = loaded.state.head
        raise PreconditionFailed(loaded.branch, request.if_commit, head.commit_id if head is not None else None)


def lost_to_upkeep_alone(state: ManifestState, branch: str, lost: ReadSetChanged) -> bool:
    """True when nothing but upkeep was committed since: no entity changed, so the same write means the same again."""
    if lost.member != f"graph_head:{branch}":
        return False
    commit = state.head
    while commit is not None and commit.commit_id != lost.expected and _changes_nothing(commit):
        commit = state.commits.get(commit.parent_id or "")
    return commit is not None and commit.commit_id == lost.expected


def _changes_nothing(commit: GraphCommit) -> bool:
    """Upkeep, or a recovery that took something back."""
    recovery = commit.py.get("recovery")
    took_back = isinstance(recovery, dict) and recovery.get("kind") == "RolledBack"
    return took_back or commit.py.get("kind") in TRANSPARENT_KINDS
