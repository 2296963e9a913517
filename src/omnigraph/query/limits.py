"""Limits: what one query may cost, and the guard that ends it with a typed error when it would cost more."""

from __future__ import annotations

import os
import threading
import time
from dataclasses import field

from omnigraph.model.errors import LimitExceeded, OmniGraphError, ResourceLimitExceeded
from omnigraph.model.late_dataclass import dataclass

MEMORY_DEFAULT = 1 << 30
HOPS_DEFAULT = 1024
MORSEL_ROWS = 1 << 20
"""An operator hands on at most about this many rows at a time, so that what is in flight stays small."""


@dataclass(frozen=True, slots=True)
class QueryLimits:
    """What one query may use before it is refused.

    >>> small = og.QueryLimits(memory_bytes=1)
    >>> graph.query("query all() { match { $p: Person } return { $p.name } }", limits=small)
    Traceback (most recent call last):
    omnigraph.model.errors.ResourceLimitExceeded: resource limit exceeded: query_memory_bytes limit is 1, actual ...
    """

    memory_bytes: int = MEMORY_DEFAULT
    """Rows that are held at once: results, groups, sort inputs, and the largest intermediate piece."""
    hops: int = HOPS_DEFAULT
    """How far an unbounded traversal may run before it is refused."""
    timeout_seconds: float | None = None
    """None for no limit."""

    @classmethod
    def from_environment(cls) -> QueryLimits:
        """The limits that the environment sets: `OMNIGRAPH_QUERY_MEMORY_BYTES`, `OMNIGRAPH_QUERY_HOPS` and
        `OMNIGRAPH_QUERY_TIMEOUT_SECONDS`.

        >>> og.QueryLimits.from_environment().hops
        1024
        """
        timeout = os.environ.get("OMNIGRAPH_QUERY_TIMEOUT_SECONDS")
        return cls(
            int(os.environ.get("OMNIGRAPH_QUERY_MEMORY_BYTES", MEMORY_DEFAULT)),
            int(os.environ.get("OMNIGRAPH_QUERY_HOPS", HOPS_DEFAULT)),
            None if not timeout else float(timeout),
        )


@dataclass(eq=False)
class QueryTimeout(LimitExceeded):
    """The query ran longer than it may."""

    seconds: float

    def sentence(self) -> str:
        return f"the query took longer than its timeout of {self.seconds:g} s"

    @property
    def hint(self) -> str | None:
        return "narrow the pattern, add a limit, or raise the timeout"


class QueryCancelled(OmniGraphError):
    """The query was ended by its `Cancellation`."""


class Cancellation:
    """Ends a query from another thread: `cancel()` makes it stop at its next step and raise QueryCancelled.

    >>> switch = og.Cancellation()
    >>> switch.cancel()
    >>> graph.query("query all() { match { $p: Person } return { $p.name } }", cancellation=switch)
    Traceback (most recent call last):
    omnigraph.query.limits.QueryCancelled: the query was cancelled
    """

    def __init__(self) -> None:
        self._event = threading.Event()

    def cancel(self) -> None:
        """Ends every query that was given this object, now and later.

        >>> switch = og.Cancellation()
        >>> switch.cancel()
        """
        self._event.set()

    @property
    def is_cancelled(self) -> bool:
        """Whether `cancel` was called.

        >>> og.Cancellation().is_cancelled
        False
        """
        return self._event.is_set()


@dataclass(slots=True)
class Guard:
    """Watches one run of one query. Operators ask it between their steps, and before they make something large."""

    limits: QueryLimits
    cancellation: Cancellation | None = None
    started: float = field(default_factory=time.monotonic)
    held: int = 0
    peak: int = 0

    def check(self) -> None:
        """Raises when the time is up or nobody wants the answer any more."""
        if self.cancellation is not None and self.cancellation.is_cancelled:
            raise QueryCancelled("the query was cancelled")
        timeout = self.limits.timeout_seconds
        if timeout is not None and time.monotonic() - self.started > timeout:
            raise QueryTimeout(timeout)

    def require(self, nbytes: int) -> None:
        """Raises when this much more, for a moment, would be too much."""
        wanted = self.held + nbytes
        self.peak = max(self.peak, wanted)
        if wanted > self.limits.memory_bytes:
            raise ResourceLimitExceeded("query_memory_bytes", self.limits.memory_bytes, wanted)

    def has_room(self, nbytes: int) -> bool:
        """Whether this much more would fit; for what is kept for speed alone."""
        return self.held + nbytes <= self.limits.memory_bytes

    def hold(self, nbytes: int) -> None:
        """Counts what stays until the query ends."""
        self.require(nbytes)
        self.held += nbytes

    def release(self, nbytes: int) -> None:
        self.held -= nbytes
