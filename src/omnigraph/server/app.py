"""The app: from an ASGI request to a reply. The order of checks: path, token, graph, method, then the handler."""

from __future__ import annotations

import asyncio
import re
import time
from contextlib import suppress
from typing import TYPE_CHECKING

from omnigraph.model.identifiers import UlidCounter
from omnigraph.server.call import Call
from omnigraph.server.change_failures import allowed_failure
from omnigraph.server.failures import Failure, failure_of
from omnigraph.server.http import (
    BodyBytes,
    BrokenStream,
    ClientGone,
    HttpRefusal,
    Match,
    Receive,
    Reply,
    Request,
    Router,
    Scope,
    Send,
    StillUnavailable,
    StreamReply,
    bad_request,
    decoded,
    not_found,
    send_reply,
    send_stream,
    to_json,
)
from omnigraph.server.observe import RequestSpan, event, failure
from omnigraph.server.operation import Operation
from omnigraph.server.operations import OPERATIONS
from omnigraph.server.state import Generation, RoutedGraph, ServerState
from omnigraph.server.suggestions import nearest_graph
from omnigraph.server.wire import change_answers

if TYPE_CHECKING:
    from omnigraph.policy import Authorizer

GRAPH_ID = re.compile(r"[a-zA-Z0-9-]{1,64}", re.ASCII)
RESERVED_IDS = frozenset(("policies", "healthz", "openapi", "graphs"))
_REQUEST_ID = re.compile(r"[!-~]{1,128}", re.ASCII)
_TRACE = re.compile(r"[0-9a-f]{2}-([0-9a-f]{32})-[0-9a-f]{16}-[0-9a-f]{2}", re.ASCII)


class App:
    """The ASGI application of one process."""

    def __init__(self, state: ServerState) -> None:
        self.state = state
        self._router: Router[Operation] = Router(OPERATIONS)
        self._body_bytes = BodyBytes(state.settings.body_bytes_max)
        self._new_ids = UlidCounter()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await _live(receive, send)
            return
        if scope["type"] == "http":
            await self._http(scope, receive, send)

    async def _http(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive, self.state.settings.idle_seconds, self._body_bytes)
        try:
            await self._exchange(scope, receive, send, request)
        finally:
            if not request.is_detached:  # else what runs on has the body
                request.release()

    async def _exchange(self, scope: Scope, receive: Receive, send: Send, request: Request) -> None:
        begun = time.perf_counter()
        request_id = _given_id(request) or self._new_ids.next()
        traces = self.state.traces
        span = None if traces is None else traces.begin(request.method, request.headers)
        visit = _Visit(self, request, request_id, span)
        try:
            reply = await visit.reply()
        except ClientGone:
            self.state.metrics.client_gone()
            visit.log(499, begun)
            return
        except asyncio.CancelledError:
            if not self.state.is_draining:
                raise
            await _break_off(scope, receive)
            visit.log(503, begun)
            return
        reply.headers.append((b"x-request-id", request_id.encode()))
        status = reply.status
        try:
            if isinstance(reply, StreamReply):
                await send_stream(send, reply, self.state.settings.idle_seconds)
            else:
                is_head = request.method == "HEAD"
                await send_reply(send, reply, without_body=is_head, hold=scope.get("omnigraph.hold"))
        except ClientGone:
            self.state.metrics.client_gone()
        except BrokenStream as error:
            if error.__cause__ is not None:
                failure("a stream broke off", error.__cause__, request_id=request_id)
            _abort(scope)
        except asyncio.CancelledError:
            if not self.state.is_draining:
                raise
            await _break_off(scope, receive)
        visit.log(status, begun, reply.commit_id if isinstance(reply, Reply) else None)


async def _live(receive: Receive, send: Send) -> None:
    while True:
        message = await receive()
        await send({"type": f"{message['type']}.complete"})
        if message["type"] == "lifespan.shutdown":
            return


def _abort(scope: Scope) -> None:
    """Closes the connection without the end of the body: the client must see that it is not whole."""
    abort = scope.get("omnigraph.abort")
    if abort is not None:
        abort()


async def _break_off(scope: Scope, receive: Receive) -> None:
    """A stop that waits no longer sends no answer: whether a write happens is not known, and a client that lost its
    connection knows what to do."""
    if "omnigraph.abort" in scope:
        _abort(scope)
        while (await receive())["type"] != "http.disconnect":
            pass


def _given_id(request: Request) -> str | None:
    """The id that the caller gave its request, if it can be shown."""
    given = request.headers.get("x-request-id")
    return given if given is not None and _REQUEST_ID.fullmatch(given) else None


