"""Kept commits: what a deleted branch leaves behind in `__history/`, one JSON object per commit.

A merge names a commit of the branch that it merged. Once that branch is deleted its manifest is gone, and with it the
way from there to the merge base. So its own commits are kept first. Other implementations ignore the folder.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Collection, Mapping
from dataclasses import field

from omnigraph.history.changed_types import types_by_commit
from omnigraph.model.errors import Corrupt, HistoricalVersionReclaimed, Json
from omnigraph.model.late_dataclass import dataclass
from omnigraph.storage import GraphStorage
from omnigraph.storage.manifest import GraphCommit, LoadedManifest

_log = logging.getLogger("omnigraph.history")

FOLDER = "__history"
VERSION = 1


@dataclass(frozen=True, slots=True)
class KeptCommit:
    """A commit of a branch that is gone: enough to walk the history, not enough to read its rows."""

    commit_id: str
    branch: str
    parents: tuple[str, ...]
    created_at: int
    actor_id: str | None = None
    py: Mapping[str, Json] = field(default_factory=dict, hash=False)
    """What this implementation adds to a commit: its kind, its message."""
    types: frozenset[str] | None = None
    """The keys of the types whose entities it changed; None when it does not say."""


def keep_commits(storage: GraphStorage, loaded: LoadedManifest) -> None:
    """Keeps the own commits of a branch that is about to be deleted. Keeping one twice changes nothing."""
    types = _types(storage, loaded)
    for commit in loaded.state.commits.values():
        if commit.branch == loaded.branch:
            keep_commit(storage, commit, None if types is None else types.get(commit.commit_id, set()))


def keep_commit(storage: GraphStorage, commit: GraphCommit, types: Collection[str] | None = None) -> None:
    """Keeps one commit of a branch, so that histories can still be walked through it."""
    members = {
        "version": VERSION,
        "graph_commit_id": commit.commit_id,
        "branch": commit.branch,
        "parent_commit_id": commit.parent_id,
        "merged_parent_commit_id": commit.merged_parent_id,
        "actor_id": commit.actor_id,
        "created_at": commit.created_at,
        "py": dict(commit.py) or None,
        "types": None if types is None else sorted(types),
    }
    present = {name: value for name, value in members.items() if value is not None}
    storage.objects.write_if_absent(_path(commit.commit_id), json.dumps(present).encode())


def _types(storage: GraphStorage, loaded: LoadedManifest) -> dict[str, set[str]] | None:
    """What each commit changed; None when that cannot be read any more: a damaged branch can be deleted too."""
    try:
        return types_by_commit(storage, loaded)
    except (Corrupt, HistoricalVersionReclaimed) as error:
        _log.warning("the types that commits of '%s' changed are not kept: %s", loaded.branch, error)
        return None


def find_kept_commit(storage: GraphStorage, commit_id: str) -> KeptCommit | None:
    """The kept commit of this id; None when there is none, as after a delete by another implementation."""
    found = storage.objects.read(_path(commit_id))
    if found is None:
        return None
    try:
        members = json.loads(found.data)
        parents = (members.get("parent_commit_id"), members.get("merged_parent_commit_id"))
        return KeptCommit(
            commit_id=str(members["graph_commit_id"]),
            branch=str(members["branch"]),
            parents=tuple(str(parent) for parent in parents if parent is not None),
            created_at=int(members["created_at"]),
            actor_id=members.get("actor_id"),
            py=members.get("py") or {},
            types=frozenset(map(str, members["types"])) if "types" in members else None,
        )
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise Corrupt(_path(commit_id), f"not a kept commit: {error}") from error


def _path(commit_id: str) -> str:
    return f"{FOLDER}/{commit_id}.json"
