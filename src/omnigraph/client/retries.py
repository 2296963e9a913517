"""Retries: what may be sent again, when, and how often. Pure: one table, and a budget that always ends.

A write that may have arrived is sent again only with an idempotency key, which makes the second one the first.
"""

from __future__ import annotations

import json
import random
from typing import Literal

from omnigraph.client.requests import Answer, Request
from omnigraph.model.late_dataclass import dataclass

Loss = Literal["not sent", "lost"]
"""A request that never left, or one whose answer never came."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryBudget:
    """How much patience there is with one request."""

    attempts: int = 5
    """In all, the first one included. 1: nothing is sent again."""
    seconds: float = 30.0
    """Of waiting, in all."""
    first_wait: float = 0.1
    """Doubled with every attempt, and a little different each time."""

    def wait(self, attempt: int, asked: float | None, waited: float) -> float | None:
        """How long to wait after this attempt, counted from 1; None: the budget is spent."""
        if attempt >= self.attempts:
            return None
        own = self.first_wait * 2 ** (attempt - 1) * random.uniform(0.5, 1.0)
        wait = own if asked is None else asked
        return wait if waited + wait <= self.seconds else None


def may_repeat_loss(request: Request, loss: Loss) -> bool:
    """Whether a request without an answer may be sent again."""
    return loss == "not sent" or request.safety != "once"


def may_repeat(request: Request, answer: Answer, attempt: int) -> bool:
    """Whether a request with this answer may be sent again."""
    match answer.status:
        case 429 | 503:
            return True  # nothing was begun
        case 413:
            return b"stream_export_" in answer.body  # the slots of others, not a size
        case 502 | 504:
            return request.safety != "once" and not _is_told(answer)
        case 500:
            return request.safety == "read" and attempt == 1
        case _:
            return False


def _is_told(answer: Answer) -> bool:
    """A failure that the server itself speaks of, of a provider of embeddings say: sending it again changes nothing."""
    try:
        return isinstance(json.loads(answer.body), dict)
    except ValueError:
        return False


def asked_wait(answer: Answer) -> float | None:
    """What the server asks for, in seconds."""
    text = answer.headers.get("retry-after", "").strip()
    return float(text) if text.isdecimal() else None
