"""Wire: documents of the HTTP API to the values that `Graph` returns."""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnigraph.model.late_names import late_names

if TYPE_CHECKING:
    from omnigraph.client.wire.blobs import BlobSelector as BlobSelector
    from omnigraph.client.wire.blobs import RemoteBlob as RemoteBlob
    from omnigraph.client.wire.blobs import remote_blob as remote_blob
    from omnigraph.client.wire.changes import RemoteDiff as RemoteDiff
    from omnigraph.client.wire.changes import commit_changes_of as commit_changes_of
    from omnigraph.client.wire.changes import feed_page_of as feed_page_of
    from omnigraph.client.wire.changes import remote_diff as remote_diff
    from omnigraph.client.wire.changes import stats_of as stats_of
    from omnigraph.client.wire.conflicts import conflicts_error as conflicts_error
    from omnigraph.client.wire.conflicts import conflicts_of as conflicts_of
    from omnigraph.client.wire.entries import BranchDetailsInfo as BranchDetailsInfo
    from omnigraph.client.wire.entries import RemoteExplanation as RemoteExplanation
    from omnigraph.client.wire.entries import ServedGraphInfo as ServedGraphInfo
    from omnigraph.client.wire.entries import StoredQueryInfo as StoredQueryInfo
    from omnigraph.client.wire.entries import commit_of as commit_of
    from omnigraph.client.wire.entries import log_entry_of as log_entry_of
    from omnigraph.client.wire.entries import snapshot_of as snapshot_of
    from omnigraph.client.wire.entries import tag_of as tag_of
    from omnigraph.client.wire.query_results import json_result as json_result
    from omnigraph.client.wire.query_results import result_of as result_of
    from omnigraph.client.wire.receipts import load_result as load_result
    from omnigraph.client.wire.receipts import merge_result as merge_result
    from omnigraph.client.wire.receipts import mutation_result as mutation_result
    from omnigraph.client.wire.receipts import restore_result as restore_result
    from omnigraph.client.wire.receipts import revert_result as revert_result
else:
    __getattr__, __dir__ = late_names(
        __name__,
        {
            "blobs": ("BlobSelector", "RemoteBlob", "remote_blob"),
            "changes": ("RemoteDiff", "commit_changes_of", "feed_page_of", "remote_diff", "stats_of"),
            "conflicts": ("conflicts_error", "conflicts_of"),
            "entries": (
                "BranchDetailsInfo",
                "RemoteExplanation",
                "ServedGraphInfo",
                "StoredQueryInfo",
                "commit_of",
                "log_entry_of",
                "snapshot_of",
                "tag_of",
            ),
            "query_results": ("json_result", "result_of"),
            "receipts": ("load_result", "merge_result", "mutation_result", "restore_result", "revert_result"),
        },
    )
