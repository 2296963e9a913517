"""Pins: which commit a read sees. Reads at one pin see one state of the graph, whatever is written meanwhile."""

from __future__ import annotations

from omnigraph.graph import Graph
from omnigraph.history import Snapshot
from omnigraph.model.errors import BadRequest, CommitNotFound, InvalidValue
from omnigraph.model.values import parse_datetime


def pin(uri: str, branch: str | None = None, *, timestamp: str | None = None) -> str:
    """The commit that a branch shows now, or showed at a time: `option("commit", pin(uri))` for consistent reads."""
    with Graph.open(uri, read_only=True) as graph:
        return pinned_snapshot(graph, branch=branch, timestamp=timestamp).commit_id or ""


def pinned_snapshot(
    graph: Graph, *, branch: str | None = None, commit: str | None = None, timestamp: str | None = None
) -> Snapshot:
    """The snapshot of a commit, of a branch at a time, or of a branch as it is."""
    if commit is not None:
        if branch is not None or timestamp is not None:
            raise BadRequest("'commit' stands alone", "a commit says already what 'branch' and 'timestamp' would")
        return graph.snapshot_at(commit)
    if timestamp is None:
        return graph.snapshot(branch)
    return graph.snapshot_at(_commit_as_of(graph, branch, timestamp))


def _commit_as_of(graph: Graph, branch: str | None, timestamp: str) -> str:
    """The newest commit of the branch's own line that is not younger than the time."""
    try:
        limit_us = (
            parse_datetime(timestamp) + 1
        ) * 1000 - 1  # commits count microseconds; a time means its millisecond
    except InvalidValue as error:
        raise BadRequest(f"'timestamp' is no time: {error}") from error
    commits = {commit.commit_id: commit for commit in graph.commits(branch)}
    head = graph.snapshot(branch).commit
    while head is not None and head.created_at > limit_us:
        head = commits.get(head.parent_id or "")
    if head is None:
        raise CommitNotFound(f"at {timestamp} on branch {branch or graph.branch_name}")
    return head.commit_id