class _Visit:
    """One request on its way through the checks."""

    def __init__(self, app: App, request: Request, request_id: str, span: RequestSpan | None) -> None:
        self._app = app
        self._state = app.state
        self._request = request
        self._request_id = request_id
        self._span = span
        self._operation: Operation | None = None
        self._actor: str | None = None
        self._graph_id: str | None = None

    async def reply(self) -> Reply | StreamReply:
        """The answer of the handler, or that of the first check that fails."""
        try:
            reply = await self._handled()
        except ClientGone:
            raise
        except Exception as error:  # noqa: BLE001 - the one place where errors become answers
            reply = self._failed(error)
        if self._operation is not None and self._operation.successor is not None:
            reply.add("Deprecation", "true")
            reply.add("Link", f'<{self._operation.successor}>; rel="successor-version"')
        return reply

    async def _handled(self) -> Reply | StreamReply:
        request, state = self._request, self._state
        found = self._app._router.pick(request.raw_path, request.method)
        if found is None:
            raise not_found("there is no such path")
        match, self._operation, segments = found
        listed = self._operation or next(iter(match.operations.values()))
        generation = state.generation
        if not listed.is_public and not state.is_open:
            self._actor = request.actor = state.tokens.authenticate(request.headers)
        routed = self._routed(generation, listed, segments)
        if self._operation is None:
            raise _wrong_method(match)
        call = Call(
            request=request,
            operation=self._operation,
            state=state,
            generation=generation,
            request_id=self._request_id,
            actor=self._actor,
            path=_path(self._operation, segments),
            routed=routed,
            span=self._span,
        )
        _ = call.parameters  # checked before the body is looked at
        if self._operation.is_write and routed is not None and _waits_not(request):
            return await self._answered_later(call, routed.graph_id)
        return await self._operation.handler(call)

    async def _answered_later(self, call: Call, graph_id: str) -> Reply | StreamReply:
        """Reads the whole request, and answers with where its outcome will be, unless it is there already."""
        operation = self._state.operations.start(graph_id, self._actor, self._outcome(call))
        reading = asyncio.ensure_future(self._request.was_read.wait())
        await asyncio.wait({operation.task, reading}, return_when=asyncio.FIRST_COMPLETED)
        reading.cancel()
        if operation.task.done():
            return operation.task.result()
        self._request.is_detached = True
        operation.task.add_done_callback(lambda _: self._request.release())
        place = f"/graphs/{graph_id}/operations/{operation.operation_id}"
        told = change_answers.OperationOutput(operation_id=operation.operation_id, state="running")
        reply = Reply.of(told, 202)
        reply.add("Location", place)
        reply.add("Preference-Applied", "respond-async")
        return reply

    async def _outcome(self, call: Call) -> Reply:
        try:
            reply = await call.operation.handler(call)
        except ClientGone:
            raise
        except Exception as error:  # noqa: BLE001 - kept as the answer that it would have been
            return self._failed(error)
        assert isinstance(reply, Reply), "writes do not stream"
        return reply

    def _routed(self, generation: Generation, listed: Operation, segments: tuple[str, ...]) -> RoutedGraph | None:
        """The graph, by the id as it is written: `libr%61ry` is none."""
        if not listed.on_graph:
            return None
        graph_id = segments[0]
        if GRAPH_ID.fullmatch(graph_id) is None or graph_id in RESERVED_IDS:
            raise bad_request(f"'{graph_id[:80]}' is not a graph id", "ids are 1 to 64 letters, digits and '-'")
        routed = generation.graphs.get(graph_id)
        if routed is None:
            if graph_id in generation.skipped and self._may_know(generation.skipped_policies.get(graph_id)):
                raise StillUnavailable(graph_id)
            raise not_found(f"graph '{graph_id}' not found", nearest_graph(generation.graphs, self._actor, graph_id))
        self._graph_id = graph_id
        return routed

    def _may_know(self, policy: Authorizer | None) -> bool:
        """Whether the caller may read the graph, and so may know that it is only unavailable."""
        from omnigraph.policy import Action, PolicyRequest

        if policy is None or self._actor is None:
            return False
        return policy.authorize(self._actor, PolicyRequest(action=Action.READ, branch="main")).allowed

    def _failed(self, error: Exception) -> Reply:
        told: Failure = failure_of(error, self._request_id)
        if self._operation is not None and self._operation.hides_failures:
            told = allowed_failure(error, told)
        if told.is_hidden:
            operation = None if self._operation is None else self._operation.id
            failure("request failed", error, request_id=self._request_id, operation=operation, graph=self._graph_id)
        reply = Reply(told.status, to_json(told.body), is_final=told.closes)
        for name, value in told.headers:
            with suppress(UnicodeEncodeError):
                reply.add(name, value)
        return reply

    def log(self, status: int, begun: float, commit_id: str | None = None) -> None:
        seconds = time.perf_counter() - begun
        operation = "unknown" if self._operation is None else self._operation.id
        self._state.metrics.request(operation, status, seconds)
        self._end_span(status, commit_id)
        event(
            "request",
            method=self._request.method,
            path=self._request.raw_path[:200],
            status=status,
            ms=seconds * 1000,
            graph=self._graph_id,
            actor_id=self._actor,
            commit=commit_id,
            request_id=self._request_id,
            trace_id=self._trace_id(),
        )

    def _trace_id(self) -> str | None:
        """Of our own span, or of the caller's if there is none."""
        if self._span is not None:
            return self._span.trace_id
        trace = _TRACE.fullmatch(self._request.headers.get("traceparent", ""))
        return trace[1] if trace else None

    def _end_span(self, status: int, commit_id: str | None) -> None:
        if self._span is None:
            return
        facts = {
            "omnigraph.operation": None if self._operation is None else self._operation.id,
            "omnigraph.graph": self._graph_id,
            "omnigraph.commit": commit_id,
            "omnigraph.request_id": self._request_id,
            "enduser.id": self._actor,
        }
        self._span.end(status, self._request.method, None if self._operation is None else self._operation.path, facts)


def _waits_not(request: Request) -> bool:
    return "respond-async" in request.headers.get("prefer", "").lower()


def _wrong_method(match: Match[Operation]) -> HttpRefusal:
    refusal = HttpRefusal(405, "this path does not take this method", code="method_not_allowed")
    refusal.headers.append(("Allow", match.allowed))
    return refusal


def _path(operation: Operation, segments: tuple[str, ...]) -> dict[str, str]:
    names = [part[1:-1] for part in operation.path.split("/") if part.startswith("{")]
    return {
        name: segment if name == "graph_id" else decoded(segment) for name, segment in zip(names, segments, strict=True)
    }
