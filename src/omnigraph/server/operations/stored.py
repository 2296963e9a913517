"""Stored queries: their catalogue, and running one by its name."""

from __future__ import annotations

from omnigraph.server.call import Call
from omnigraph.server.http import HttpRefusal, Reply, bad_request, not_found, parsed, shaped
from omnigraph.server.operation import Answer, Operation, on_graph
from omnigraph.server.operations.headers import condition, refuse_condition, refuse_misplaced
from omnigraph.server.operations.parameters import IF_COMMIT, KEY, TIMEOUT
from omnigraph.server.operations.reads import READ_ERRORS, Question, ask, read_reply
from omnigraph.server.operations.writes import WRITE_ERRORS, run_mutation
from omnigraph.server.stored_queries import StoredQuery
from omnigraph.server.suggestions import nearest_query
from omnigraph.server.wire import answers, bodies


async def catalogue(call: Call) -> Reply:
    """Those that the caller may run, where the policy tells them apart; otherwise all of them."""

    def listed() -> list[StoredQuery]:
        call.graph.authorize("read", branch="main")
        queries = list(call.served.stored.values())
        if not call.served.lists_what_may_run:
            return queries
        return [query for query in queries if call.graph.allows("invoke_query", query=query.name)]

    return Reply.of(answers.QueriesCatalogOutput(queries=[query.entry for query in await call.read(listed)]))


async def invoke(call: Call) -> Reply:
    refuse_condition(call, f"/queries/{call.path['name']}/if-graph-commit")
    body = await _body(call)
    stored = _find(call, body)
    if stored.is_mutation:
        return await run_mutation(call, _change(stored, body), None)
    call.event("stored query invoked", query=stored.name, kind="read")
    question = Question(stored.text, stored.name, body.params, body.branch, body.snapshot)
    return read_reply(call, await ask(call, question), question)


async def invoke_if(call: Call) -> Reply:
    body = await _body(call)
    head = condition(call)
    stored = _find(call, body)
    if not stored.is_mutation:
        raise bad_request(f"'{stored.name}' is a read, which has no condition")
    return await run_mutation(call, _change(stored, body), head)


def _change(stored: StoredQuery, body: bodies.InvokeStoredQueryRequest) -> bodies.ChangeRequest:
    if body.snapshot is not None:
        raise bad_request("stored mutation cannot target a snapshot")
    return bodies.ChangeRequest(query=stored.text, name=stored.name, params=body.params, branch=body.branch)


async def _body(call: Call) -> bodies.InvokeStoredQueryRequest:
    """Nothing, null and an empty object mean the defaults; the content type does not matter."""
    raw = await call.request.body(call.state.settings.body_max)
    if not raw.strip():
        return bodies.InvokeStoredQueryRequest()
    try:
        found = parsed(raw)
        refuse_misplaced(found)
        return bodies.InvokeStoredQueryRequest() if found is None else shaped(found, bodies.InvokeStoredQueryRequest)
    except HttpRefusal as error:
        raise bad_request(f"invalid stored-query invocation body: {error.sentence()}", error.hint) from None


def _find(call: Call, body: bodies.InvokeStoredQueryRequest) -> StoredQuery:
    """The query, if the caller may run it: whether it exists is not told to anyone else."""
    name = call.path["name"]
    may_run = call.graph.allows("invoke_query", query=name)
    stored = call.served.stored.get(name) if may_run else None
    if stored is None:
        raise not_found("stored query not found", nearest_query(call, name))
    if body.expect_mutation is not None and body.expect_mutation != stored.is_mutation:
        word, verb = ("mutation", "mutate") if stored.is_mutation else ("read", "query")
        raise bad_request(f"'{name}' is a {word} — use omnigraph {verb} {name}")
    if stored.is_mutation:
        call.event("stored query invoked", query=name, kind="mutation")
    return stored


_ALL_ERRORS = tuple(sorted({*READ_ERRORS, *WRITE_ERRORS}))
OPERATIONS = (
    Operation(
        method="GET",
        path=on_graph("/queries"),
        id="cluster_list_queries",
        tag="queries",
        summary="The stored queries of the graph, with their parameters.",
        handler=catalogue,
        answers={200: Answer(shape=answers.QueriesCatalogOutput)},
        errors=(401, 403, 404, 500, 503),
    ),
    Operation(
        method="POST",
        path=on_graph("/queries/{name}"),
        id="cluster_invoke_query",
        tag="queries",
        summary="Run a stored query.",
        is_write=True,
        handler=invoke,
        parameters=(TIMEOUT, KEY),
        body=bodies.InvokeStoredQueryRequest,
        body_required=False,
        answers={200: Answer(shape=(answers.ReadOutput, answers.ChangeOutput))},
        errors=_ALL_ERRORS,
    ),
    Operation(
        method="POST",
        path=on_graph("/queries/{name}/if-graph-commit"),
        id="cluster_invoke_query_if_graph_commit",
        tag="queries",
        summary="Run a stored mutation if a commit is still the head of the branch.",
        is_write=True,
        handler=invoke_if,
        parameters=(IF_COMMIT, KEY),
        body=bodies.InvokeStoredQueryRequest,
        body_required=False,
        answers={200: Answer(shape=answers.ChangeOutput)},
        errors=(*WRITE_ERRORS, 412),
    ),
)
