"""The state of a server: one generation of what it serves, the tokens of now, and what the process counts.

A generation is never changed. Another revision, policy or recovered graph makes a new one, which takes the place of
the old one in one step; requests that began with the old one end with it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from omnigraph.server.admission import Admission
from omnigraph.server.auth import TokenSet
from omnigraph.server.later import Operations
from omnigraph.server.observe import DecisionLog, Metrics, Traces
from omnigraph.server.serving import ServedGraph, Serving
from omnigraph.server.settings import Settings
from omnigraph.server.streams import Transport
from omnigraph.server.work import Work

if TYPE_CHECKING:
    from omnigraph.graph import Graph
    from omnigraph.policy import Authorizer, CedarPolicy
    from omnigraph.server.stored_queries import StoredQuery


@dataclass(frozen=True, slots=True)
class RoutedGraph:
    """One graph that is served. `graph` is behind its policy; `bare` is for what the server itself must know."""

    graph_id: str
    graph: Graph
    bare: Graph
    served: ServedGraph
    stored: Mapping[str, StoredQuery]
    lists_what_may_run: bool = False
    """The policy tells stored queries apart, so the catalogue shows a caller those that it may invoke."""


@dataclass(frozen=True, slots=True)
class Generation:
    """What is served now."""

    serving: Serving
    graphs: Mapping[str, RoutedGraph]
    skipped: Mapping[str, str]
    """Graphs that are configured and cannot be served, and why. The reason is for the log."""
    server_policy: CedarPolicy | None
    skipped_policies: Mapping[str, Authorizer | None] = field(default_factory=dict)
    """Who may know that such a graph exists."""


@dataclass(slots=True)
class ServerState:
    """Everything that handlers reach. `generation` and `tokens` are replaced as a whole."""

    settings: Settings
    generation: Generation
    tokens: TokenSet
    is_open: bool
    """Nobody has to say who they are; only when that was asked for."""
    work: Work
    transport: Transport
    metrics: Metrics
    decisions: DecisionLog
    exports: dict[tuple[str, str], int] = field(default_factory=dict)
    """How many streams read a branch now, by graph and branch: it is not deleted meanwhile."""
    operations: Operations = field(default_factory=Operations)
    """Writes whose callers do not wait."""
    stops_at: float | None = None
    """When a stop waits for nothing any more, by the clock of the event loop; None while it serves."""
    traces: Traces | None = None
    """Where spans go, if a collector is named."""

    @property
    def is_draining(self) -> bool:
        return self.stops_at is not None

    @property
    def admission(self) -> Admission:
        return self.work.admission


def new_state(
    settings: Settings, generation: Generation, tokens: TokenSet, *, is_open: bool, traces: Traces | None = None
) -> ServerState:
    admission = Admission(settings.inflight_max, settings.bytes_max)
    return ServerState(
        settings=settings,
        generation=generation,
        tokens=tokens,
        is_open=is_open,
        work=Work(settings.read_threads, settings.write_threads, settings.load_threads, admission, is_open=is_open),
        transport=Transport(),
        metrics=Metrics(),
        decisions=DecisionLog(settings.decisions_kept),
        traces=traces,
    )
