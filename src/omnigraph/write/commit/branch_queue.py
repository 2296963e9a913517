"""The branch queue: writers of one process wait for a branch one after the other, and share its lease while they do.

A branch has one queue in a process, which all handles of the graph share. Its states:

    free ──first writer──▶ held ──it leaves, others wait──▶ kept ──next writer──▶ held …
                            │                                 └─ taken over without asking the store again
                            └──it leaves, nobody waits, or others are due──▶ free (the lease is given back)

Invariants  1. At most one writer has `lock`, and only it touches `held`, `keeper` and `handovers`.
            2. The lease is ours from `held` set to `held` cleared; who takes it over checks it first.
            3. It is kept only for a writer that waits. After HANDOVERS_MAX commits, or HANDOVERS_WHILE_WANTED_MAX when
               another process waits, it is given back: each of P waiting processes gets its turn within P times that
               many commits.
            4. Whatever ends a writer, an interrupt at any moment too, ends its place (`_Place`).
            5. A forked child has no queues: they are those of threads that are not there.

So a busy branch pays for its lease once per run of writers. Each writer keeps a commit of its own.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import field
from functools import lru_cache
from typing import Any

from omnigraph.model.errors import (
    BranchExists,
    HistoricalVersionReclaimed,
    Internal,
    LeaseLost,
    LeaseTimeout,
    Unreachable,
)
from omnigraph.model.late_dataclass import dataclass
from omnigraph.storage import GraphStorage
from omnigraph.storage.leases import WAIT_MAX_S, HeldLeases

HANDOVERS_MAX = 32
HANDOVERS_WHILE_WANTED_MAX = 8
"""How many commits of this process another one waits for, at the most."""
HANDOVER_PAUSE_S = 0.0003
"""Whoever leaves does nothing for a moment, so that the next one, which has the branch, gets the interpreter: else both
compute for a while, and the others of the queue wait for both."""
STAGING_AT_A_TIME = 4
"""Writers of a queue that write their files ahead at once: more would only take time from the one that holds the
branch, and whoever waits here is not next anyway."""


@dataclass
class _Queue:
    """The queue of one branch of one graph in this process."""

    lock: _OwnedLock = field(default_factory=threading.RLock)
    is_held: bool = False
    """Whether some writer has `lock`; a thread can only ask whether it has it itself."""
    owner: int | None = None
    """The place of the writer that has `lock`."""
    waiting: set[int] = field(default_factory=set)
    handovers: int = 0
    staging: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(STAGING_AT_A_TIME))
    held: HeldLeases | None = None
    keeper: AbstractContextManager[HeldLeases] | None = None


_OwnedLock = Any
"""A re-entrant lock, which nobody takes twice: unlike a plain one it knows whether this thread has it. An interrupt may
come after a lock was taken and before anything could be noted."""

_queues: dict[tuple[str, str], _Queue] = {}
_registry = threading.Lock()


def _forget_all() -> None:
    """In a forked child: the queues are those of threads that are not here, and their leases are the parent's."""
    global _registry
    _registry = threading.Lock()
    _queues.clear()


os.register_at_fork(after_in_child=_forget_all)


class _Place:
    """A writer's place in a queue. Whatever ends the writer, an interrupt at any moment too, ends its place."""

    has_left = True  # of an object whose construction was interrupted

    def __init__(self, queue: _Queue) -> None:
        self.queue = queue
        self.has_left = False

    def begin_waiting(self) -> None:
        with _registry:
            self.queue.waiting.add(id(self))

    def end_waiting(self) -> None:
        with _registry:
            self.queue.waiting.discard(id(self))

    def leave(self) -> None:
        self.end_waiting()
        if self.queue.lock._is_owned() and self.queue.owner in (None, id(self)):  # None: taken, and not yet noted
            _pass_on(self.queue)
        self.has_left = True

    def __del__(self) -> None:
        if not self.has_left:  # the leaving itself was interrupted
            self.leave()


