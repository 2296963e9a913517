"""Calls: the arguments of a method to a verb, with the checks that `Graph` makes. Shared by both kinds of graphs."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal

from omnigraph.client import verbs
from omnigraph.client.refusals import NotOverHttp
from omnigraph.client.requests import NDJSON, Request, Verb
from omnigraph.graph import json_params, moment_text
from omnigraph.model.errors import BadRequest, OpenedReadOnly
from omnigraph.model.identifiers import normalize_branch

if TYPE_CHECKING:
    from omnigraph.client.wire import BlobSelector, RemoteBlob, RemoteExplanation
    from omnigraph.query import QueryResult
    from omnigraph.write import LoadResult, MutationResult

Params = Mapping[str, Any] | None
LOAD_DEFAULTS = {"on_error": "fail", "max_errors": 100, "engine": "auto", "format": "jsonl", "options": {}}
"""What `Graph.load` takes where nothing is said: the same as nothing."""


def refuse_options(**options: Any) -> None:
    """An option that the API does not carry is refused, not ignored."""
    for name, value in options.items():
        if value not in (None, False):
            raise NotOverHttp(f"'{name}' does not exist over HTTP")


def checked_params(
    text: str, name: str | None, params: Params, named: Mapping[str, Any], kind: Literal["read", "mutation"]
) -> dict[str, Any]:
    """The parameters, checked against the declaration as in process. What does not compile is the server's to tell."""
    from omnigraph.language.query import WrongQueryKind, bind_params

    given: dict[str, Any] = dict(json_params(params, named))
    source = _declared(text)
    if source is None:
        return given
    if name is None:
        declaration = source.declarations[0] if len(source.declarations) == 1 else None
    else:
        declaration = source.by_name.get(name)
    if declaration is not None:
        if declaration.kind != kind:
            raise WrongQueryKind(declaration.name, declaration.kind)
        bind_params(declaration.params, given)
    return given


@lru_cache(maxsize=256)
def _declared(text: str) -> Any:
    """What a text declares; None if it does not compile. Kept: programs send the same texts again and again."""
    from omnigraph.language import CompileError
    from omnigraph.language.query import parse_queries

    try:
        return parse_queries(text)
    except CompileError:
        return None


class Calls:
    """The calls of one handle: bound to a branch, and maybe for reading only."""

    def __init__(self, branch: str, *, read_only: bool) -> None:
        self.branch, self.read_only = branch, read_only

    def named(self, branch: str | None) -> str:
        return self.branch if branch is None else normalize_branch(branch)

    def require_writable(self) -> None:
        if self.read_only:
            raise OpenedReadOnly("the graph was opened for reading")

    # --- reads ------------------------------------------------------------------------------------------------

    def query(
        self,
        text: str,
        params: Params,
        named: Mapping[str, Any],
        *,
        query_name: str | None,
        branch: str | None,
        commit: str | None,
        as_of: str | dt.date | None,
        timeout: float | None,
    ) -> Verb[QueryResult]:
        given = checked_params(text, query_name, params, named, "read")
        commit = yield from self._read_commit(commit, branch, as_of)
        return (yield from verbs.query(text, given, query_name, self.named(branch), commit, timeout))

    def explain(
        self,
        text: str,
        params: Params,
        named: Mapping[str, Any],
        *,
        query_name: str | None,
        branch: str | None,
        commit: str | None,
        as_of: str | dt.date | None,
        analyze: bool,
    ) -> Verb[RemoteExplanation]:
        given = checked_params(text, query_name, params, named, "read")
        commit = yield from self._read_commit(commit, branch, as_of)
        return (yield from verbs.explain(text, given, query_name, self.named(branch), commit, analyze))

    def _read_commit(self, commit: str | None, branch: str | None, as_of: str | dt.date | None) -> Verb[str | None]:
        if commit is not None and as_of is not None:
            raise BadRequest("a query reads a commit or a time, not both", "pass commit= or as_of=")
        if as_of is None:
            return commit
        return (yield from verbs.commit_as_of(moment_text(as_of), self.named(branch))).commit_id

    def run_stored(
        self,
        name: str,
        params: Params,
        named: Mapping[str, Any],
        *,
        branch: str | None,
        commit: str | None,
        if_commit: str | None,
        idempotency_key: str | None,
        expect_mutation: bool | None,
    ) -> Verb[QueryResult | MutationResult]:
        if expect_mutation:
            self.require_writable()
        given = json_params(params, named)
        where = self.named(branch)
        return verbs.run_stored(name, given, where, commit, if_commit, idempotency_key, expect_mutation)

    # --- writes -----------------------------------------------------------------------------------------------

    def mutate(
        self,
        text: str,
        params: Params,
        named: Mapping[str, Any],
        *,
        query_name: str | None,
        branch: str | None,
        if_commit: str | None,
        idempotency_key: str | None,
        message: str | None,
    ) -> Verb[MutationResult]:
        self.require_writable()
        given = checked_params(text, query_name, params, named, "mutation")
        return verbs.mutate(text, given, query_name, self.named(branch), if_commit, idempotency_key, message)

    def load(
        self, source: Any, *, mode: str, branch: str | None, base: str | None, idempotency_key: str | None, **other: Any
    ) -> Verb[LoadResult]:
        from omnigraph.client.bodies import load_body

        self.require_writable()
        if mode not in ("append", "merge", "overwrite"):
            raise BadRequest(f"mode must be append, merge or overwrite, not {mode!r}")
        other.pop("progress", None)  # the server tells nothing before it is done
        refuse_options(**{name: value for name, value in other.items() if value != LOAD_DEFAULTS.get(name)})
        body, can_repeat = load_body(source)
        base_branch = None if base is None else normalize_branch(base)
        return verbs.load(body, can_repeat, mode, self.named(branch), base_branch, idempotency_key)

    # --- streams ----------------------------------------------------------------------------------------------

    def export(self, branch: str | None, types: Any, dates: str, **other: Any) -> Request:
        refuse_options(**other)
        if dates not in ("raw", "iso"):
            raise BadRequest(f"dates must be raw or iso, not {dates!r}")
        body: dict[str, Any] = {"branch": self.named(branch), "type_names": list(types or ())}
        query = [("dates", "iso")] if dates == "iso" else []
        return Request(method="POST", path=("export",), document=body, query=query, accept=NDJSON)

    def baseline(self, branch: str | None, filters: Mapping[str, Any]) -> Request:
        body = verbs.baseline_body(self.named(branch), filters)
        return Request(method="POST", path=("changes", "baseline"), document=body, accept=NDJSON)

    def blob_bytes(self, blob: RemoteBlob, start: int, end: int) -> Request:
        """Exactly this value: another one that took its place meanwhile is refused by its tag."""
        headers = {"Range": f"bytes={start}-{end - 1}"} | ({} if blob.etag is None else {"If-Match": blob.etag})
        query = verbs.blob_query(blob.selector, blob.branch, blob.at)
        return Request(method="GET", path=("blob",), query=query, headers=headers, accept="*/*")


def blob_selector(type_name: str, entity_id: str, property_name: str) -> BlobSelector:
    """`Book`, `node:Book` or `edge:Wrote`; a bare name is that of a node type."""
    from omnigraph.client.wire import BlobSelector

    kind, colon, name = type_name.partition(":")
    if not colon:
        return BlobSelector("node", type_name, entity_id, property_name)
    return BlobSelector("edge" if kind == "edge" else "node", name, entity_id, property_name)
