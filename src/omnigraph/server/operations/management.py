"""Management: health, readiness, metrics, the list of graphs, recoveries, the decision log, the API document."""

from __future__ import annotations

import resource
from typing import Any

import msgspec

from omnigraph.model.format_version import INTERNAL_SCHEMA_VERSION
from omnigraph.server.call import Call
from omnigraph.server.documents import recovery_output
from omnigraph.server.http import HttpRefusal, Parameter, Reply, not_found, unauthorized
from omnigraph.server.observe import METRICS_MEDIA
from omnigraph.server.openapi import api_document as document_of
from omnigraph.server.openapi import api_page as page_bytes
from omnigraph.server.operation import Answer, Operation, on_graph
from omnigraph.server.operations.parameters import LIMIT
from omnigraph.server.version import WIRE_VERSION
from omnigraph.server.wire import answers, change_answers

DECISIONS_DEFAULT, DECISIONS_MAX = 100, 1000


async def health(call: Call) -> Reply:
    """Whether the process runs. Touches no storage."""
    output = answers.HealthOutput(status="ok", version=WIRE_VERSION, internal_schema_version=INTERNAL_SCHEMA_VERSION)
    if call.state.settings.source_version is not None:
        output.source_version = call.state.settings.source_version
    return Reply.of(output)


async def readiness(call: Call) -> Reply:
    """Whether requests are taken; callers who say who they are see the state of each graph."""
    generation, state = call.generation, call.state
    is_ready = bool(generation.graphs) and not state.is_draining
    output = answers.ReadinessOutput(status="ready" if is_ready else "draining" if state.is_draining else "unavailable")
    if state.is_open or _is_known(call):
        states = dict.fromkeys(generation.graphs, "serving") | dict.fromkeys(generation.skipped, "unavailable")
        output.graphs = [answers.ReadyGraph(graph_id=name, state=states[name]) for name in sorted(states)]
    return Reply.of(output, 200 if is_ready else 503)


def _is_known(call: Call) -> bool:
    try:
        call.state.tokens.authenticate(call.request.headers)
    except HttpRefusal:
        return False
    return True


async def metrics(call: Call) -> Reply:
    state = call.state
    gauges = {
        "omnigraph_graphs_serving": float(len(call.generation.graphs)),
        "omnigraph_graphs_unavailable": float(len(call.generation.skipped)),
        "omnigraph_writes_running": float(state.work.writing),
        "omnigraph_streams_running": float(sum(state.exports.values())),
        "process_max_resident_memory_bytes": float(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024),
    }
    return Reply(200, state.metrics.text(gauges).encode(), METRICS_MEDIA)


async def list_graphs(call: Call) -> Reply:
    """Only what a policy of the server grants: in every state it must say so."""
    from omnigraph.policy import Action, PolicyDenied, PolicyRequest

    policy = call.generation.server_policy
    asked = PolicyRequest(action=Action.GRAPH_LIST)
    if policy is None:
        reason = "the list of graphs needs a server policy that grants 'graph_list', in every state of the server"
        raise PolicyDenied(action="graph_list", actor=call.actor, reason=reason)
    if call.actor is None:
        raise unauthorized("missing bearer token")
    said = policy.authorize(call.actor, asked)
    call.heard(call.actor, asked, said)
    if not said.allowed:
        raise PolicyDenied(action="graph_list", actor=call.actor, reason=said.message, rule=said.rule)
    graphs = call.generation.graphs
    return Reply.of(
        answers.GraphListResponse(
            graphs=[answers.GraphInfo(graph_id=name, uri=graphs[name].bare.uri) for name in sorted(graphs)]
        )
    )


async def recovery(call: Call) -> Reply:
    """Interrupted writes: those that wait, and those that were finished or taken back."""

    def found() -> change_answers.RecoveryOutput:
        return recovery_output(call.graph.pending_recoveries(), call.graph.recoveries())

    return Reply.of(await call.read(found))


