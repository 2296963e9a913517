"""History: what was. Snapshots, commits, branches, export."""

from typing import TYPE_CHECKING

from omnigraph.history.branches import branch_list, create_branch, delete_branch
from omnigraph.history.commits import commit_as_of, commit_list, find_commit, snapshot_at
from omnigraph.history.snapshots import Snapshot, current_snapshot, snapshot_of
from omnigraph.model.late_names import late_names

if TYPE_CHECKING:
    from omnigraph.history.export import export_lines

__all__ = [
    "Snapshot",
    "branch_list",
    "commit_as_of",
    "commit_list",
    "create_branch",
    "current_snapshot",
    "delete_branch",
    "export_lines",
    "find_commit",
    "snapshot_at",
    "snapshot_of",
]

__getattr__ = late_names(__name__, {"export_lines": "omnigraph.history.export"})
