"""Reads: queries, the schema, the tables of a snapshot."""

from __future__ import annotations

import io
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from omnigraph.language.query import ParameterError, WrongQueryKind, parse_queries
from omnigraph.model.errors import BadRequest, CommitNotFound, Denied, NotFound
from omnigraph.model.types import Scalar
from omnigraph.server.call import Call, branch_name
from omnigraph.server.documents import snapshot_output
from omnigraph.server.http import ARROW, Reply, bad_request, params_of
from omnigraph.server.operation import Answer, Operation, on_graph
from omnigraph.server.operations.headers import timeout_seconds, wants_arrow, wants_text_integers
from omnigraph.server.operations.parameters import BRANCH, TIMEOUT
from omnigraph.server.wire import answers, bodies, change_answers

if TYPE_CHECKING:
    from omnigraph.query import QueryResult

BIG = (Scalar.I64, Scalar.U64)


class Question:
    """A read as a caller sends it, from any of the routes that take one."""

    def __init__(self, text: str, name: str | None, params: Any, branch: str | None, snapshot: str | None) -> None:
        if branch is not None and snapshot is not None:
            raise bad_request("request may specify branch or snapshot, not both")
        self.text = text
        self.name = name
        self.params = params_of(params)
        self.branch = branch_name(branch) if snapshot is None else None
        self.snapshot = snapshot

    def where(self) -> dict[str, Any]:
        return {"branch": self.branch} if self.snapshot is None else {"commit": self.snapshot}


async def ask(call: Call, question: Question) -> QueryResult:
    """Runs it for the caller; it ends when the client goes away."""
    from omnigraph import Cancellation

    switch = Cancellation()
    options: dict[str, Any] = {"timeout": timeout_seconds(call), "cancellation": switch}
    run = partial(call.graph.query, query_name=question.name, **question.where(), **options)
    return await call.read(lambda: _masked(question, lambda: _lenient(run, question.text, question)), switch)


def _masked(question: Question, run: Callable[[], Any]) -> Any:
    """A commit that the caller may not read is one that does not exist."""
    if question.snapshot is None:
        return run()
    try:
        return run()
    except Denied:
        raise CommitNotFound(question.snapshot) from None
    except NotFound as error:
        if error.code == "unknown_reference":
            raise CommitNotFound(question.snapshot) from None
        raise


def _lenient(run: Callable[..., Any], text: str, question: Question) -> Any:
    """Parameters that the query does not declare are ignored here, as the contract promises; elsewhere they are not."""
    try:
        return run(text, question.params)
    except ParameterError:
        known = declared_params(text, question.name)
        kept = {name: value for name, value in question.params.items() if name in known}
        if len(kept) == len(question.params):
            raise
        return run(text, kept)


def declared_params(text: str, name: str | None) -> set[str]:
    source = parse_queries(text)
    chosen = source.declarations[0] if name is None else source.by_name[name]
    return {param.name for param in chosen.params}


# --- answers ----------------------------------------------------------------------------------------------


def read_reply(call: Call, result: QueryResult, question: Question) -> Reply:
    if wants_arrow(call):
        return _arrow(result)
    output = answers.ReadOutput(**_members(result, question, wants_text_integers(call)))
    if result.commit_id is not None:
        output.graph_commit_id = result.commit_id
    return Reply.of(output)


def _members(result: QueryResult, question: Question, text_integers: bool) -> dict[str, Any]:
    rows = result.rows()
    if text_integers:
        wide = [column.name for column in result.column_types if column.type is not None and column.type.scalar in BIG]
        for row in rows:
            for name in wide:
                row[name] = _as_text(row[name])
    members: dict[str, Any] = {
        "query_name": result.query_name,
        "target": answers.ReadTargetOutput(branch=question.branch, snapshot=question.snapshot),
        "row_count": result.row_count,
        "rows": rows,
    }
    return members | ({"columns": list(result.columns)} if result.columns else {})


def _as_text(value: Any) -> Any:
    if isinstance(value, list):
        return [_as_text(each) for each in value]
    return value if value is None else str(value)


