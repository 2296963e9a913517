"""Observing: the log of requests, the log of decisions, the numbers for Prometheus, and traces."""

from __future__ import annotations

from omnigraph.server.observe.decisions import DecisionLog as DecisionLog
from omnigraph.server.observe.log_lines import event as event
from omnigraph.server.observe.log_lines import failure as failure
from omnigraph.server.observe.log_lines import start_logging as start_logging
from omnigraph.server.observe.metrics import METRICS_MEDIA as METRICS_MEDIA
from omnigraph.server.observe.metrics import Metrics as Metrics
from omnigraph.server.observe.traces import RequestSpan as RequestSpan
from omnigraph.server.observe.traces import Traces as Traces
from omnigraph.server.observe.traces import traces_from as traces_from
