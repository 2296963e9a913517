"""Admission: how many writes, and how many bytes in them, one actor may have in flight. It never waits."""

from __future__ import annotations

import math
import threading
import time
from dataclasses import dataclass, field

from omnigraph.server.http import Overloaded

ANONYMOUS = "anonymous"


@dataclass(slots=True)
class _Use:
    writes: int = 0
    bytes: int = 0


@dataclass(slots=True)
class Slot:
    """A place that one write holds until it ends."""

    actor: str
    weight: int
    begun: float = field(default_factory=time.monotonic)
    is_free: bool = False


class Admission:
    """Counts per actor, over all graphs of the process. Taking and giving back are one step each."""

    def __init__(self, inflight_max: int, bytes_max: int) -> None:
        self._inflight_max = inflight_max
        self._bytes_max = bytes_max
        self._lock = threading.Lock()
        self._uses: dict[str, _Use] = {}
        self._usual_seconds = 0.05
        """How long a write takes lately: what a refused caller is told to wait follows it."""

    def take(self, actor: str | None, weight: int) -> Slot:
        """A slot, or Overloaded: then the write has not started, and trying again is safe."""
        name = actor or ANONYMOUS
        with self._lock:
            use = self._uses.get(name, _Use())
            if use.writes >= self._inflight_max:
                raise Overloaded(f"actor in-flight count cap {self._inflight_max} exceeded", self._wait())
            if use.bytes + weight > self._bytes_max:
                would = f"would use {use.bytes + weight} bytes against cap {self._bytes_max}"
                raise Overloaded(f"actor byte budget exceeded: {would}", self._wait())
            use.writes += 1
            use.bytes += weight
            self._uses[name] = use
        return Slot(name, weight)

    def grow(self, slot: Slot, by: int) -> None:
        """Charges bytes that were not known when the slot was taken. Raises Overloaded, and keeps the slot as it is."""
        with self._lock:
            use = self._uses[slot.actor]
            if use.bytes + by > self._bytes_max:
                would = f"would use {use.bytes + by} bytes against cap {self._bytes_max}"
                raise Overloaded(f"actor byte budget exceeded: {would}", self._wait())
            use.bytes += by
            slot.weight += by

    def free(self, slot: Slot) -> None:
        with self._lock:
            if slot.is_free:
                return
            slot.is_free = True
            took = time.monotonic() - slot.begun
            self._usual_seconds += 0.1 * (took - self._usual_seconds)
            use = self._uses[slot.actor]
            use.writes -= 1
            use.bytes -= slot.weight
            if not use.writes:
                del self._uses[slot.actor]

    @property
    def running(self) -> int:
        with self._lock:
            return sum(use.writes for use in self._uses.values())

    def _wait(self) -> int:
        """Whole seconds until a slot is probably free."""
        return max(1, min(60, math.ceil(self._usual_seconds)))
