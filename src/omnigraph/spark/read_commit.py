"""Which commit a read sees. Reads of one commit see one state of the graph, whatever is written meanwhile."""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnigraph.graph import Graph
from omnigraph.model.errors import BadRequest, InvalidValue

if TYPE_CHECKING:
    from omnigraph.history import Snapshot


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
            raise BadRequest(
                "'commit' cannot be combined with 'branch' or 'timestamp'", "a commit already says which state is read"
            )
        return graph.snapshot_at(commit)
    if timestamp is None:
        return graph.snapshot(branch)
    try:
        found = graph.commit_as_of(timestamp, branch)
    except InvalidValue as error:
        raise BadRequest(
            f"'timestamp' is not a valid time: {error.sentence()}", "write 2026-01-31T12:00:00Z"
        ) from error
    return graph.snapshot_at(found.commit_id)
