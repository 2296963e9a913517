"""Writing verbs: mutations, stored queries, loads, branches, merges, tags, restore, revert."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from omnigraph.client.refusals import ServerTooOld
from omnigraph.client.requests import NDJSON, Request, Safety, Verb, given, present
from omnigraph.client.verbs.reading import EITHER, commit, document_of, invocation
from omnigraph.model.errors import NotFound, OmniGraphError
from omnigraph.model.identifiers import new_ulid

if TYPE_CHECKING:
    from omnigraph.history import Tag
    from omnigraph.merge import MergeResult, RestoreResult, RevertResult
    from omnigraph.query import QueryResult
    from omnigraph.storage.manifest import GraphCommit
    from omnigraph.write import LoadResult, MutationResult

CONDITION = "Omnigraph-If-Graph-Commit"
KEY = "Idempotency-Key"


def _safety(key: str | None) -> tuple[dict[str, str], Safety]:
    return ({}, "once") if key is None else ({KEY: key}, "keyed")


def mutate(
    text: str,
    params: Mapping[str, Any],
    name: str | None,
    branch: str,
    if_commit: str | None,
    key: str | None,
    message: str | None,
) -> Verb[MutationResult]:
    from omnigraph.client.wire import mutation_result

    headers, safety = _safety(key or _own_key(text, name))
    if if_commit is not None:
        headers[CONDITION] = if_commit
    request = Request(
        method="POST",
        path=("mutate",) if if_commit is None else ("mutate", "if-graph-commit"),
        document=present(query=text, name=name, params=dict(params) or None, branch=branch, message=message),
        headers=headers,
        safety=safety,
        what="the mutation",
    )
    return mutation_result(document_of((yield from _conditional(request, if_commit))))


def _conditional(request: Request, if_commit: str | None) -> Verb[Any]:
    """Sends it; a server without the route of conditions says so by not having it."""
    try:
        return (yield request)
    except NotFound as error:
        if if_commit is None or error.code != "not_found" or "not found" in error.sentence().replace("path", ""):
            raise
        raise ServerTooOld(f"the server has no conditional writes: {error.sentence()}") from error


def _own_key(text: str, name: str | None) -> str | None:
    """A key that makes a repeated insert one insert. A mutation that may match nothing gets none: with a key it would
    publish a commit even then."""
    return f"client-{new_ulid()}" if _is_insert(text, name) else None


@lru_cache(maxsize=256)
def _is_insert(text: str, name: str | None) -> bool:
    from omnigraph.language import CompileError
    from omnigraph.language.query.parse import Insert, Writing, parse

    try:
        declared = [each for each in parse(text, None).declarations if name in (None, each.name)]
    except CompileError:
        return False
    body = declared[0].body if declared else None
    return isinstance(body, Writing) and all(isinstance(each, Insert) for each in body.statements)


def run_stored(
    name: str,
    params: Mapping[str, Any],
    branch: str,
    commit_id: str | None,
    if_commit: str | None,
    key: str | None,
    expect_mutation: bool | None,
) -> Verb[QueryResult | MutationResult]:
    """A stored query: what comes back tells whether it was a read or a mutation."""
    from omnigraph.client.wire import json_result, mutation_result, result_of

    headers, safety = _safety(key)
    if expect_mutation is False:
        safety = "read"
    where = {"branch": branch} if commit_id is None else {"snapshot": commit_id}
    if if_commit is not None:
        headers[CONDITION] = if_commit
    request = Request(
        method="POST",
        path=("queries", name) if if_commit is None else ("queries", name, "if-graph-commit"),
        document=invocation(params, expect_mutation=expect_mutation, **where),
        headers=headers,
        safety=safety,
        accept=EITHER,
        what=f"the stored query '{name}'",
    )
    answer = yield from _conditional(request, if_commit)
    if answer.media != "application/json":
        return result_of(answer, None if commit_id is not None else branch, commit_id)
    document = document_of(answer)
    return mutation_result(document) if "affected_nodes" in document else json_result(document)


def load(
    lines: Callable[[], Iterator[bytes]], can_repeat: bool, mode: str, branch: str, base: str | None, key: str | None
) -> Verb[LoadResult]:
    from omnigraph.client.wire import load_result

    headers, safety = _safety(key or f"client-{new_ulid()}")
    request = Request(
        method="POST",
        path=("load", "ndjson"),
        query=given(branch=branch, mode=mode, from_=base),
        lines=lines,
        headers={**headers, "Content-Type": NDJSON},
        safety=safety if can_repeat else "once",
        what="the load",
    )
    return load_result(document_of((yield request)))


# --- branches and tags ----------------------------------------------------------------------------------------


def create_branch(name: str, source: str) -> Verb[Mapping[str, Any]]:
    body = {"name": name, "from": source}
    request = Request(method="POST", path=("branches",), document=body, safety="once", what=f"creating '{name}'")
    found: Mapping[str, Any] = document_of((yield request))
    return found


def delete_branch(name: str) -> Verb[Mapping[str, Any]]:
    request = Request(method="DELETE", path=("branches", name), safety="once", what=f"deleting '{name}'")
    found: Mapping[str, Any] = document_of((yield request))
    return found


def tag(name: str, what: str | None, force: bool) -> Verb[Tag]:
    from omnigraph.client.wire import tag_of

    body = present(name=name, commit=what, force=force)
    request = Request(method="POST", path=("tags",), document=body, safety="once", what=f"the tag '{name}'")
    return tag_of(document_of((yield request)))


def delete_tag(name: str) -> Verb[Tag]:
    from omnigraph.client.wire import tag_of

    request = Request(method="DELETE", path=("tags", name), safety="once", what=f"deleting the tag '{name}'")
    return tag_of(document_of((yield request)))


# --- merge and undo -------------------------------------------------------------------------------------------


def merge(source: str, target: str, options: Mapping[str, Any]) -> Verb[MergeResult]:
    from omnigraph.client.wire import merge_result

    body = present(source=source, target=target, **options)
    request = Request(method="POST", path=("branches", "merge"), document=body, safety="once", what="the merge")
    document = document_of((yield from _naming(request, source, target)))
    return merge_result(document, (yield from _commit_of(document)))


def restore(to: str, branch: str, if_commit: str | None, options: Mapping[str, Any]) -> Verb[RestoreResult]:
    from omnigraph.client.wire import restore_result

    request = _undo("restore", {"to": to}, branch, if_commit, options)
    document = document_of((yield from _naming(request, to, branch)))
    return restore_result(document, (yield from _commit_of(document)))


def revert(what: str, branch: str, if_commit: str | None, options: Mapping[str, Any]) -> Verb[RevertResult]:
    from omnigraph.client.wire import revert_result

    request = _undo("revert", {"what": what}, branch, if_commit, options)
    document = document_of((yield from _naming(request, what, branch)))
    return revert_result(document, (yield from _commit_of(document)))


def _undo(verb: str, body: dict[str, Any], branch: str, if_commit: str | None, options: Mapping[str, Any]) -> Request:
    return Request(
        method="POST",
        path=(verb,),
        document=present(**body, branch=branch, **options),
        headers={} if if_commit is None else {CONDITION: if_commit},
        safety="once",
        what=f"the {verb}",
    )


def _naming(request: Request, source: str, target: str) -> Verb[Any]:
    """Conflicts come without the names of what collided: they are added here."""
    try:
        return (yield request)
    except OmniGraphError as error:
        if error.code in ("merge_conflicts", "revert_conflicts", "restore_refused"):
            vars(error).update(source=source, target=target)
        raise


def _commit_of(document: Mapping[str, Any]) -> Verb[GraphCommit | None]:
    made = document.get("commit")
    return (yield from commit(made)) if isinstance(made, str) else None


def apply_schema(text: str, allow_data_loss: bool) -> Verb[Mapping[str, Any]]:
    body = {"schema_source": text, "allow_data_loss": allow_data_loss}
    request = Request(
        method="POST", path=("schema", "apply"), document=body, safety="once", what="the change of the schema"
    )
    found: Mapping[str, Any] = document_of((yield request))
    return found
