"""Failures of the change routes: an allow-list. What is not on it is told with one fixed text and is in the log."""

from __future__ import annotations

from omnigraph.model.errors import OmniGraphError
from omnigraph.server.failures import Body, Failure, hidden_failure
from omnigraph.server.http import HttpRefusal

LIMITS = frozenset(
    (
        "commit_changes_page_changes",
        "commit_changes_page_bytes",
        "change_feed_commits_per_poll",
        "change_continuation_token_encoded_bytes",
        "stream_export_slots",
        "stream_export_transport_bytes",
    )
)
TOLD = frozenset(
    (
        "change_cursor_rejected",
        "branch_not_found",
        "commit_not_found",
        "change_feed_gap",
        "commit_has_no_parent",
        "change_schema_boundary",
        "policy_denied",
        "bad_request",
        "invalid_branch_name",
        "still_unavailable",
    )
)
_MEMBERS = ("error", "code", "resource_limit", "recovery_required", "change_feed_gap", "change_diff_refusal")
_ADDED = ("error_code", "hint")


def allowed_failure(error: Exception, told: Failure) -> Failure:
    """What a change route may say of a failure."""
    if isinstance(error, HttpRefusal):
        return told
    code = error.code if isinstance(error, OmniGraphError) else ""
    if code == "recovery_required":
        body: Body = told.body | {"error": "recovery required before changes can be read"}
        return Failure(told.status, _narrow(body), told.headers, told.is_hidden)
    is_limit = code == "resource_limit_exceeded" and getattr(error, "resource", "") in LIMITS
    if code in TOLD or is_limit:
        return Failure(told.status, _narrow(told.body), told.headers)
    return hidden_failure("internal error while reading changes")


def _narrow(body: Body) -> Body:
    return {name: body[name] for name in (*_MEMBERS, *_ADDED) if name in body}
