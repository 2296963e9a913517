"""`AsyncRemoteGraph`: the verbs of `RemoteGraph`, awaited. Get one from `omnigraph.client.connect_async`."""

from __future__ import annotations

import asyncio
import datetime as dt
import os
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import aclosing
from typing import TYPE_CHECKING, Any, Literal, Self, TypeVar

from omnigraph.client import verbs
from omnigraph.client.async_transport import AsyncTransport, lines_of
from omnigraph.client.calls import Calls, Params, blob_selector, refuse_options
from omnigraph.client.refusals import NotOverHttp
from omnigraph.client.requests import Verb
from omnigraph.client.streams import BaselineFile
from omnigraph.model.errors import BadRequest, Conflict
from omnigraph.model.identifiers import MAIN, normalize_branch

if TYPE_CHECKING:
    from omnigraph.client.wire import BranchDetailsInfo, RemoteBlob, RemoteDiff, RemoteExplanation, StoredQueryInfo
    from omnigraph.history import LogEntry, Snapshot, Tag
    from omnigraph.history.feed import Baseline, CommitChanges, FeedPage, PageLimits
    from omnigraph.merge import MergeResult, RestoreResult, RevertResult
    from omnigraph.query import QueryResult
    from omnigraph.storage.manifest import GraphCommit
    from omnigraph.write import LoadResult, MutationResult
    from omnigraph.write.upkeep import IndexStatus

T = TypeVar("T")


