"""`RemoteGraph`: a graph on a server, with the verbs, results and errors of `Graph`.

Get one from `og.open("http://host/graphs/ID", token=…)`. A verb that the HTTP API does not carry is not here, and an
option that it does not carry is refused.
"""

from __future__ import annotations

import datetime as dt
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, Self, TypeVar, cast

from omnigraph.client import verbs
from omnigraph.client.calls import Calls, Params, blob_selector, refuse_options
from omnigraph.client.refusals import NotOverHttp
from omnigraph.client.requests import Verb
from omnigraph.client.streams import BaselineFile, LineCutter
from omnigraph.client.transport import Transport
from omnigraph.model.errors import BadRequest, Conflict
from omnigraph.model.identifiers import MAIN, normalize_branch
from omnigraph.model.late_dataclass import dataclass

if TYPE_CHECKING:
    from omnigraph.client.wire import BranchDetailsInfo, RemoteBlob, RemoteDiff, RemoteExplanation, StoredQueryInfo
    from omnigraph.history import LogEntry, Snapshot, Tag
    from omnigraph.history.feed import Baseline, CommitChanges, FeedPage, PageLimits
    from omnigraph.language.schema import CompiledSchema
    from omnigraph.merge import MergeEdges, MergeResult, OnConflict, RestoreResult, RevertResult
    from omnigraph.query import QueryResult
    from omnigraph.storage.manifest import GraphCommit
    from omnigraph.write import LoadResult, MutationResult
    from omnigraph.write.upkeep import IndexStatus

T = TypeVar("T")
Kinds = Iterable[Literal["node", "edge"]]
Ops = Iterable[Literal["insert", "update", "delete"]]


