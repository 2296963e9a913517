"""Reading verbs: queries, plans, the schema, snapshots, commits, branches, tags, the log, differences."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from omnigraph.client.requests import ARROW, JSON, Answer, Request, Verb, given, present
from omnigraph.model.errors import BadRequest, BranchNotFound, CommitNotFound, ReadSetChanged

if TYPE_CHECKING:
    from omnigraph.client.wire import (
        BranchDetailsInfo,
        RemoteDiff,
        RemoteExplanation,
        ServedGraphInfo,
        StoredQueryInfo,
    )
    from omnigraph.history import LogEntry, Snapshot, Tag
    from omnigraph.query import QueryResult
    from omnigraph.storage.manifest import GraphCommit
    from omnigraph.write.upkeep import IndexStatus

EITHER = f"{ARROW}, {JSON};q=0.5"
PATIENCE_S = 10.0
"""How much longer than the query an answer may take."""
SNAPSHOT_TRIES = 5


def document_of(answer: Answer) -> Any:
    return json.loads(answer.body)


def query(
    text: str, params: Mapping[str, Any], name: str | None, branch: str, commit: str | None, timeout: float | None
) -> Verb[QueryResult]:
    from omnigraph.client.wire import result_of

    where = {"branch": branch} if commit is None else {"snapshot": commit}
    answer = yield Request(
        method="POST",
        path=("query",),
        document={"query": text, "name": name, "params": dict(params) or None, **where},
        accept=EITHER,
        **_within(timeout),
    )
    return result_of(answer, None if commit is not None else branch, commit)


def _within(timeout: float | None) -> dict[str, Any]:
    """How long a query may take, for the server and for whoever waits."""
    if timeout is None:
        return {}
    return {"headers": {"Omnigraph-Timeout": f"{timeout:.3f}"}, "seconds": timeout + PATIENCE_S}


def explain(
    text: str, params: Mapping[str, Any], name: str | None, branch: str, commit: str | None, analyze: bool
) -> Verb[RemoteExplanation]:
    from omnigraph.client.wire import RemoteExplanation

    where = {"branch": branch} if commit is None else {"snapshot": commit}
    body = {"query": text, "name": name, "params": dict(params) or None, "analyze": analyze, **where}
    document = document_of((yield Request(method="POST", path=("explain",), document=body)))
    return RemoteExplanation(document["text"], document["plan"])


def schema_source() -> Verb[str]:
    return str(document_of((yield Request(method="GET", path=("schema",))))["schema_source"])


def branches() -> Verb[list[str]]:
    return list(document_of((yield Request(method="GET", path=("branches",))))["branches"])


def require_branch(name: str) -> Verb[None]:
    from omnigraph.language import did_you_mean

    known = yield from branches()
    if name not in known:
        remedy = did_you_mean(name, known)
        raise BranchNotFound(name, remedy) if remedy else BranchNotFound(name)


def branch_details(names: Iterable[str] | None) -> Verb[list[BranchDetailsInfo]]:
    from omnigraph.client.wire import BranchDetailsInfo

    answer = yield Request(method="GET", path=("branches",), query=[("details", "true")])
    found = {each["name"]: BranchDetailsInfo(each) for each in document_of(answer).get("details", ())}
    for name in () if names is None else names:
        if name not in found:
            raise BranchNotFound(name)
    return list(found.values()) if names is None else [found[name] for name in names]


def commits(branch: str, limit: int | None) -> Verb[list[GraphCommit]]:
    from omnigraph.client.wire import commit_of

    answer = yield Request(method="GET", path=("commits",), query=given(branch=branch, limit=limit))
    found = [commit_of(each) for each in document_of(answer)["commits"]]
    return found if limit is None else found[:limit]


def commit(commit_id: str) -> Verb[GraphCommit]:
    from omnigraph.client.wire import commit_of

    return commit_of(document_of((yield Request(method="GET", path=("commits", commit_id)))))


def commit_as_of(moment: str, branch: str) -> Verb[GraphCommit]:
    """The newest commit of a branch that was made at or before a time."""
    from omnigraph.model.values import parse_datetime

    latest = (parse_datetime(moment) + 1) * 1000 - 1
    for each in (yield from commits(branch, None)):
        if each.created_at <= latest:
            return each
    raise CommitNotFound(f"as of {moment}")


def snapshot(branch: str) -> Verb[Snapshot]:
    """The tables, and the commit that made them visible: the head, if it is the same before and after."""
    from omnigraph.client.wire import snapshot_of

    before = yield from commits(branch, 1)
    for _ in range(SNAPSHOT_TRIES):
        document = document_of((yield Request(method="GET", path=("snapshot",), query=given(branch=branch))))
        after = yield from commits(branch, 1)
        if [each.commit_id for each in before] == [each.commit_id for each in after]:
            return snapshot_of(document, after[0] if after else None)
        before = after
    raise ReadSetChanged(f"graph_head:{branch}")


def tags() -> Verb[list[Tag]]:
    from omnigraph.client.wire import tag_of

    return [tag_of(each) for each in document_of((yield Request(method="GET", path=("tags",))))["tags"]]


def indexes(branch: str) -> Verb[list[IndexStatus]]:
    from omnigraph.write.upkeep import IndexStatus

    answer = yield Request(method="GET", path=("indexes",), query=given(branch=branch))
    return [IndexStatus(**each) for each in document_of(answer)["indexes"]]


LOG_PAGE = 8192


def log(at: str | None, filters: Mapping[str, Any], limit: int | None) -> Verb[list[LogEntry]]:
    """Page by page, until there are enough or there is no more."""
    from omnigraph.client.wire import log_entry_of

    found: list[LogEntry] = []
    before = filters.get("before")
    while limit is None or len(found) < limit:
        page = LOG_PAGE if limit is None else min(limit - len(found), LOG_PAGE)
        answer = yield Request(method="GET", path=("log",), query=_log_query(at, filters, before, page))
        entries = [log_entry_of(each) for each in document_of(answer)["commits"]]
        found += entries
        if len(entries) < page:
            break
        before = entries[-1].commit_id
    return found


def _log_query(at: str | None, filters: Mapping[str, Any], before: str | None, limit: int) -> list[tuple[str, str]]:
    query = given(at=at, message=filters.get("message"), since=filters.get("since"), before=before, limit=limit)
    if filters.get("full"):
        query.append(("full", "true"))
    for parameter, name in (("actor", "actor"), ("kind", "kind"), ("type", "type_name")):
        words = filters.get(name)
        query += [(parameter, word) for word in ([words] if isinstance(words, str) else words or ())]
    return query


DIFF_PAGE = 8192


def diff(before: str, after: str, filters: Mapping[str, Any]) -> Verb[RemoteDiff]:
    from omnigraph.client.wire import remote_diff

    query = [*given(from_=before, to=after, limit=DIFF_PAGE), *change_filters(filters)]
    return remote_diff(document_of((yield Request(method="GET", path=("diff",), query=query))))


def change_filters(filters: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Filters of changes as the parameters of an address."""
    known: dict[str, tuple[str, tuple[str, ...]]] = {
        "kinds": ("kind", ("node", "edge")),
        "types": ("type", ()),
        "ops": ("op", ("insert", "update", "delete")),
    }
    query = []
    for name, (parameter, words) in known.items():
        given_words = filters.get(name)
        for word in [given_words] if isinstance(given_words, str) else given_words or ():
            if words and word not in words:
                raise BadRequest(f"unknown {parameter} '{word}'", f"use {', '.join(words)}")
            query.append((parameter, word))
    return query


def stored_queries() -> Verb[list[StoredQueryInfo]]:
    from omnigraph.client.wire import StoredQueryInfo

    answer = yield Request(method="GET", path=("queries",))
    return [StoredQueryInfo.of(each) for each in document_of(answer)["queries"]]


def graphs() -> Verb[list[ServedGraphInfo]]:
    """Below the address of a server."""
    from omnigraph.client.wire import ServedGraphInfo

    answer = yield Request(method="GET", path=("graphs",))
    return [ServedGraphInfo(each["graph_id"], each["uri"]) for each in document_of(answer)["graphs"]]


def invocation(params: Mapping[str, Any], **members: Any) -> dict[str, Any]:
    """The body of a call of a stored query."""
    return present(params=dict(params) or None, **members)