class AsyncRemoteGraph:
    """A handle on one graph of a server, bound to one branch, for the tasks of one event loop."""

    def __init__(self, transport: AsyncTransport, url: str, branch: str = MAIN, *, read_only: bool = False) -> None:
        self._transport, self._url = transport, url
        self._calls = Calls(branch, read_only=read_only)

    async def _run(self, verb: Verb[T]) -> T:
        return await self._transport.run(verb, self._url)

    async def _write(self, verb: Verb[T]) -> T:
        self._calls.require_writable()
        return await self._run(verb)

    def _beside(self, branch: str) -> Self:
        return type(self)(self._transport, self._url, branch, read_only=self._calls.read_only)

    @property
    def uri(self) -> str:
        return self._url

    @property
    def branch_name(self) -> str:
        return self._calls.branch

    async def close(self) -> None:
        await self._transport.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    def __repr__(self) -> str:
        return f"AsyncRemoteGraph({self._url!r}, branch={self.branch_name!r})"

    # --- reading ----------------------------------------------------------------------------------------------

    async def query(
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
        **named_params: Any,
    ) -> QueryResult:
        where: dict[str, Any] = {"branch": branch, "commit": commit, "as_of": as_of, "timeout": timeout}
        return await self._run(self._calls.query(text, params, named_params, query_name=query_name, **where))

    async def explain(
        self,
        text: str,
        /,
        params: Params = None,
        *,
        query_name: str | None = None,
        branch: str | None = None,
        commit: str | None = None,
        analyze: bool = False,
        **named_params: Any,
    ) -> RemoteExplanation:
        where: dict[str, Any] = {"branch": branch, "commit": commit, "as_of": None, "analyze": analyze}
        return await self._run(self._calls.explain(text, params, named_params, query_name=query_name, **where))

    async def stored_queries(self) -> list[StoredQueryInfo]:
        return await self._run(verbs.stored_queries())

    async def run_stored(
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
        options: dict[str, Any] = {"branch": branch, "commit": commit, "if_commit": if_commit}
        options |= {"idempotency_key": idempotency_key, "expect_mutation": expect_mutation}
        return await self._run(self._calls.run_stored(name, params, named_params, **options))

    async def schema_source(self) -> str:
        return await self._run(verbs.schema_source())

    async def indexes(self, branch: str | None = None) -> list[IndexStatus]:
        return await self._run(verbs.indexes(self._calls.named(branch)))

    def export(
        self,
        branch: str | None = None,
        *,
        types: Sequence[str] | None = None,
        dates: Literal["raw", "iso"] = "raw",
    ) -> AsyncIterator[bytes]:
        """The entities of a branch as JSON lines, as they arrive."""
        request = self._calls.export(branch, types, dates)
        return lines_of(self._transport.stream(request, self._url), self._url)

    async def blob(
        self,
        type: str,  # noqa: A002 - as `Graph.blob` has it
        id: str,  # noqa: A002
        property: str,  # noqa: A002
        *,
        branch: str | None = None,
        at: str | None = None,
    ) -> RemoteBlob:
        """The facts of one Blob value; `read_blob` has its bytes."""
        from omnigraph.client.wire import remote_blob

        if at is not None and branch is not None:
            raise BadRequest("a blob is read from a branch or at a commit, not both", "pass branch= or at=")
        selector, named = blob_selector(type, id, property), self._calls.named(branch)
        answer = await self._run(verbs.blob_facts(verbs.blob_query(selector, named, at)))
        return remote_blob(answer, selector, named, at, _in_no_thread)

    async def read_blob(self, blob: RemoteBlob, start: int = 0, end: int | None = None) -> bytes:
        """The bytes of a value, or a range of them."""
        first, last = blob.span(start, end)
        if first == last:
            return b""
        request = self._calls.blob_bytes(blob, first, last)
        async with aclosing(self._transport.stream(request, self._url)) as pieces:
            return b"".join([piece async for piece in pieces])

    # --- history ----------------------------------------------------------------------------------------------

    async def snapshot(self, branch: str | None = None) -> Snapshot:
        return await self._run(verbs.snapshot(self._calls.named(branch)))

    async def commits(self, branch: str | None = None, *, limit: int | None = None) -> list[GraphCommit]:
        return await self._run(verbs.commits(self._calls.named(branch), limit))

    async def commit(self, commit_id: str) -> GraphCommit:
        return await self._run(verbs.commit(commit_id))

    async def log(self, at: str | None = None, *, limit: int | None = None, **filters: Any) -> list[LogEntry]:
        refuse_options(entity=filters.pop("entity", None))
        return await self._run(verbs.log(f"branch:{self.branch_name}" if at is None else at, filters, limit))

    async def diff(self, before: str, after: str | None = None, **filters: Any) -> RemoteDiff:
        return await self._run(verbs.diff(before, f"branch:{self.branch_name}" if after is None else after, filters))

    async def changes(
        self,
        branch: str | None = None,
        *,
        start: str | None = None,
        cursor: str | None = None,
        page_token: str | None = None,
        kinds: Iterable[str] | None = None,
        types: Iterable[str] | None = None,
        ops: Iterable[str] | None = None,
        limits: PageLimits | None = None,
    ) -> FeedPage:
        position = {"start": start, "cursor": cursor, "page_token": page_token}
        filters = {"kinds": kinds, "types": types, "ops": ops, "limits": limits}
        return await self._run(verbs.changes(self._calls.named(branch), position, filters))

    async def commit_changes(self, commit: str, *, page_token: str | None = None, **filters: Any) -> CommitChanges:
        return await self._run(verbs.commit_changes(commit, page_token, filters))

    async def baseline(self, path: str | os.PathLike[str], branch: str | None = None, **filters: Any) -> Baseline:
        """Writes the state of a branch to a file, whole or not at all."""
        request = self._calls.baseline(branch, filters)
        file = BaselineFile(path, self._url)
        try:
            async with aclosing(lines_of(self._transport.stream(request, self._url), self._url)) as lines:
                async for line in lines:
                    file.write(line)
            return await asyncio.to_thread(file.install)
        finally:
            file.discard()

    # --- branches and tags ------------------------------------------------------------------------------------

    async def branches(self) -> list[str]:
        return await self._run(verbs.branches())

    async def branch(self, name: str) -> Self:
        wanted = normalize_branch(name)
        await self._run(verbs.require_branch(wanted))
        return self._beside(wanted)

    async def branch_details(self, names: Sequence[str] | None = None) -> list[BranchDetailsInfo]:
        return await self._run(verbs.branch_details(names))

    async def create_branch(self, name: str, *, source: str | None = None) -> Self:
        wanted = normalize_branch(name)
        await self._write(verbs.create_branch(wanted, self.branch_name if source is None else source))
        return self._beside(wanted)

    async def delete_branch(self, name: str) -> None:
        wanted = normalize_branch(name)
        if wanted == self.branch_name != MAIN:
            raise Conflict(f"cannot delete the currently active branch '{wanted}'", "delete it from another handle")
        await self._write(verbs.delete_branch(wanted))

    async def tag(self, name: str, commit: str | None = None, *, force: bool = False) -> Tag:
        return await self._write(verbs.tag(name, self.branch_name if commit is None else commit, force))

    async def tags(self) -> list[Tag]:
        return await self._run(verbs.tags())

    async def delete_tag(self, name: str) -> Tag:
        return await self._write(verbs.delete_tag(name))

    # --- writing ----------------------------------------------------------------------------------------------

    async def mutate(
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
        options: dict[str, Any] = {"query_name": query_name, "branch": branch, "if_commit": if_commit}
        options |= {"idempotency_key": idempotency_key, "message": message}
        return await self._run(self._calls.mutate(text, params, named_params, **options))

    async def load(
        self,
        source: Any,
        *,
        mode: Literal["append", "merge", "overwrite"],
        branch: str | None = None,
        base: str | None = None,
        idempotency_key: str | None = None,
        **other: Any,
    ) -> LoadResult:
        options: dict[str, Any] = {"mode": mode, "branch": branch, "base": base, "idempotency_key": idempotency_key}
        return await self._run(self._calls.load(source, **options, **other))

    async def merge(self, source: str, into: str | None = None, **options: Any) -> MergeResult:
        """Options as in `RemoteGraph.merge`."""
        known = ("message", "dry_run", "on_conflict", "resolve", "merge_edges", "delete_branch")
        refuse_options(**{name: value for name, value in options.items() if name not in known})
        verb = verbs.merge(normalize_branch(source), self._calls.named(into), options)
        return await (self._run(verb) if options.get("dry_run") else self._write(verb))

    async def restore(
        self, to: str, *, message: str | None = None, if_commit: str | None = None, dry_run: bool = False
    ) -> RestoreResult:
        verb = verbs.restore(to, self.branch_name, if_commit, {"message": message, "dry_run": dry_run})
        return await (self._run(verb) if dry_run else self._write(verb))

    async def revert(self, what: str, *, if_commit: str | None = None, **options: Any) -> RevertResult:
        """Options as in `RemoteGraph.revert`."""
        known = ("mainline", "on_conflict", "resolve", "message", "dry_run")
        refuse_options(**{name: value for name, value in options.items() if name not in known})
        verb = verbs.revert(what, self.branch_name, if_commit, options)
        return await (self._run(verb) if options.get("dry_run") else self._write(verb))

    async def apply_schema_text(self, text: str, *, allow_data_loss: bool = False) -> Mapping[str, Any]:
        return await self._write(verbs.apply_schema(text, allow_data_loss))


def _in_no_thread(*_: object) -> Any:
    raise NotOverHttp("in an event loop the bytes of a blob are awaited", "await its method read_blob")
