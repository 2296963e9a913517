"""History: what was. Snapshots, commits, branches, export."""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnigraph.model.late_names import late_names

if TYPE_CHECKING:
    from omnigraph.history.blobs import Blob as Blob
    from omnigraph.history.blobs import BlobIsExternal as BlobIsExternal
    from omnigraph.history.blobs import BlobNotFound as BlobNotFound
    from omnigraph.history.blobs import BlobRangeNotSatisfiable as BlobRangeNotSatisfiable
    from omnigraph.history.blobs import InvalidBlobSelector as InvalidBlobSelector
    from omnigraph.history.blobs import find_blob as find_blob
    from omnigraph.history.branch_details import BranchDetails as BranchDetails
    from omnigraph.history.branch_details import details_of_branches as details_of_branches
    from omnigraph.history.branches import BranchIsTagged as BranchIsTagged
    from omnigraph.history.branches import branch_list as branch_list
    from omnigraph.history.branches import create_branch as create_branch
    from omnigraph.history.branches import create_branch_from as create_branch_from
    from omnigraph.history.branches import delete_branch as delete_branch
    from omnigraph.history.commit_graph import AheadBehind as AheadBehind
    from omnigraph.history.commit_graph import CommitGraph as CommitGraph
    from omnigraph.history.commits import commit_as_of as commit_as_of
    from omnigraph.history.commits import commit_list as commit_list
    from omnigraph.history.commits import find_commit as find_commit
    from omnigraph.history.commits import snapshot_at as snapshot_at
    from omnigraph.history.commits import state_if_there as state_if_there
    from omnigraph.history.entity_log import EntityLogEntry as EntityLogEntry
    from omnigraph.history.entity_log import PropertyBlame as PropertyBlame
    from omnigraph.history.entity_log import blame as blame
    from omnigraph.history.entity_log import entity_changes as entity_changes
    from omnigraph.history.entity_lookup import PastEntity as PastEntity
    from omnigraph.history.entity_lookup import entity_at as entity_at
    from omnigraph.history.kept_commits import keep_commit as keep_commit
    from omnigraph.history.known_commits import KnownCommits as KnownCommits
    from omnigraph.history.log import LogEntry as LogEntry
    from omnigraph.history.log import LogFilter as LogFilter
    from omnigraph.history.log import log_entries as log_entries
    from omnigraph.history.log import log_filter as log_filter
    from omnigraph.history.merge_needs import commits_that_merges_read as commits_that_merges_read
    from omnigraph.history.names import AmbiguousName as AmbiguousName
    from omnigraph.history.names import InvalidTagName as InvalidTagName
    from omnigraph.history.references import Reference as Reference
    from omnigraph.history.references import TaggedCommitGone as TaggedCommitGone
    from omnigraph.history.references import UnknownReference as UnknownReference
    from omnigraph.history.references import resolve as resolve
    from omnigraph.history.schemas import Continued as Continued
    from omnigraph.history.schemas import continued as continued
    from omnigraph.history.schemas import earlier_names as earlier_names
    from omnigraph.history.schemas import is_later as is_later
    from omnigraph.history.schemas import schema_by_hash as schema_by_hash
    from omnigraph.history.schemas import schema_changes as schema_changes
    from omnigraph.history.schemas import schema_of as schema_of
    from omnigraph.history.schemas import schema_on as schema_on
    from omnigraph.history.snapshots import Snapshot as Snapshot
    from omnigraph.history.snapshots import current_snapshot as current_snapshot
    from omnigraph.history.snapshots import snapshot_of as snapshot_of
    from omnigraph.history.table_history import UPKEEP_KINDS as UPKEEP_KINDS
    from omnigraph.history.tags import Tag as Tag
    from omnigraph.history.tags import TagExists as TagExists
    from omnigraph.history.tags import TagNotFound as TagNotFound
    from omnigraph.history.tags import create_tag as create_tag
    from omnigraph.history.tags import delete_tag as delete_tag
    from omnigraph.history.tags import tag_list as tag_list
else:
    __getattr__, __dir__ = late_names(
        __name__,
        {
            "blobs": (
                "Blob",
                "BlobIsExternal",
                "BlobNotFound",
                "BlobRangeNotSatisfiable",
                "InvalidBlobSelector",
                "find_blob",
            ),
            "branches": (
                "BranchIsTagged",
                "branch_list",
                "create_branch",
                "create_branch_from",
                "delete_branch",
            ),
            "commits": (
                "commit_as_of",
                "commit_list",
                "find_commit",
                "snapshot_at",
                "state_if_there",
            ),
            "commit_graph": (
                "AheadBehind",
                "CommitGraph",
            ),
            "entity_lookup": (
                "PastEntity",
                "entity_at",
            ),
            "kept_commits": ("keep_commit",),
            "known_commits": ("KnownCommits",),
            "merge_needs": ("commits_that_merges_read",),
            "names": (
                "AmbiguousName",
                "InvalidTagName",
            ),
            "references": (
                "Reference",
                "TaggedCommitGone",
                "UnknownReference",
                "resolve",
            ),
            "schemas": (
                "Continued",
                "continued",
                "earlier_names",
                "is_later",
                "schema_by_hash",
                "schema_changes",
                "schema_of",
                "schema_on",
            ),
            "snapshots": (
                "Snapshot",
                "current_snapshot",
                "snapshot_of",
            ),
            "tags": (
                "Tag",
                "TagExists",
                "TagNotFound",
                "create_tag",
                "delete_tag",
                "tag_list",
            ),
            "entity_log": (
                "EntityLogEntry",
                "PropertyBlame",
                "blame",
                "entity_changes",
            ),
            "table_history": ("UPKEEP_KINDS",),
            "log": (
                "LogEntry",
                "LogFilter",
                "log_entries",
                "log_filter",
            ),
            "branch_details": (
                "BranchDetails",
                "details_of_branches",
            ),
        },
    )