def _arrow(result: QueryResult) -> Reply:
    """The rows as an Arrow IPC stream; what the JSON says beside them is in headers."""
    import pyarrow as pa

    buffer = io.BytesIO()
    table = result.to_arrow()
    with pa.ipc.new_stream(buffer, table.schema) as writer:
        writer.write_table(table)
    reply = Reply(200, buffer.getvalue(), ARROW)
    reply.add("Omnigraph-Query-Name", result.query_name)
    if result.commit_id is not None:
        reply.add("Omnigraph-Graph-Commit-Id", result.commit_id)
    return reply


# --- handlers ---------------------------------------------------------------------------------------------


async def query(call: Call) -> Reply:
    body = await call.body(bodies.QueryRequest)
    question = Question(body.query, body.name, body.params, body.branch, body.snapshot)
    try:
        result = await ask(call, question)
    except WrongQueryKind as error:
        text = f"query '{error.query}' contains mutations; send it to POST /mutate"
        raise BadRequest(text) from None
    return read_reply(call, result, question)


async def read(call: Call) -> Reply:
    body = await call.body(bodies.ReadRequest)
    question = Question(body.query_source, body.query_name, body.params, body.branch, body.snapshot)
    result = await ask(call, question)
    return Reply.of(answers.LegacyReadOutput(**_members(result, question, text_integers=False)))


async def explain(call: Call) -> Reply:
    body = await call.body(bodies.ExplainRequest)
    question = Question(body.query, body.name, body.params, body.branch, body.snapshot)
    options: dict[str, Any] = {"query_name": question.name, "timeout": timeout_seconds(call), "analyze": body.analyze}
    run = partial(call.graph.explain, **question.where(), **options)
    found = await call.read(lambda: _masked(question, lambda: _lenient(run, question.text, question)))
    return Reply.of(change_answers.ExplainOutput(text=found.text, plan=found.to_json()))


async def snapshot(call: Call) -> Reply:
    branch = branch_name(call.parameters.text("branch"))
    return Reply.of(snapshot_output(await call.read(lambda: call.graph.snapshot(branch))))


async def schema(call: Call) -> Reply:
    return Reply.of(answers.SchemaOutput(schema_source=await call.read(lambda: call.graph.schema_source)))


READ_ERRORS = (400, 401, 403, 404, 409, 410, 413, 415, 500, 503, 504)
OPERATIONS = (
    Operation(
        method="GET",
        path=on_graph("/snapshot"),
        id="cluster_getSnapshot",
        tag="snapshots",
        summary="The tables that a branch makes visible.",
        handler=snapshot,
        parameters=(BRANCH,),
        answers={200: Answer(shape=answers.SnapshotOutput)},
        errors=(400, 401, 403, 404, 409, 500, 503),
    ),
    Operation(
        method="POST",
        path=on_graph("/query"),
        id="cluster_query",
        tag="queries",
        summary="Run a read query on one snapshot.",
        handler=query,
        parameters=(TIMEOUT,),
        body=bodies.QueryRequest,
        answers={200: Answer(shape=answers.ReadOutput)},
        errors=(*READ_ERRORS, 502),
    ),
    Operation(
        method="POST",
        path=on_graph("/read"),
        id="cluster_read",
        tag="queries",
        summary="Run a read query; use /query instead.",
        handler=read,
        parameters=(TIMEOUT,),
        body=bodies.ReadRequest,
        answers={200: Answer(shape=answers.LegacyReadOutput)},
        errors=(*READ_ERRORS, 502),
        is_deprecated=True,
        successor="query",
    ),
    Operation(
        method="POST",
        path=on_graph("/explain"),
        id="cluster_explain",
        tag="queries",
        summary="Show the plan of a read query.",
        handler=explain,
        parameters=(TIMEOUT,),
        body=bodies.ExplainRequest,
        answers={200: Answer(shape=change_answers.ExplainOutput)},
        errors=(*READ_ERRORS, 502),
    ),
    Operation(
        method="GET",
        path=on_graph("/schema"),
        id="cluster_getSchema",
        tag="schema",
        summary="The text of the accepted schema.",
        handler=schema,
        answers={200: Answer(shape=answers.SchemaOutput)},
        errors=(401, 403, 404, 409, 500, 503),
    ),
)
