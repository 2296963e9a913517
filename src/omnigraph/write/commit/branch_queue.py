"""Gates: writers of one process queue per branch, and share the branch's lease while they queue.

The first writer of a queue takes the lease; it is handed from one to the next without being given back, so a busy
branch pays for it once per run of writers instead of once per commit. Each writer keeps its own commit. After a stated
number of hand-overs the lease is given back, sooner when another process waits for it, so that every one of P waiting
processes gets its turn within P times that many commits.

One of the queue is *next*: nobody overtakes it. As soon as the writer that holds the branch has committed its tables,
it says how the branch will look (`foresee`), and the next one arms itself for that while the publish is under way.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import field
from functools import lru_cache
from typing import Any

from omnigraph.model.errors import LeaseLost, LeaseTimeout
from omnigraph.model.late_dataclass import dataclass
from omnigraph.storage import GraphStorage
from omnigraph.storage.leases import WAIT_MAX_S, HeldLeases
from omnigraph.storage.manifest import LoadedManifest

HANDOVERS_MAX = 32
HANDOVERS_WHILE_WANTED_MAX = 8
"""How many commits of this process another one waits for, at the most."""
STAGING_AT_A_TIME = 4
"""Writers of a queue that write their files ahead at once: more would only take time from the one that holds the
branch, and whoever waits here is not next anyway."""


@dataclass(frozen=True, slots=True)
class Foreseen:
    """The branch as it will be once the write that holds it has published. Its tables are committed already."""

    loaded: LoadedManifest
    """All but the handle, which is still that of the version before."""
    operation_id: str
    """Of the write that is to be followed; its sidecar is there, and alive."""


@dataclass
class _Gate:
    """The queue of one branch of one graph in this process."""

    lock: _OwnedLock = field(default_factory=threading.RLock)
    next: _OwnedLock = field(default_factory=threading.RLock)
    is_held: bool = False
    """Whether some writer has `lock`; a thread can only ask whether it has it itself."""
    owner: int | None = None
    """The place of the writer that has `lock`."""
    news: threading.Condition = field(default_factory=threading.Condition)
    foreseen: Callable[[], Foreseen] | None = None
    waiting: set[int] = field(default_factory=set)
    handovers: int = 0
    staging: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(STAGING_AT_A_TIME))
    held: HeldLeases | None = None
    keeper: AbstractContextManager[HeldLeases] | None = None


_OwnedLock = Any
"""A re-entrant lock, which nobody takes twice: unlike a plain one it knows whether this thread has it. An interrupt may
come after a lock was taken and before anything could be noted."""

_gates: dict[tuple[str, str], _Gate] = {}
_registry = threading.Lock()


def _forget_all() -> None:
    """In a forked child: the queues are those of threads that are not here, and their leases are the parent's."""
    global _registry
    _registry = threading.Lock()
    _gates.clear()


os.register_at_fork(after_in_child=_forget_all)


class _Place:
    """A writer's place in a queue. Whatever ends the writer, an interrupt at any moment too, ends its place."""

    has_left = True  # of an object whose construction was interrupted

    def __init__(self, gate: _Gate) -> None:
        self.gate = gate
        self.has_left = False

    def begin_waiting(self) -> None:
        with _registry:
            self.gate.waiting.add(id(self))

    def end_waiting(self) -> None:
        with _registry:
            self.gate.waiting.discard(id(self))

    def leave(self) -> None:
        self.end_waiting()
        if self.gate.next._is_owned():
            self.gate.next.release()
        if self.gate.lock._is_owned() and self.gate.owner in (None, id(self)):  # None: taken, and not yet noted
            _pass_on(self.gate)
        self.has_left = True

    def __del__(self) -> None:
        if not self.has_left:  # the leaving itself was interrupted
            self.leave()


@contextmanager
def window(
    storage: GraphStorage, branch: str, *, arm: Callable[[Foreseen], None] | None = None, wait_s: float = WAIT_MAX_S
) -> Iterator[HeldLeases]:
    """The exclusive right to commit on a branch, for the block. All handles of one root in the process share it.

    `arm` is called when this writer is next and the one before it has said how the branch will look.
    """
    gate = _gate_of(storage, branch)
    deadline = time.monotonic() + wait_s
    if gate.lock._is_owned():
        raise LeaseTimeout(f"branch '{branch}' is held by the very thread that asks for it")
    place = _Place(gate)
    try:
        place.begin_waiting()
        got = _queue(gate, deadline, arm)
        gate.owner = id(place) if got else gate.owner
        place.end_waiting()
        if not got:
            _leave_nothing(gate)
            raise LeaseTimeout(f"timed out waiting for branch '{branch}': other writers of this process hold it")
        yield _lease(gate, storage, branch, deadline)
    finally:
        place.leave()


