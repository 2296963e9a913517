"""The exchange: what both transports share. Headers, times, steps of a verb, and when an answer is an error."""

from __future__ import annotations

import platform
from dataclasses import field
from typing import TYPE_CHECKING, Any, TypeVar

from omnigraph.client.failures import error_of
from omnigraph.client.refusals import ServerUnreachable
from omnigraph.client.requests import Answer, Request, Verb
from omnigraph.client.retries import Loss, RetryBudget, asked_wait, may_repeat, may_repeat_loss
from omnigraph.model.errors import OmniGraphError, OutcomeUnknown
from omnigraph.model.late_dataclass import dataclass

if TYPE_CHECKING:
    import httpx2

T = TypeVar("T")
CONNECT_S = 10.0
ANSWER_S = 600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Connection:
    """How a server is spoken to. The token does not show when this is printed, and goes to this server alone."""

    token: str | None = field(default=None, repr=False)
    budget: RetryBudget = field(default_factory=RetryBudget)
    seconds: float = ANSWER_S
    """How long the server may be silent."""

    def headers(self) -> dict[str, str]:
        from omnigraph import __version__

        headers = {"User-Agent": f"omnigraph-python/{__version__} ({platform.python_version()})"}
        if self.token is not None:
            headers["Authorization"] = f"Bearer {self.token}"
        return headers

    def timeouts(self, seconds: float | None = None) -> httpx2.Timeout:
        import httpx2

        silence = self.seconds if seconds is None else seconds
        return httpx2.Timeout(silence, connect=min(CONNECT_S, silence))


@dataclass(frozen=True, slots=True)
class Finished:
    """What a verb returned."""

    value: Any


def step(verb: Verb[T], received: Answer | Exception | None) -> Request | Finished:
    """Gives a verb what it waits for; it asks for the next thing, or is done. Raises what it does not handle."""
    try:
        if received is None:
            return next(verb)
        if isinstance(received, Exception):
            return verb.throw(received)
        return verb.send(received)
    except StopIteration as done:
        return Finished(done.value)


def plan_repeat(
    budget: RetryBudget, request: Request, outcome: Answer | Loss, attempt: int, waited: float
) -> float | None:
    """How long to wait before the request is sent again; None: it is not."""
    if isinstance(outcome, Answer):
        if outcome.status < 300 or not may_repeat(request, outcome, attempt):
            return None
        return budget.wait(attempt, asked_wait(outcome), waited)
    return budget.wait(attempt, None, waited) if may_repeat_loss(request, outcome) else None


def check_answer(answer: Answer) -> Answer:
    """The answer, if it is not an error. A redirect is one, except that of an external blob, which nobody follows."""
    if answer.status < 300 or (answer.status == 302 and "omnigraph-snapshot-id" in answer.headers):
        return answer
    raise error_of(answer)


def headers_of(response: httpx2.Response) -> dict[str, str]:
    return {name.lower(): value for name, value in response.headers.items()}


def loss_of(error: Exception) -> Loss:
    import httpx2

    never_left = (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.PoolTimeout, httpx2.UnsupportedProtocol)
    return "not sent" if isinstance(error, never_left) else "lost"


def lost(request: Request, base: str, error: Exception) -> OmniGraphError:
    """What is known about a request without an answer: a write that was sent may have happened."""
    reason = str(error) or type(error).__name__
    if request.safety == "read" or loss_of(error) == "not sent":
        return ServerUnreachable(base, reason)
    return OutcomeUnknown(request.what or "the write", f"the server '{base}' did not answer: {reason}")
