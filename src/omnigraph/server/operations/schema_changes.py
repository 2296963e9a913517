"""Schema changes: refused where a cluster owns the schema, applied where this server serves one graph by itself."""

from __future__ import annotations

from functools import partial
from typing import Any

from omnigraph.graph import compile_schema_text
from omnigraph.model.errors import BadRequest, Conflict
from omnigraph.server.call import Call
from omnigraph.server.http import Reply
from omnigraph.server.operation import Answer, Operation, on_graph
from omnigraph.server.stored_queries import broken_by
from omnigraph.server.wire import answers, bodies


async def apply_schema(call: Call) -> Reply:
    """The policy first: who may not change the schema does not learn how this server is set up."""
    body = await call.body(bodies.SchemaApplyRequest)
    allow = partial(call.graph.authorize, "schema_apply", target_branch="main")
    allow()
    if call.generation.serving.is_cluster:
        raise Conflict(
            "the schema of this graph belongs to its cluster and cannot be changed here",
            "change the configuration of the cluster and run cluster apply",
        )
    weight = len(body.schema_source.encode())
    return Reply.of(await call.write(allow, weight, lambda: _apply(call, body), is_long=True))


def _apply(call: Call, body: bodies.SchemaApplyRequest) -> dict[str, Any]:
    """Stored queries are checked against the new schema before anything changes."""
    if broken := broken_by(call.served.stored, compile_schema_text(body.schema_source).catalog):
        raise BadRequest(f"schema check: the new schema breaks stored queries: {'; '.join(broken)}")
    receipt = call.graph.apply_schema(body.schema_source, allow_data_loss=body.allow_data_loss)
    call.note_commit(receipt.commit_id)
    return {"uri": call.graph.uri, **receipt.to_json()}


OPERATIONS = (
    Operation(
        method="POST",
        path=on_graph("/schema/apply"),
        id="cluster_applySchema",
        tag="mutations",
        summary="Change the schema; the schema of a cluster's graph is changed by the cluster.",
        is_write=True,
        handler=apply_schema,
        body=bodies.SchemaApplyRequest,
        answers={200: Answer(shape=answers.SchemaApplyOutput)},
        errors=(400, 401, 403, 404, 408, 409, 413, 415, 429, 500, 503),
    ),
)
