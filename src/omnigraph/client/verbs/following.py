"""Following verbs: the change feed, what one commit changed, and the facts of blobs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from omnigraph.client.requests import Answer, Request, Verb, given
from omnigraph.client.verbs.reading import change_filters, document_of

if TYPE_CHECKING:
    from omnigraph.client.wire import BlobSelector
    from omnigraph.history.feed import CommitChanges, FeedPage


def changes(branch: str, position: Mapping[str, str | None], filters: Mapping[str, Any]) -> Verb[FeedPage]:
    from omnigraph.client.wire import feed_page_of

    query = [*given(branch=branch, **position), *_limits(filters), *change_filters(filters)]
    return feed_page_of(document_of((yield Request(method="GET", path=("changes",), query=query))))


def commit_changes(commit: str, page_token: str | None, filters: Mapping[str, Any]) -> Verb[CommitChanges]:
    from omnigraph.client.wire import commit_changes_of

    query = [*given(page_token=page_token), *_limits(filters), *change_filters(filters)]
    answer = yield Request(method="GET", path=("commits", commit, "changes"), query=query)
    return commit_changes_of(document_of(answer))


def _limits(filters: Mapping[str, Any]) -> list[tuple[str, str]]:
    limits = filters.get("limits")
    return given(limit=None if limits is None else limits.max_changes)


def baseline_body(branch: str, filters: Mapping[str, Any]) -> dict[str, Any]:
    body: dict[str, Any] = {"branch": branch}
    for name, word in change_filters(filters):
        body.setdefault(name, []).append(word)
    return body


def blob_query(selector: BlobSelector, branch: str, at: str | None) -> list[tuple[str, str]]:
    where = given(branch=branch) if at is None else given(snapshot=at)
    return [
        ("entity", selector.entity_kind),
        ("type", selector.type_name),
        ("id", selector.entity_id),
        ("property", selector.property),
        *where,
    ]


def blob_facts(query: list[tuple[str, str]]) -> Verb[Answer]:
    """The headers of the value. A refusal of HEAD has no body, so the reason comes from a look at the first byte."""
    from omnigraph.model.errors import OmniGraphError

    try:
        return (yield Request(method="HEAD", path=("blob",), query=query))
    except OmniGraphError:
        return (yield Request(method="GET", path=("blob",), query=query, headers={"Range": "bytes=0-0"}))
