"""Exports: one snapshot as lines, streamed with two chunks in memory and a budget for the process."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Iterator

from omnigraph.model.errors import BadRequest, TypeNotFound
from omnigraph.server.call import Call, branch_name
from omnigraph.server.http import StreamReply
from omnigraph.server.operation import Answer, Operation, on_graph
from omnigraph.server.operations.parameters import DATES
from omnigraph.server.streams import stream_lines
from omnigraph.server.wire import bodies


async def export_reply(call: Call, branch: str, make: Callable[[], Iterator[bytes]]) -> StreamReply:
    """Policy, room, the snapshot, then the head of the answer: everything that can fail is checked before it."""
    call.graph.authorize("export", branch=branch)
    state, key = call.state, (call.served.graph_id, branch)
    await state.transport.reserve()
    state.exports[key] = state.exports.get(key, 0) + 1
    try:
        lines = await call.read(lambda: _refusing_types(make))
    except BaseException:
        state.transport.release()
        _done(call, key)
        raise
    return StreamReply(_counted(call, key, lines))


async def _counted(call: Call, key: tuple[str, str], lines: Iterator[bytes]) -> AsyncGenerator[bytes, None]:
    state = call.state
    try:
        async for chunk in stream_lines(call.request, lines, state.work, state.transport, state.settings.idle_seconds):
            yield chunk
    finally:
        _done(call, key)


def _done(call: Call, key: tuple[str, str]) -> None:
    call.state.exports[key] -= 1
    if not call.state.exports[key]:
        del call.state.exports[key]


def _refusing_types(make: Callable[[], Iterator[bytes]]) -> Iterator[bytes]:
    try:
        return make()
    except TypeNotFound as error:
        raise BadRequest(f"unknown export type '{error.type_name}'", error.hint) from None


async def export(call: Call) -> StreamReply:
    body = await call.body(bodies.ExportRequest)
    branch, iso = branch_name(body.branch), call.parameters.text("dates") == "iso"
    types = body.type_names or None
    return await export_reply(
        call, branch, lambda: call.graph.export(branch, types=types, dates="iso" if iso else "raw")
    )


OPERATIONS = (
    Operation(
        method="POST",
        path=on_graph("/export"),
        id="cluster_export",
        tag="queries",
        summary="The entities of a branch as JSON lines.",
        handler=export,
        parameters=(DATES,),
        body=bodies.ExportRequest,
        answers={200: Answer(media="application/x-ndjson")},
        errors=(400, 401, 403, 404, 409, 410, 413, 415, 500, 503),
    ),
)
