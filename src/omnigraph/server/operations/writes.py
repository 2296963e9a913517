"""Writes: mutations, plain and conditional. One request is one commit, or nothing."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from omnigraph.language.query import ParameterError
from omnigraph.server.call import Call, branch_name
from omnigraph.server.documents import change_output
from omnigraph.server.http import Reply, bad_request, params_of, parsed, shaped, to_json
from omnigraph.server.operation import Answer, Operation, on_graph
from omnigraph.server.operations.headers import condition, idempotency_key, refuse_condition, refuse_misplaced
from omnigraph.server.operations.parameters import IF_COMMIT, KEY
from omnigraph.server.operations.reads import declared_params
from omnigraph.server.wire import answers, bodies

if TYPE_CHECKING:
    from omnigraph.write import MutationResult

ALIASES = {"query_source": "query", "query_name": "name"}


async def change_request(call: Call) -> bodies.ChangeRequest:
    """The body, also under the older names of its members; both names of one member are too many."""
    call.request.require_json()
    found = parsed(await call.request.body(call.state.settings.body_max))
    refuse_misplaced(found)
    if isinstance(found, dict):
        for alias, name in ALIASES.items():
            if alias in found and name in found:
                raise bad_request(f"'{alias}' is another name of '{name}': give one of them")
            if alias in found:
                found[name] = found.pop(alias)
    return shaped(found, bodies.ChangeRequest)


async def run_mutation(call: Call, body: bodies.ChangeRequest, if_commit: str | None) -> Reply:
    """Runs it after the policy and the admission. `if_commit` must still be the head."""
    branch, params = branch_name(body.branch), params_of(body.params)
    key = idempotency_key(call)
    options: dict[str, Any] = {"query_name": body.name, "branch": branch, "message": body.message}
    options |= {"if_commit": if_commit, "idempotency_key": key}
    result = await call.write(
        partial(call.graph.authorize, "change", branch=branch),
        len(body.query.encode()) + len(to_json(params)),
        lambda: _mutate(call, body, params, options),
        branch,
    )
    call.note_commit(result.commit_id)
    return Reply.of(change_output(result), commit_id=result.commit_id)


def _mutate(call: Call, body: bodies.ChangeRequest, params: dict[str, Any], options: dict[str, Any]) -> MutationResult:
    """Parameters that the query does not declare are ignored, as the contract promises."""
    try:
        return call.graph.mutate(body.query, params, **options)
    except ParameterError:
        known = declared_params(body.query, body.name)
        kept = {name: value for name, value in params.items() if name in known}
        if len(kept) == len(params):
            raise
        return call.graph.mutate(body.query, kept, **options)


async def mutate(call: Call) -> Reply:
    refuse_condition(call, "/mutate/if-graph-commit")
    return await run_mutation(call, await change_request(call), None)


async def mutate_if(call: Call) -> Reply:
    body = await change_request(call)
    return await run_mutation(call, body, condition(call))


WRITE_ERRORS = (400, 401, 403, 404, 408, 409, 410, 413, 415, 424, 429, 500, 502, 503)
OPERATIONS = (
    Operation(
        method="POST",
        path=on_graph("/mutate"),
        id="cluster_mutate",
        tag="mutations",
        summary="Run insert, update and delete statements as one commit.",
        is_write=True,
        handler=mutate,
        parameters=(KEY,),
        body=bodies.ChangeRequest,
        answers={200: Answer(shape=answers.ChangeOutput)},
        errors=WRITE_ERRORS,
    ),
    Operation(
        method="POST",
        path=on_graph("/mutate/if-graph-commit"),
        id="cluster_mutate_if_graph_commit",
        tag="mutations",
        summary="Run a mutation if a commit is still the head of the branch.",
        is_write=True,
        handler=mutate_if,
        parameters=(IF_COMMIT, KEY),
        body=bodies.ChangeRequest,
        answers={200: Answer(shape=answers.ChangeOutput)},
        errors=(*WRITE_ERRORS, 412),
    ),
    Operation(
        method="POST",
        path=on_graph("/change"),
        id="cluster_change",
        tag="mutations",
        summary="Run a mutation; use /mutate instead.",
        is_write=True,
        handler=mutate,
        parameters=(KEY,),
        body=bodies.ChangeRequest,
        answers={200: Answer(shape=answers.ChangeOutput)},
        errors=WRITE_ERRORS,
        is_deprecated=True,
        successor="mutate",
    ),
)
