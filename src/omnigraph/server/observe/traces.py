"""Traces: an OpenTelemetry span for each request and for each piece of engine work in it, where a collector is named.

The variables are OpenTelemetry's own: `OTEL_EXPORTER_OTLP_ENDPOINT` (or `OTEL_EXPORTER_OTLP_TRACES_ENDPOINT`) turns
traces on, `OTEL_SDK_DISABLED` or `OTEL_TRACES_EXPORTER=none` off. Without them nothing of OpenTelemetry is imported.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, TypeVar

from omnigraph.model.errors import BadRequest

if TYPE_CHECKING:
    from opentelemetry.context import Context
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.trace import Span

Answer = TypeVar("Answer")

SERVICE = "omnigraph-server"
ENDPOINTS = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
PROTOCOLS = ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL")
FLUSH_MS = 2_000
"""How long the end of the process waits for a collector; spans that it did not take by then are lost."""


def traces_from(environ: Mapping[str, str]) -> Traces | None:
    """What the environment asks for: spans to a collector, or None. Raises BadRequest if that cannot be had."""
    if not any(environ.get(name, "").strip() for name in ENDPOINTS):
        return None
    exporter = environ.get("OTEL_TRACES_EXPORTER", "").strip().lower() or "otlp"
    if exporter == "none" or environ.get("OTEL_SDK_DISABLED", "").strip().lower() == "true":
        return None
    protocol = next((given for name in PROTOCOLS if (given := environ.get(name, "").strip())), "http/protobuf")
    if (exporter, protocol) != ("otlp", "http/protobuf"):
        raise BadRequest(
            f"traces cannot be exported as {exporter} over {protocol}",
            "it must be `otlp` over `http/protobuf`: unset OTEL_TRACES_EXPORTER and OTEL_EXPORTER_OTLP_PROTOCOL",
        )
    return Traces(_provider())


def _provider() -> TracerProvider:
    """Spans wait in a queue of OpenTelemetry's, which is bounded: an absent collector costs spans, not memory."""
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.resources import SERVICE_NAME, Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    resource = Resource.create()
    if str(resource.attributes.get(SERVICE_NAME, "")).startswith("unknown_service"):
        resource = resource.merge(Resource({SERVICE_NAME: SERVICE}))
    provider = TracerProvider(resource=resource)
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    return provider


class Traces:
    """Where the spans of this process go."""

    def __init__(self, provider: TracerProvider) -> None:
        from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

        self._provider = provider
        self._tracer = provider.get_tracer("omnigraph.server")
        self._propagator = TraceContextTextMapPropagator()

    def begin(self, method: str, headers: Mapping[str, str]) -> RequestSpan:
        """The span of a request, below the one that the caller names in `traceparent`."""
        from opentelemetry.trace import SpanKind, set_span_in_context

        named = {name: value for name in ("traceparent", "tracestate") if (value := headers.get(name))}
        span = self._tracer.start_span(
            method,
            context=self._propagator.extract(named),
            kind=SpanKind.SERVER,
            attributes={"http.request.method": method},
        )
        return RequestSpan(self, span, set_span_in_context(span))

    def work(self, name: str, inside: Context) -> Span:
        return self._tracer.start_span(name, context=inside)

    def close(self) -> None:
        """Sends what waits, for as long as is stated, and ends."""
        self._provider.force_flush(FLUSH_MS)
        self._provider.shutdown()


class RequestSpan:
    """The span of one request."""

    def __init__(self, traces: Traces, span: Span, context: Context) -> None:
        self._traces = traces
        self._span = span
        self._context = context

    @property
    def trace_id(self) -> str:
        return f"{self._span.get_span_context().trace_id:032x}"

    def around(self, name: str, run: Callable[[], Answer]) -> Callable[[], Answer]:
        """`run` with a span of its own, which begins when a thread takes it up: what is before it was waiting."""

        def traced() -> Answer:
            span = self._traces.work(name, self._context)
            try:
                return run()
            except Exception as error:
                span.set_attribute("error.type", type(error).__name__)
                raise
            finally:
                span.end()

        return traced

    def end(self, status: int, method: str, route: str | None, facts: Mapping[str, str | None]) -> None:
        """The request was answered. Spans are named by the route, never by what is in it."""
        from opentelemetry.trace import StatusCode

        if route is not None:
            self._span.update_name(f"{method} {route}")
            self._span.set_attribute("http.route", route)
        self._span.set_attribute("http.response.status_code", status)
        for name, value in facts.items():
            if value is not None:
                self._span.set_attribute(name, value)
        if status >= 500:
            self._span.set_status(StatusCode.ERROR)
        self._span.end()
