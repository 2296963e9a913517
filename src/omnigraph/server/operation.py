"""An operation: one method on one path, as data. The router, the app and the API document are made from these."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from omnigraph.server.http import Parameter, Reply, StreamReply
from omnigraph.server.wire import error_answers

if TYPE_CHECKING:
    from omnigraph.server.call import Call

Handler = Callable[["Call"], Awaitable[Reply | StreamReply]]
GRAPH = "/graphs/{graph_id}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What an operation sends with one status."""

    shape: Any = None
    """A struct; None for no content."""
    media: str = "application/json"
    headers: Mapping[str, str] = field(default_factory=dict)
    """Response headers: the name, and `string` or `u64`."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Operation:
    """One thing that can be asked for."""

    method: str
    path: str
    id: str
    tag: str
    summary: str
    handler: Handler
    parameters: tuple[Parameter, ...] = ()
    body: Any = None
    body_media: str = "application/json"
    body_required: bool = True
    answers: Mapping[int, Answer] = field(default_factory=dict)
    errors: tuple[int, ...] = ()
    error_shape: Any = error_answers.ErrorOutput
    is_public: bool = False
    is_deprecated: bool = False
    successor: str | None = None
    """What replaces a deprecated operation."""
    is_strict: bool = False
    """Query parameters that are not known are refused."""
    parameter_prefix: str = ""
    is_listed: bool = True
    """Is part of the API document."""
    is_write: bool = False
    """Its callers need not wait: with `Prefer: respond-async` they get the address of an operation."""
    hides_failures: bool = False
    """A change route: failures are told by an allow-list."""

    @property
    def on_graph(self) -> bool:
        return self.path.startswith(GRAPH)


def on_graph(path: str) -> str:
    return GRAPH + path
