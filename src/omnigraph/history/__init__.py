"""History: what was. Snapshots, commits, branches, export."""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnigraph.model.late_names import late_names

if TYPE_CHECKING:
    from omnigraph.history.branches import branch_list as branch_list
    from omnigraph.history.branches import create_branch as create_branch
    from omnigraph.history.branches import delete_branch as delete_branch
    from omnigraph.history.commit_graph import AheadBehind as AheadBehind
    from omnigraph.history.commit_graph import CommitGraph as CommitGraph
    from omnigraph.history.commits import commit_as_of as commit_as_of
    from omnigraph.history.commits import commit_list as commit_list
    from omnigraph.history.commits import find_commit as find_commit
    from omnigraph.history.commits import snapshot_at as snapshot_at
    from omnigraph.history.known_commits import KnownCommits as KnownCommits
    from omnigraph.history.snapshots import Snapshot as Snapshot
    from omnigraph.history.snapshots import current_snapshot as current_snapshot
    from omnigraph.history.snapshots import snapshot_of as snapshot_of
else:
    __getattr__, __dir__ = late_names(
        __name__,
        {
            "branches": (
                "branch_list",
                "create_branch",
                "delete_branch",
            ),
            "commits": (
                "commit_as_of",
                "commit_list",
                "find_commit",
                "snapshot_at",
            ),
            "commit_graph": (
                "AheadBehind",
                "CommitGraph",
            ),
            "known_commits": ("KnownCommits",),
            "snapshots": (
                "Snapshot",
                "current_snapshot",
                "snapshot_of",
            ),
        },
    )
