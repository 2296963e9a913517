"""Verbs: what each method sends and what it makes of the answers. Written once, for threads and for event loops."""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnigraph.model.late_names import late_names

if TYPE_CHECKING:
    from omnigraph.client.verbs.following import baseline_body as baseline_body
    from omnigraph.client.verbs.following import blob_facts as blob_facts
    from omnigraph.client.verbs.following import blob_query as blob_query
    from omnigraph.client.verbs.following import changes as changes
    from omnigraph.client.verbs.following import commit_changes as commit_changes
    from omnigraph.client.verbs.reading import branch_details as branch_details
    from omnigraph.client.verbs.reading import branches as branches
    from omnigraph.client.verbs.reading import commit as commit
    from omnigraph.client.verbs.reading import commit_as_of as commit_as_of
    from omnigraph.client.verbs.reading import commits as commits
    from omnigraph.client.verbs.reading import diff as diff
    from omnigraph.client.verbs.reading import explain as explain
    from omnigraph.client.verbs.reading import graphs as graphs
    from omnigraph.client.verbs.reading import indexes as indexes
    from omnigraph.client.verbs.reading import log as log
    from omnigraph.client.verbs.reading import query as query
    from omnigraph.client.verbs.reading import require_branch as require_branch
    from omnigraph.client.verbs.reading import schema_source as schema_source
    from omnigraph.client.verbs.reading import snapshot as snapshot
    from omnigraph.client.verbs.reading import stored_queries as stored_queries
    from omnigraph.client.verbs.reading import tags as tags
    from omnigraph.client.verbs.writing import apply_schema as apply_schema
    from omnigraph.client.verbs.writing import create_branch as create_branch
    from omnigraph.client.verbs.writing import delete_branch as delete_branch
    from omnigraph.client.verbs.writing import delete_tag as delete_tag
    from omnigraph.client.verbs.writing import load as load
    from omnigraph.client.verbs.writing import merge as merge
    from omnigraph.client.verbs.writing import mutate as mutate
    from omnigraph.client.verbs.writing import restore as restore
    from omnigraph.client.verbs.writing import revert as revert
    from omnigraph.client.verbs.writing import run_stored as run_stored
    from omnigraph.client.verbs.writing import tag as tag
else:
    __getattr__, __dir__ = late_names(
        __name__,
        {
            "following": ("baseline_body", "blob_facts", "blob_query", "changes", "commit_changes"),
            "reading": (
                "branch_details",
                "branches",
                "commit",
                "commit_as_of",
                "commits",
                "diff",
                "explain",
                "graphs",
                "indexes",
                "log",
                "query",
                "require_branch",
                "schema_source",
                "snapshot",
                "stored_queries",
                "tags",
            ),
            "writing": (
                "apply_schema",
                "create_branch",
                "delete_branch",
                "delete_tag",
                "load",
                "merge",
                "mutate",
                "restore",
                "revert",
                "run_stored",
                "tag",
            ),
        },
    )
