"""Receipts: what writes returned. Where the API names a commit by its id alone, the caller has looked it up."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from omnigraph.client.wire.changes import stats_of
from omnigraph.client.wire.conflicts import conflicts_of
from omnigraph.client.wire.entries import commit_of
from omnigraph.history.diff import DiffStats
from omnigraph.merge import MergeResult, RestoreResult, RevertResult
from omnigraph.storage.manifest import GraphCommit
from omnigraph.write import LoadResult, MutationResult

Document = Mapping[str, Any]


def mutation_result(document: Document) -> MutationResult:
    commit = document.get("commit")
    return MutationResult(
        branch=document["branch"],
        query_name=document["query_name"],
        affected_nodes=document["affected_nodes"],
        affected_edges=document["affected_edges"],
        actor_id=document.get("actor_id"),
        commit=None if commit is None else commit_of(commit),
        replayed=bool(document.get("replayed", False)),
    )


def load_result(document: Document) -> LoadResult:
    commit = document.get("commit")
    return LoadResult(
        branch=document["branch"],
        mode=document["mode"],
        base_branch=document.get("base_branch"),
        branch_created=document["branch_created"],
        nodes=_counts(document["nodes"]),
        edges=_counts(document["edges"]),
        commit=None if commit is None else commit_of(commit),
        replayed=bool(document.get("replayed", False)),
        engine="server",
        warnings=tuple(document.get("warnings", ())),
    )


def _counts(listed: Sequence[Document]) -> dict[str, int]:
    return {each["name"]: each["entities_loaded"] for each in listed}


def merge_result(document: Document, commit: GraphCommit | None) -> MergeResult:
    return MergeResult(
        source=document["source"],
        target=document["target"],
        outcome=document["outcome"],
        actor_id=document.get("actor_id"),
        source_commit_id="" if commit is None else commit.merged_parent_id or "",
        target_commit_id="" if commit is None else commit.parent_id or "",
        base_commit_ids=(),
        commit=commit,
        branch_deleted=document.get("branch_deleted"),
        branch_delete_error=document.get("branch_delete_error"),
        **_told(document),
    )


def restore_result(document: Document, commit: GraphCommit | None) -> RestoreResult:
    return RestoreResult(
        branch=document["branch"],
        actor_id=document.get("actor_id"),
        commit=commit,
        restored_commit_id=document["restored_commit_id"],
        **_told(document),
    )


def revert_result(document: Document, commit: GraphCommit | None) -> RevertResult:
    return RevertResult(
        branch=document["branch"],
        actor_id=document.get("actor_id"),
        commit=commit,
        reverted=tuple(document["reverted"]),
        **_told(document),
    )


def _told(document: Document) -> dict[str, Any]:
    """What merges, restores and reverts have in common. A server of the first contract sends none of it."""
    stats = document.get("stats")
    return {
        "stats": DiffStats(()) if stats is None else stats_of(stats),
        "dry_run": bool(document.get("dry_run", False)),
        "conflicts": conflicts_of(document.get("conflicts") or ()),
        "conflicts_total": document.get("conflicts_total") or 0,
    }
