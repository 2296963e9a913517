"""Changes: what commits changed, one page at a time, and the baseline that a reader begins with."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable
from typing import Any

from omnigraph.model.errors import CommitNotFound, Denied, NotFound
from omnigraph.model.values import format_datetime
from omnigraph.server.call import Call, branch_name
from omnigraph.server.http import Parameter, Reply, StreamReply, bad_request
from omnigraph.server.operation import Answer, Operation, on_graph
from omnigraph.server.operations.exports import export_reply
from omnigraph.server.operations.parameters import DATES, KIND, LIMIT, OP, TYPE
from omnigraph.server.wire import bodies, change_answers, error_answers

POSITIONS = ("cursor", "start", "page_token")


def _filters(call: Call) -> dict[str, Any]:
    given = {"kinds": "kind", "types": "type", "ops": "op"}
    return {name: call.parameters.many(parameter) for name, parameter in given.items()} | {"any_types": True}


def _limits(call: Call) -> Any:
    from omnigraph import PageLimits

    limit = call.parameters.number("limit")
    if limit == 0:
        raise bad_request("'limit' must be at least 1")
    return None if limit is None else PageLimits(max_changes=limit)


def _write_dates(changes: Iterable[Any], documents: Iterable[Any]) -> None:
    """Days and moments as texts, where the stored form is a number."""
    for change, document in zip(changes, documents, strict=True):
        for side in ("before", "after"):
            image = getattr(change, side)
            if image is not None:
                values = image.values()
                document[side]["properties"] = {name: _dated(value) for name, value in values.items()}


def _dated(value: Any) -> Any:
    if isinstance(value, list):
        return [_dated(each) for each in value]
    if isinstance(value, dt.datetime):
        return format_datetime(int(value.timestamp() * 1000))
    return value.isoformat() if isinstance(value, dt.date) else value


async def poll(call: Call) -> Reply:
    parameters = call.parameters
    branch = branch_name(parameters.text("branch"))
    positions = dict(parameters.given(*POSITIONS))
    if len(positions) > 1:
        raise bad_request("pass one of cursor, start and page_token")
    options = {**_filters(call), **positions, "limits": _limits(call)}
    page = await call.read(lambda: call.graph.changes(branch, **options))
    document: Any = page.to_json()
    if call.parameters.text("dates") == "iso":
        for block, told in zip(page.blocks, document["blocks"], strict=True):
            _write_dates(block.changes, told["changes"])
    return Reply.of(document)


async def commit_changes(call: Call) -> Reply:
    """A commit that the caller may not read is one that does not exist."""
    commit_id = call.path["commit_id"]
    options = {**_filters(call), "page_token": call.parameters.text("page_token"), "limits": _limits(call)}

    def found() -> Any:
        try:
            page = call.graph.commit_changes(commit_id, **options)
        except (Denied, NotFound):
            raise CommitNotFound(commit_id) from None
        document: Any = page.to_json()
        if call.parameters.text("dates") == "iso":
            _write_dates(page.changes, document["changes"])
        return document

    return Reply.of(await call.read(found))


async def baseline(call: Call) -> StreamReply:
    body = await call.body(bodies.ChangeBaselineRequest)
    branch = branch_name(body.branch)
    options: dict[str, Any] = {"kinds": body.kind or None, "types": body.type or None, "ops": body.op or None}
    return await export_reply(call, branch, lambda: call.graph.baseline_lines(branch, **options))


_PAGE_TOKEN = Parameter("page_token", nullable=False)
_CHANGE_ERRORS = (400, 401, 404, 409, 410, 413, 500, 503)
OPERATIONS = (
    Operation(
        method="GET",
        path=on_graph("/commits/{commit_id}/changes"),
        id="cluster_getCommitChanges",
        tag="changes",
        summary="What a commit changed against its first parent.",
        handler=commit_changes,
        parameters=(_PAGE_TOKEN, LIMIT, KIND, TYPE, OP, DATES),
        is_strict=True,
        answers={200: Answer(shape=change_answers.CommitChangesOutput)},
        errors=_CHANGE_ERRORS,
        error_shape=error_answers.ChangeErrorOutput,
        hides_failures=True,
    ),
    Operation(
        method="GET",
        path=on_graph("/changes"),
        id="cluster_pollChanges",
        tag="changes",
        summary="What the commits of a branch changed, oldest first.",
        handler=poll,
        parameters=(
            Parameter("branch", nullable=False),
            Parameter("cursor", nullable=False),
            Parameter("start", nullable=False),
            _PAGE_TOKEN,
            LIMIT,
            KIND,
            TYPE,
            OP,
            DATES,
        ),
        is_strict=True,
        answers={200: Answer(shape=change_answers.ChangeFeedOutput)},
        errors=(*_CHANGE_ERRORS, 403),
        error_shape=error_answers.ChangeErrorOutput,
        hides_failures=True,
    ),
    Operation(
        method="POST",
        path=on_graph("/changes/baseline"),
        id="cluster_captureChangeBaseline",
        tag="changes",
        summary="The state of a branch as lines, and the cursor from which the feed continues.",
        handler=baseline,
        body=bodies.ChangeBaselineRequest,
        answers={200: Answer(shape=change_answers.ChangeBaselineRecord, media="application/x-ndjson")},
        errors=(400, 401, 403, 404, 409, 410, 413, 415, 500, 503),
        error_shape=error_answers.ChangeErrorOutput,
        hides_failures=True,
    ),
)