def foresee(storage: GraphStorage, branch: str, foreseen: Callable[[], Foreseen]) -> None:
    """Said by the writer that holds the branch, after its last table commit. Worked out by the next one, if any.

    Not where the lease can be lost, and not by the last writer of a run, who gives it back: whoever is armed must be
    the one that follows.
    """
    gate = _gate_of(storage, branch)
    if storage.root.is_local and gate.held is not None and not _is_due(gate, gate.held):
        with gate.news:
            gate.foreseen = foreseen
            gate.news.notify_all()


def is_busy(storage: GraphStorage, branch: str) -> bool:
    """True when other writers of this process hold the branch or queue for it."""
    gate = _gate_of(storage, branch)
    return bool(gate.waiting) or gate.is_held


@contextmanager
def staging_ahead(storage: GraphStorage, branch: str) -> Iterator[None]:
    """A place among the few of a queue that prepare while others hold the branch."""
    with _gate_of(storage, branch).staging:
        yield


def _gate_of(storage: GraphStorage, branch: str) -> _Gate:
    root = _real_path(storage.root.uri) if storage.root.is_local else storage.root.uri
    with _registry:
        gate = _gates.get((root, branch))
        if gate is None:
            gate = _gates[root, branch] = _Gate()
        return gate


@lru_cache(maxsize=1024)
def _real_path(uri: str) -> str:
    """Two ways to one folder have one gate. Where a link is turned elsewhere meanwhile, the lease still holds."""
    return os.path.realpath(uri)


def _queue(gate: _Gate, deadline: float, arm: Callable[[Foreseen], None] | None) -> bool:
    """Waits to be next, then for the branch. False when the time is over."""
    try:
        if not gate.next.acquire(timeout=_left(deadline)):
            return False
        if arm is not None:
            foreseen = _news(gate, deadline)
            if foreseen is not None:
                arm(foreseen())
        gate.is_held = bool(gate.lock.acquire(timeout=_left(deadline))) or gate.is_held
        return bool(gate.lock._is_owned())
    finally:
        if gate.next._is_owned():
            gate.next.release()


def _news(gate: _Gate, deadline: float) -> Callable[[], Foreseen] | None:
    """What the writer that holds the branch foresees; None when nobody holds it any more, or the time is over."""
    with gate.news:
        gate.news.wait_for(lambda: gate.foreseen is not None or not gate.is_held, _left(deadline))
        return gate.foreseen


def _left(deadline: float) -> float:
    return max(0.0, deadline - time.monotonic())


def _lease(gate: _Gate, storage: GraphStorage, branch: str, deadline: float) -> HeldLeases:
    """The lease that the writer before kept for us if it is still ours, else a new one."""
    if gate.held is not None:
        try:
            gate.held.check()
        except LeaseLost:
            _give_back(gate)
    if gate.held is None:
        gate.keeper = storage.leases.hold(branch, wait_s=_left(deadline))
        gate.held = gate.keeper.__enter__()
        gate.handovers = 0
    return gate.held


def _pass_on(gate: _Gate) -> None:
    """Keeps the lease for the next in the queue, or gives it back."""
    keep = False
    try:
        with _registry:
            follows = gate.foreseen is not None or (gate.held is not None and not _is_due(gate, gate.held))
            keep = gate.held is not None and bool(gate.waiting) and follows
            gate.handovers += 1
    finally:
        try:
            if not keep:
                _give_back(gate)
        finally:
            gate.foreseen, gate.is_held, gate.owner = None, False, None
            gate.lock.release()
            with gate.news:
                gate.news.notify_all()


def _give_back(gate: _Gate) -> None:
    keeper, gate.held, gate.keeper = gate.keeper, None, None
    if keeper is not None:
        keeper.__exit__(None, None, None)


def _is_due(gate: _Gate, held: HeldLeases) -> bool:
    """True when another process should have its turn."""
    if gate.handovers >= HANDOVERS_MAX:
        return True
    return gate.handovers >= HANDOVERS_WHILE_WANTED_MAX and held.is_wanted()


def _leave_nothing(gate: _Gate) -> None:
    """A waiter that gives up may be the one for whom the lease was kept: then it is passed on from here."""
    if gate.lock.acquire(blocking=False):
        _pass_on(gate)
