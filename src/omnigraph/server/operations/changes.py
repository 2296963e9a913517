"""Changes: what commits changed, one page at a time, and the baseline that a reader begins with."""

from __future__ import annotations

from typing import Any

from omnigraph.model.errors import CommitNotFound, Denied, NotFound
from omnigraph.server.call import Call, branch_name
from omnigraph.server.http import Parameter, Reply, StreamReply, bad_request
from omnigraph.server.operation import Answer, Operation, on_graph
from omnigraph.server.operations.exports import export_reply
from omnigraph.server.operations.parameters import KIND, LIMIT, OP, TYPE
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


async def poll(call: Call) -> Reply:
    parameters = call.parameters
    branch = branch_name(parameters.text("branch"))
    positions = dict(parameters.given(*POSITIONS))
    if len(positions) > 1:
        raise bad_request("pass one of cursor, start and page_token")
    options = {**_filters(call), **positions, "limits": _limits(call)}
    page = await call.read(lambda: call.graph.changes(branch, **options))
    return Reply.of(page.to_json())


async def commit_changes(call: Call) -> Reply:
    """A commit that the caller may not read is one that does not exist."""
    commit_id = call.path["commit_id"]
    options = {**_filters(call), "page_token": call.parameters.text("page_token"), "limits": _limits(call)}

    def found() -> Any:
        try:
            return call.graph.commit_changes(commit_id, **options).to_json()
        except (Denied, NotFound):
            raise CommitNotFound(commit_id) from None

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
        parameters=(_PAGE_TOKEN, LIMIT, KIND, TYPE, OP),
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
