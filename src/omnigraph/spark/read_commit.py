"""Pins: which commit a read sees. Reads at one pin see one state of the graph, whatever is written meanwhile."""

from __future__ import annotations

from omnigraph import history
from omnigraph.graph import Graph
from omnigraph.history import Snapshot
from omnigraph.model.errors import BadRequest, InvalidValue
from omnigraph.storage import open_storage


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
    try:
        found = history.commit_as_of(open_storage(graph.uri, read_only=True), branch or graph.branch_name, timestamp)
    except InvalidValue as error:
        raise BadRequest(f"'timestamp' is no time: {error}") from error
    return graph.snapshot_at(found.commit_id)
