"""One call: a request that was routed and authenticated, and what its handler may use."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, TypeVar

from omnigraph.model.errors import BranchNotFound
from omnigraph.model.identifiers import MAIN, normalize_branch
from omnigraph.server.http import Parameters, Request, bad_request, parsed, shaped
from omnigraph.server.lanes import WriteLane
from omnigraph.server.observe import RequestSpan, event
from omnigraph.server.state import Generation, RoutedGraph, ServerState

if TYPE_CHECKING:
    from omnigraph.graph import Graph
    from omnigraph.policy import Decision, PolicyRequest
    from omnigraph.query import Cancellation
    from omnigraph.server.operation import Operation
    from omnigraph.server.wire import change_answers

Answer = TypeVar("Answer")
Body = TypeVar("Body")

PARSED_HERE_MAX = 64 * 1024
"""A larger body is parsed in a thread, so that others do not wait for it."""


@dataclass
class Call:
    """What a handler gets. Everything that it does to a graph goes through `graph`, which asks the policy."""

    request: Request
    operation: Operation
    state: ServerState
    generation: Generation
    request_id: str
    actor: str | None
    path: Mapping[str, str] = field(default_factory=dict)
    routed: RoutedGraph | None = None
    decided: list[change_answers.DecisionOutput] = field(default_factory=list)
    span: RequestSpan | None = None

    @property
    def served(self) -> RoutedGraph:
        assert self.routed is not None, "only operations on a graph ask for one"
        return self.routed

    @cached_property
    def graph(self) -> Graph:
        """The graph for this caller."""
        return self.served.graph.as_actor(self.actor, on_decision=self.heard)

    @cached_property
    def unheard(self) -> Graph:
        """The same for questions that nobody asked: what a hint may name is no decision."""
        return self.served.graph.as_actor(self.actor)

    @cached_property
    def parameters(self) -> Parameters:
        operation = self.operation
        return Parameters(
            self.request.query_string,
            operation.parameters,
            is_strict=operation.is_strict,
            prefix=operation.parameter_prefix,
        )

    async def body(self, shape: type[Body], limit: int | None = None) -> Body:
        """The JSON body in its shape. Raises 400, 413 and 415."""
        self.request.require_json()
        raw = await self.request.body(self.state.settings.body_max if limit is None else limit)
        if len(raw) <= PARSED_HERE_MAX:
            return shaped(parsed(raw), shape)
        return await self.read(lambda: shaped(parsed(raw), shape))

    def header(self, name: str) -> str | None:
        return self.request.headers.get(name)

    async def read(self, run: Callable[[], Answer], cancellation: Cancellation | None = None) -> Answer:
        cancel = (lambda: None) if cancellation is None else cancellation.cancel
        return await self.state.work.read(self.request, self.actor, self._traced("read", run), cancel)

    async def write(
        self,
        allow: Callable[[], None],
        weight: int,
        run: Callable[[], Answer],
        branch: str | None = None,
        *,
        is_long: bool = False,
    ) -> Answer:
        """The policy first, then admission, then the write, which runs to its end whatever the client does.

        A decision takes a tenth of a millisecond and reads nothing, so it is made here and not in a thread.
        """
        allow()
        return await self.begin(weight, run, branch, is_long=is_long)

    def begin(
        self, weight: int, run: Callable[[], Answer], branch: str | None = None, *, is_long: bool = False
    ) -> asyncio.Future[Answer]:
        """Admits and starts a write about which the policy was asked before: from here on it runs to its end, after
        others of the same branch, or of the graph as a whole. Raises if it does not."""
        slot, lane = self.state.admission.take(self.actor, weight), WriteLane(self.served.graph_id, branch)
        return self.state.work.begin(slot, lane, self._traced("write", run), is_long=is_long)

    def _traced(self, kind: str, run: Callable[[], Answer]) -> Callable[[], Answer]:
        told = partial(self._suggesting, run)
        return told if self.span is None else self.span.around(f"{kind} {self.operation.id}", told)

    def _suggesting(self, run: Callable[[], Answer]) -> Answer:
        """A branch that is not there is told with the one that was probably meant."""
        try:
            return run()
        except BranchNotFound as error:
            from omnigraph.graph import with_nearest_branch

            raise with_nearest_branch(self.unheard, error) from None

    def heard(self, actor: str, asked: PolicyRequest, said: Decision) -> None:
        """A question that was asked before within this request is not told again."""
        same = (str(asked.action), asked.branch, asked.target_branch)
        if any((each.action, each.branch, each.target_branch) == same for each in self.decided):
            return
        graph_id = None if self.routed is None else self.routed.graph_id
        self.state.metrics.decision(str(asked.action), said.allowed)
        entry = self.state.decisions.add(actor, asked, said, graph_id=graph_id, request_id=self.request_id)
        self.decided.append(entry)

    def note_commit(self, commit_id: str | None) -> None:
        """The commit that the request made belongs to the decisions that allowed it."""
        for entry in self.decided:
            entry.graph_commit_id = commit_id

    def event(self, what: str, **facts: Any) -> None:
        graph_id = None if self.routed is None else self.routed.graph_id
        event(what, graph=graph_id, actor_id=self.actor, request_id=self.request_id, **facts)


def branch_name(text: str | None, default: str = MAIN) -> str:
    """A branch as a caller writes it, in its one form: before any question is asked about it."""
    if text is None:
        return default
    if not text.strip():
        raise bad_request("branch name cannot be empty")
    return normalize_branch(text)
