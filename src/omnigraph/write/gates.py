"""Gates: writers of one process queue per branch, and share the branch's lease while they queue.

The first writer of a queue takes the lease; it is handed from one to the next without being given back, so a busy
branch pays for it once per run of writers instead of once per commit. Each writer keeps its own commit. After a stated
number of hand-overs the lease is given back, so that writers of other processes get their turn.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field

from omnigraph.model.errors import LeaseTimeout
from omnigraph.storage import GraphStorage, HeldLeases
from omnigraph.storage.leases import WAIT_MAX_S

HANDOVERS_MAX = 32
STAGING_AT_A_TIME = 4
"""Writers of a queue that write their files ahead at once: more would only take time from the one that holds the
branch, and whoever waits here is not next anyway."""


@dataclass
class _Gate:
    """The queue of one branch of one graph in this process."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    waiting: int = 0
    handovers: int = 0
    staging: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(STAGING_AT_A_TIME))
    held: HeldLeases | None = None
    keeper: ExitStack = field(default_factory=ExitStack)


_gates: dict[tuple[str, str], _Gate] = {}
_registry = threading.Lock()


@contextmanager
def window(storage: GraphStorage, branch: str, *, wait_s: float = WAIT_MAX_S) -> Iterator[HeldLeases]:
    """The exclusive right to commit on a branch, for the block. All handles of one root in the process share it."""
    gate = _gate_of(storage, branch)
    deadline = time.monotonic() + wait_s
    with _registry:
        gate.waiting += 1
    got = gate.lock.acquire(timeout=wait_s)
    with _registry:
        gate.waiting -= 1
    if not got:
        raise LeaseTimeout(f"branch '{branch}' is busy: other writers of this process were first")
    try:
        yield _lease(gate, storage, branch, deadline)
    finally:
        _pass_on(gate)


def is_busy(storage: GraphStorage, branch: str) -> bool:
    """True when other writers of this process hold the branch or queue for it."""
    gate = _gate_of(storage, branch)
    return gate.waiting > 0 or gate.lock.locked()


@contextmanager
def staging_ahead(storage: GraphStorage, branch: str) -> Iterator[None]:
    """A place among the few of a queue that prepare while others hold the branch."""
    with _gate_of(storage, branch).staging:
        yield


def _gate_of(storage: GraphStorage, branch: str) -> _Gate:
    root = os.path.realpath(storage.root.uri) if storage.root.is_local else storage.root.uri
    with _registry:
        gate = _gates.get((root, branch))
        if gate is None:
            gate = _gates[root, branch] = _Gate()
        return gate


def _lease(gate: _Gate, storage: GraphStorage, branch: str, deadline: float) -> HeldLeases:
    if gate.held is None:
        gate.keeper = ExitStack()
        wait_s = max(0.0, deadline - time.monotonic())
        gate.held = gate.keeper.enter_context(storage.leases.hold(branch, wait_s=wait_s))
        gate.handovers = 0
    return gate.held


def _pass_on(gate: _Gate) -> None:
    """Keeps the lease for the next in the queue, or gives it back. A waiter that gives up leaves no lease behind,
    because the lease is only kept while somebody still waits for this lock."""
    with _registry:
        keep = gate.waiting > 0 and gate.handovers < HANDOVERS_MAX and gate.held is not None
        gate.handovers += 1
    try:
        if not keep:
            gate.held = None
            gate.keeper.close()
    finally:
        gate.lock.release()