async def operation(call: Call) -> Reply:
    """What became of a write whose caller did not wait. Others do not see it."""
    found = call.state.operations.find(call.path["operation_id"], call.served.graph_id, call.actor)
    if found is None:
        raise not_found("operation not found")
    output = change_answers.OperationOutput(operation_id=found.operation_id, state="running")
    reply = found.reply
    if reply is not None:
        output.state = "succeeded" if reply.status < 400 else "failed"
        output.status, output.result = reply.status, msgspec.Raw(reply.body)
    elif found.task.done():
        output.state = "failed"
    return Reply.of(output)


async def decisions(call: Call) -> Reply:
    call.graph.authorize("admin")
    after = call.parameters.number("after") or 0
    limit = min(call.parameters.number("limit") or DECISIONS_DEFAULT, DECISIONS_MAX)
    found = call.state.decisions.page(call.served.graph_id, after, limit)
    return Reply.of(
        change_answers.DecisionListOutput(decisions=found, next_cursor=found[-1].number if found else after)
    )


async def api_document(call: Call) -> Reply:
    from omnigraph.server.operations.table import OPERATIONS as EVERY  # this module is one of its parts

    return Reply.of(document_of(EVERY, with_security=not call.state.is_open))


async def api_page(call: Call) -> Reply:
    """The rendered reference: everything that it needs is in it."""
    reply = Reply(200, page_bytes(), b"text/html; charset=utf-8")
    reply.add(
        "Content-Security-Policy",
        "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; "
        "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    )
    return reply


def _operation(path: str, name: str, summary: str, handler: Any, **more: Any) -> Operation:
    return Operation(method="GET", path=path, id=name, summary=summary, handler=handler, **more)


_ERRORS = (400, 401, 403, 404, 409, 500, 503)
OPERATIONS = (
    _operation(
        "/healthz",
        "health",
        "Whether the process runs.",
        health,
        tag="health",
        is_public=True,
        answers={200: Answer(shape=answers.HealthOutput)},
    ),
    _operation(
        "/readyz",
        "readiness",
        "Whether requests are taken.",
        readiness,
        tag="health",
        is_public=True,
        answers={200: Answer(shape=answers.ReadinessOutput), 503: Answer(shape=answers.ReadinessOutput)},
    ),
    _operation(
        "/metrics",
        "metrics",
        "Numbers for Prometheus.",
        metrics,
        tag="health",
        answers={200: Answer(shape=str, media="text/plain")},
        errors=(401,),
    ),
    _operation(
        "/openapi.json", "openapi", "This document.", api_document, tag="health", is_public=True, is_listed=False
    ),
    _operation("/docs", "docs", "The API reference.", api_page, tag="health", is_public=True, is_listed=False),
    _operation(
        "/graphs",
        "listGraphs",
        "The graphs that are served.",
        list_graphs,
        tag="management",
        answers={200: Answer(shape=answers.GraphListResponse)},
        errors=(401, 403, 405, 500),
    ),
    _operation(
        on_graph("/recovery"),
        "cluster_getRecovery",
        "Interrupted writes: pending and resolved.",
        recovery,
        tag="management",
        answers={200: Answer(shape=change_answers.RecoveryOutput)},
        errors=_ERRORS,
    ),
    _operation(
        on_graph("/operations/{operation_id}"),
        "cluster_getOperation",
        "What became of a write that was sent with Prefer: respond-async.",
        operation,
        tag="management",
        answers={200: Answer(shape=change_answers.OperationOutput)},
        errors=_ERRORS,
    ),
    _operation(
        on_graph("/decisions"),
        "cluster_listDecisions",
        "What the policy decided lately.",
        decisions,
        tag="management",
        parameters=(Parameter("after", "uint", nullable=False), LIMIT),
        answers={200: Answer(shape=change_answers.DecisionListOutput)},
        errors=_ERRORS,
    ),
)
