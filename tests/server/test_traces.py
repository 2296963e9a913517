"""Traces: a collector hears of every request, below the caller's span; without one nothing changes."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from omnigraph.model.errors import BadRequest
from omnigraph.server.observe import traces_from
from server.served_library import ADD_AUTHOR, ALL_AUTHORS, TOKENS, G, library_server, open_server
from support.servers.scripted_http import Received, Scripted, scripted

CALLER = "4bf92f3577b34da6a3ce929d0e0e4736"
ENDPOINT = "OTEL_EXPORTER_OTLP_ENDPOINT"


def sent(request: Received) -> bytes:
    return gzip.decompress(request.body) if request.headers.get("content-encoding") == "gzip" else request.body


def attributes(thing: Any) -> dict[str, str]:
    return {each.key: each.value.string_value or str(each.value.int_value) for each in thing.attributes}


def test_a_request_is_a_span_below_the_callers_with_its_engine_work_below_it(tmp_path: Path) -> None:
    with scripted([Scripted()]) as collector:
        with library_server(tmp_path, **{ENDPOINT: collector.base}) as server:
            headers = {"traceparent": f"00-{CALLER}-00f067aa0ba902b7-01", "X-Request-Id": "r-1"}
            assert server.send("POST", f"{G}/query", json={"query": ALL_AUTHORS}, headers=headers).status == 200
            body = {"query": ADD_AUTHOR, "params": {"h": "a-secret-name"}}
            assert server.send("POST", f"{G}/mutate", json=body).status == 200
            assert server.send("GET", "/graphs/none-such/branches").status == 404
            assert f"trace_id={CALLER}" in server.logged("request_id=r-1", " request ")
            assert server.stop() == 0
        assert {each.path for each in collector.received} == {"/v1/traces"}
        bodies = [sent(each) for each in collector.received]
    groups = [each for body in bodies for each in ExportTraceServiceRequest.FromString(body).resource_spans]
    assert {attributes(each.resource)["service.name"] for each in groups} == {"omnigraph-server"}
    spans = [span for group in groups for scope in group.scope_spans for span in scope.spans]
    named = {span.name: span for span in spans}
    query, mutate = named["POST /graphs/{graph_id}/query"], named["POST /graphs/{graph_id}/mutate"]
    assert (query.trace_id.hex(), query.parent_span_id.hex()) == (CALLER, "00f067aa0ba902b7")
    told = attributes(query)
    assert (told["http.response.status_code"], told["omnigraph.graph"]) == ("200", "library")
    assert (told["omnigraph.request_id"], told["enduser.id"]) == ("r-1", "cy")
    assert attributes(mutate)["omnigraph.commit"]
    (write,) = [span for span in spans if span.name.startswith("write ")]
    assert (write.trace_id, write.parent_span_id) == (mutate.trace_id, mutate.span_id)
    assert any(attributes(span).get("http.response.status_code") == "404" for span in spans)
    for secret in (TOKENS["cy"].encode(), b"a-secret-name"):
        assert not any(secret in body for body in bodies), "neither tokens nor parameters leave the server"


def test_a_collector_that_is_away_fails_no_request_and_does_not_hold_the_end(tmp_path: Path) -> None:
    with open_server(tmp_path, **{ENDPOINT: "http://127.0.0.1:9", "OTEL_BSP_SCHEDULE_DELAY": "100"}) as server:
        for _ in range(5):
            assert server.send("POST", f"{G}/query", json={"query": ALL_AUTHORS}).status == 200
        assert server.stop(timeout=30) == 0


@pytest.mark.parametrize(
    "variables",
    [
        {},
        {ENDPOINT: " "},
        {ENDPOINT: "http://127.0.0.1:9", "OTEL_TRACES_EXPORTER": "none"},
        {ENDPOINT: "http://127.0.0.1:9", "OTEL_SDK_DISABLED": "true"},
    ],
)
def test_without_a_collector_or_turned_off_there_are_no_traces(variables: dict[str, str]) -> None:
    assert traces_from(variables) is None


@pytest.mark.parametrize(
    ("variable", "value"), [("OTEL_TRACES_EXPORTER", "zipkin"), (f"{ENDPOINT[:-8]}PROTOCOL", "grpc")]
)
def test_what_is_not_spoken_is_refused_at_the_start(variable: str, value: str) -> None:
    with pytest.raises(BadRequest, match=rf"{value}.*\n.*http/protobuf"):
        traces_from({ENDPOINT: "http://127.0.0.1:9", variable: value})