@contextmanager
def window(storage: GraphStorage, branch: str, *, wait_s: float = WAIT_MAX_S) -> Iterator[HeldLeases]:
    """The exclusive right to commit on a branch, for the block."""
    queue = _queue_of(storage, branch)
    deadline = time.monotonic() + wait_s
    if queue.lock._is_owned():
        raise LeaseTimeout(f"branch '{branch}' is held by the very thread that asks for it")
    place = _Place(queue)
    try:
        place.begin_waiting()
        got = _wait(queue, deadline)
        queue.owner = id(place) if got else queue.owner
        place.end_waiting()
        if not got:
            _leave_nothing(queue)
            raise LeaseTimeout(f"timed out waiting for branch '{branch}': other writers of this process hold it")
        with _told_as_lost(_lease(queue, storage, branch, deadline)) as lease:
            yield lease
    finally:
        place.leave()
    if queue.waiting:
        time.sleep(HANDOVER_PAUSE_S)


@contextmanager
def _told_as_lost(lease: HeldLeases) -> Iterator[HeldLeases]:
    """Raises LeaseLost instead of what looks like damage, and is the work of whoever has the branch by now."""
    try:
        yield lease
    except (Internal, HistoricalVersionReclaimed, BranchExists):
        with suppress(Unreachable):  # then the first error is what is known
            lease.check()
        raise


def is_busy(storage: GraphStorage, branch: str) -> bool:
    """True when other writers of this process hold the branch or queue for it."""
    queue = _queue_of(storage, branch)
    return bool(queue.waiting) or queue.is_held


@contextmanager
def prestaging(storage: GraphStorage, branch: str) -> Iterator[None]:
    """A place among the few of a queue that prepare while others hold the branch."""
    with _queue_of(storage, branch).staging:
        yield


def _queue_of(storage: GraphStorage, branch: str) -> _Queue:
    root = _real_path(storage.root.uri) if storage.root.is_local else storage.root.uri
    with _registry:
        queue = _queues.get((root, branch))
        if queue is None:
            queue = _queues[root, branch] = _Queue()
        return queue


@lru_cache(maxsize=1024)
def _real_path(uri: str) -> str:
    """Two ways to one folder have one queue. Where a link is turned elsewhere meanwhile, the lease still holds."""
    return os.path.realpath(uri)


def _wait(queue: _Queue, deadline: float) -> bool:
    """Waits for the branch. False when the time is over."""
    queue.is_held = bool(queue.lock.acquire(timeout=_left(deadline))) or queue.is_held
    return bool(queue.lock._is_owned())


def _left(deadline: float) -> float:
    return max(0.0, deadline - time.monotonic())


def _lease(queue: _Queue, storage: GraphStorage, branch: str, deadline: float) -> HeldLeases:
    """The lease that the writer before kept for us if it is still ours, else a new one."""
    if queue.held is not None:
        try:
            queue.held.check()
        except LeaseLost:
            _give_back(queue)
    if queue.held is None:
        queue.keeper = storage.leases.hold(branch, wait_s=_left(deadline))
        queue.held = queue.keeper.__enter__()
        queue.handovers = 0
    return queue.held


def _pass_on(queue: _Queue) -> None:
    """Keeps the lease for the next in the queue, or gives it back."""
    keep = False
    try:
        with _registry:
            keep = queue.held is not None and bool(queue.waiting) and not _is_due(queue, queue.held)
            queue.handovers += 1
    finally:
        try:
            if not keep:
                _give_back(queue)
        finally:
            queue.is_held, queue.owner = False, None
            queue.lock.release()


def _give_back(queue: _Queue) -> None:
    keeper, queue.held, queue.keeper = queue.keeper, None, None
    if keeper is not None:
        keeper.__exit__(None, None, None)


def _is_due(queue: _Queue, held: HeldLeases) -> bool:
    """True when another process should have its turn."""
    if queue.handovers >= HANDOVERS_MAX:
        return True
    return queue.handovers >= HANDOVERS_WHILE_WANTED_MAX and held.is_wanted()


def _leave_nothing(queue: _Queue) -> None:
    """A waiter that gives up may be the one for whom the lease was kept: then it is passed on from here."""
    if queue.lock.acquire(blocking=False):
        _pass_on(queue)