class RemoteGraph:
    """A handle on one graph of a server, bound to one branch. It is thread-safe: open it once and share it."""

    def __init__(
        self, transport: Transport, url: str, branch: str = MAIN, *, read_only: bool = False, actor: str | None = None
    ) -> None:
        self._transport, self._url = transport, url
        self._calls = Calls(branch, read_only=read_only)
        self._actor = actor

    def _run(self, verb: Verb[T]) -> T:
        return self._transport.run(verb, self._url)

    def _write(self, verb: Verb[T]) -> T:
        self._calls.require_writable()
        return self._run(verb)

    def _beside(self, branch: str) -> Self:
        return type(self)(self._transport, self._url, branch, read_only=self._calls.read_only, actor=self._actor)

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """A verb that `Graph` has and the API does not is refused by name."""
            from omnigraph.graph import Graph

            if not name.startswith("_") and hasattr(Graph, name):
                raise NotOverHttp(f"'{name}' does not exist over HTTP")
            raise AttributeError(f"RemoteGraph has no '{name}'")

    # --- the handle -------------------------------------------------------------------------------------------

    @property
    def uri(self) -> str:
        """The address of the graph on its server."""
        return self._url

    @property
    def branch_name(self) -> str:
        return self._calls.branch

    @property
    def actor(self) -> str | None:
        """Who the server says that this caller is; None until a write told it, and for callers without a token."""
        return self._actor

    def close(self) -> None:
        """Closes the connections of this handle and of those that were made from it."""
        self._transport.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"RemoteGraph({self._url!r}, branch={self.branch_name!r})"

    # --- reading ----------------------------------------------------------------------------------------------

    def query(
        self,
        text: str,
        /,
        params: Params = None,
        *,
        query_name: str | None = None,
        branch: str | None = None,
        commit: str | None = None,
        as_of: str | dt.date | None = None,
        timeout: float | None = None,
        limits: Any = None,
        cancellation: Any = None,
        **named_params: Any,
    ) -> QueryResult:
        """Runs a read query, as `Graph.query` does. The rows come as Arrow where the server offers it."""
        refuse_options(limits=limits, cancellation=cancellation)
        where: dict[str, Any] = {"branch": branch, "commit": commit, "as_of": as_of, "timeout": timeout}
        return self._run(self._calls.query(text, params, named_params, query_name=query_name, **where))

    def explain(
        self,
        text: str,
        /,
        params: Params = None,
        *,
        query_name: str | None = None,
        branch: str | None = None,
        commit: str | None = None,
        as_of: str | dt.date | None = None,
        analyze: bool = False,
        **named_params: Any,
    ) -> RemoteExplanation:
        """The plan of a read query, as `Graph.explain` tells it."""
        where: dict[str, Any] = {"branch": branch, "commit": commit, "as_of": as_of, "analyze": analyze}
        return self._run(self._calls.explain(text, params, named_params, query_name=query_name, **where))

    def at(self, commit: str) -> RemotePinned:
        """The graph as it was right after a commit, for any number of reads."""
        return RemotePinned(self, commit)

    def stored_queries(self) -> list[StoredQueryInfo]:
        """The stored queries of the graph that this caller may see."""
        return self._run(verbs.stored_queries())

    def run_stored(
        self,
        name: str,
        /,
        params: Params = None,
        *,
        branch: str | None = None,
        commit: str | None = None,
        if_commit: str | None = None,
        idempotency_key: str | None = None,
        expect_mutation: bool | None = None,
        **named_params: Any,
    ) -> QueryResult | MutationResult:
        """Runs a stored query by its name. With `expect_mutation` one of the other kind is refused before it runs."""
        options: dict[str, Any] = {"branch": branch, "commit": commit, "if_commit": if_commit}
        options |= {"idempotency_key": idempotency_key, "expect_mutation": expect_mutation}
        return self._run(self._calls.run_stored(name, params, named_params, **options))

    @property
    def schema_source(self) -> str:
        return self._run(verbs.schema_source())

    @cached_property
    def schema(self) -> CompiledSchema:
        """The accepted schema, compiled here; read once."""
        from omnigraph.graph import compile_schema_text

        return compile_schema_text(self.schema_source)

    def indexes(self, branch: str | None = None) -> list[IndexStatus]:
        return self._run(verbs.indexes(self._calls.named(branch)))

    def export(
        self,
        branch: str | None = None,
        *,
        at: str | None = None,
        types: Sequence[str] | None = None,
        dates: Literal["raw", "iso"] = "raw",
        manifest: bool = False,
    ) -> Iterator[bytes]:
        """The entities of a branch as JSON lines, as `Graph.export` has them. A stream that breaks off is an error."""
        request = self._calls.export(branch, types, dates, at=at, manifest=manifest)
        pieces = self._transport.stream(request, self._url)
        return self._lines(pieces)

    def _lines(self, pieces: Iterator[bytes]) -> Iterator[bytes]:
        cutter = LineCutter()
        for piece in pieces:
            yield from cutter.lines(piece)
        cutter.finish(self._url)

    def blob(
        self,
        type: str,  # noqa: A002 - as `Graph.blob` has it
        id: str,  # noqa: A002
        property: str,  # noqa: A002
        *,
        branch: str | None = None,
        at: str | None = None,
    ) -> RemoteBlob:
        """One Blob value, as `Graph.blob` finds it. An external one is never followed."""
        from omnigraph.client.wire import remote_blob

        if at is not None and branch is not None:
            raise BadRequest("a blob is read from a branch or at a commit, not both", "pass branch= or at=")
        selector, named = blob_selector(type, id, property), self._calls.named(branch)
        answer = self._run(verbs.blob_facts(verbs.blob_query(selector, named, at)))
        return remote_blob(answer, selector, named, at, self._blob_bytes)

    def _blob_bytes(self, blob: RemoteBlob, start: int, end: int) -> Iterator[bytes]:
        return self._transport.stream(self._calls.blob_bytes(blob, start, end), self._url)

    # --- history ----------------------------------------------------------------------------------------------

    def snapshot(self, branch: str | None = None) -> Snapshot:
        return self._run(verbs.snapshot(self._calls.named(branch)))

    def commits(self, branch: str | None = None, *, limit: int | None = None) -> list[GraphCommit]:
        return self._run(verbs.commits(self._calls.named(branch), limit))

    def commit(self, commit_id: str) -> GraphCommit:
        return self._run(verbs.commit(commit_id))

    def commit_as_of(self, moment: str | dt.date, branch: str | None = None) -> GraphCommit:
        from omnigraph.graph import moment_text

        return self._run(verbs.commit_as_of(moment_text(moment), self._calls.named(branch)))

    def log(
        self,
        at: str | None = None,
        *,
        full: bool = False,
        actor: str | Iterable[str] | None = None,
        kind: str | Iterable[str] | None = None,
        type_name: str | Iterable[str] | None = None,
        entity: tuple[str, str] | None = None,
        message: str | None = None,
        since: str | None = None,
        before: str | None = None,
        limit: int | None = None,
    ) -> list[LogEntry]:
        """The commits that a branch, tag or commit contains, newest first, as `Graph.log` lists them."""
        refuse_options(entity=entity)
        filters = {"full": full, "actor": actor, "kind": kind, "type_name": type_name}
        filters |= {"message": message, "since": since, "before": before}
        head = f"branch:{self.branch_name}" if at is None else at
        return self._run(verbs.log(head, filters, limit))

    def diff(
        self,
        before: str,
        after: str | None = None,
        *,
        kinds: Kinds | None = None,
        types: Iterable[str] | None = None,
        ops: Ops | None = None,
    ) -> RemoteDiff:
        """What differs between two commits. The server lists the first 8,192 entities; the statistics count all."""
        end = f"branch:{self.branch_name}" if after is None else after
        return self._run(verbs.diff(before, end, {"kinds": kinds, "types": types, "ops": ops}))

    def changes(
        self,
        branch: str | None = None,
        *,
        start: str | None = None,
        cursor: str | None = None,
        page_token: str | None = None,
        kinds: Kinds | None = None,
        types: Iterable[str] | None = None,
        ops: Ops | None = None,
        limits: PageLimits | None = None,
    ) -> FeedPage:
        """One page of the change feed, as `Graph.changes` gives it."""
        position = {"start": start, "cursor": cursor, "page_token": page_token}
        filters = {"kinds": kinds, "types": types, "ops": ops, "limits": limits}
        return self._run(verbs.changes(self._calls.named(branch), position, filters))

    def commit_changes(
        self,
        commit: str,
        *,
        kinds: Kinds | None = None,
        types: Iterable[str] | None = None,
        ops: Ops | None = None,
        page_token: str | None = None,
        limits: PageLimits | None = None,
    ) -> CommitChanges:
        """One page of what a commit changed."""
        filters = {"kinds": kinds, "types": types, "ops": ops, "limits": limits}
        return self._run(verbs.commit_changes(commit, page_token, filters))

    def baseline(
        self,
        path: str | os.PathLike[str],
        branch: str | None = None,
        *,
        kinds: Kinds | None = None,
        types: Iterable[str] | None = None,
        ops: Ops | None = None,
    ) -> Baseline:
        """Writes the state of a branch to a file, whole or not at all, and returns the cursor of the feed."""
        request = self._calls.baseline(branch, {"kinds": kinds, "types": types, "ops": ops})
        file = BaselineFile(path, self._url)
        try:
            with closing(self._transport.stream(request, self._url)) as pieces:
                for line in self._lines(pieces):
                    file.write(line)
            return file.install()
        finally:
            file.discard()

    # --- branches and tags ------------------------------------------------------------------------------------

    def branches(self) -> list[str]:
        return self._run(verbs.branches())

    def branch(self, name: str) -> Self:
        """A handle on an existing branch. It uses the same connections."""
        wanted = normalize_branch(name)
        self._run(verbs.require_branch(wanted))
        return self._beside(wanted)

    def branch_details(self, names: Sequence[str] | None = None) -> list[BranchDetailsInfo]:
        return self._run(verbs.branch_details(names))

    def create_branch(self, name: str, *, source: str | None = None) -> Self:
        """Creates a branch at the head of this handle's branch, or where `source` says; returns a handle on it."""
        wanted = normalize_branch(name)
        document = self._write(verbs.create_branch(wanted, self.branch_name if source is None else source))
        self._actor = document.get("actor_id")
        return self._beside(wanted)

    def delete_branch(self, name: str) -> None:
        wanted = normalize_branch(name)
        if wanted == self.branch_name != MAIN:
            raise Conflict(f"cannot delete the currently active branch '{wanted}'", "delete it from another handle")
        self._actor = self._write(verbs.delete_branch(wanted)).get("actor_id")

    def tag(self, name: str, commit: str | None = None, *, force: bool = False) -> Tag:
        return self._write(verbs.tag(name, self.branch_name if commit is None else commit, force))

    def tags(self) -> list[Tag]:
        return self._run(verbs.tags())

    def delete_tag(self, name: str) -> Tag:
        return self._write(verbs.delete_tag(name))

    # --- writing ----------------------------------------------------------------------------------------------

    def mutate(
        self,
        text: str,
        /,
        params: Params = None,
        *,
        query_name: str | None = None,
        branch: str | None = None,
        if_commit: str | None = None,
        idempotency_key: str | None = None,
        message: str | None = None,
        **named_params: Any,
    ) -> MutationResult:
        """Runs a mutation as one commit, as `Graph.mutate` does.

        Inserts are sent with a key of their own and are repeated when an answer is lost. An update or a delete is
        repeated only with your `idempotency_key`; otherwise a lost answer is OutcomeUnknown.
        """
        options: dict[str, Any] = {"query_name": query_name, "branch": branch, "if_commit": if_commit}
        options |= {"idempotency_key": idempotency_key, "message": message}
        result = self._run(self._calls.mutate(text, params, named_params, **options))
        self._actor = result.actor_id
        return result

    def load(
        self,
        source: Any,
        *,
        mode: Literal["append", "merge", "overwrite"],
        branch: str | None = None,
        base: str | None = None,
        idempotency_key: str | None = None,
        **other: Any,
    ) -> LoadResult:
        """Loads JSON lines as one commit, streamed: files, folders, globs, or lines in memory."""
        options: dict[str, Any] = {"mode": mode, "branch": branch, "base": base, "idempotency_key": idempotency_key}
        return self._run(self._calls.load(source, **options, **other))

    def merge(
        self,
        source: str,
        into: str | None = None,
        *,
        message: str | None = None,
        dry_run: bool = False,
        on_conflict: OnConflict | None = None,
        resolve: Any = None,
        merge_edges: MergeEdges = "keep",
        delete_branch: bool = False,
    ) -> MergeResult:
        """Brings what `source` changed into another branch, as `Graph.merge` does. `resolve` is a list here."""
        if callable(resolve):
            refuse_options(resolve="a function")
        options: dict[str, Any] = {"message": message, "on_conflict": on_conflict, "resolve": resolve}
        options |= {"dry_run": dry_run, "delete_branch": delete_branch}
        options["merge_edges"] = None if merge_edges == "keep" else cast("Any", merge_edges)
        verb = verbs.merge(normalize_branch(source), self._calls.named(into), options)
        result = self._run(verb) if dry_run else self._write(verb)
        self._actor = result.actor_id
        return result

    def restore(
        self, to: str, *, message: str | None = None, if_commit: str | None = None, dry_run: bool = False
    ) -> RestoreResult:
        options = {"message": message, "dry_run": dry_run}
        verb = verbs.restore(to, self.branch_name, if_commit, options)
        return self._run(verb) if dry_run else self._write(verb)

    def revert(
        self,
        what: str,
        *,
        mainline: int | None = None,
        on_conflict: OnConflict | None = None,
        resolve: Any = None,
        message: str | None = None,
        if_commit: str | None = None,
        dry_run: bool = False,
    ) -> RevertResult:
        options: dict[str, Any] = {"mainline": mainline, "on_conflict": on_conflict, "resolve": resolve}
        options |= {"message": message, "dry_run": dry_run}
        verb = verbs.revert(what, self.branch_name, if_commit, options)
        return self._run(verb) if dry_run else self._write(verb)

    def apply_schema_text(self, text: str, *, allow_data_loss: bool = False) -> Mapping[str, Any]:
        """Gives the graph this schema, where its server allows it: `{supported, applied, step_count, steps, …}`."""
        self.__dict__.pop("schema", None)
        return self._write(verbs.apply_schema(text, allow_data_loss))


@dataclass(frozen=True, slots=True)
class RemotePinned:
    """A graph on a server, as it was right after one commit."""

    graph: RemoteGraph
    commit_id: str

    def query(self, text: str, /, params: Params = None, **options: Any) -> QueryResult:
        return self.graph.query(text, params, commit=self.commit_id, **options)

    def explain(self, text: str, /, params: Params = None, **options: Any) -> RemoteExplanation:
        return self.graph.explain(text, params, commit=self.commit_id, **options)
