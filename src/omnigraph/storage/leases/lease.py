"""Leases: who may write a branch now, across processes.

Local graph: an OS file lock on `__leases/<branch>` (`lease_files`); the kernel frees it when the process dies.
Object store: a conditional-put object with expiry and fence (`lease_objects`). A holder that was taken over finds out
at the next check, and looks before every commit.
Several leases are taken in sorted order, that of the graph last. It is held by nobody who waits for a branch, and
whoever waits long for it gives the branches back meanwhile: so two operations cannot wait for each other, and a branch
that is busy for a minute holds up nobody who makes another branch or a tag.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Protocol

from omnigraph.model.errors import LeaseTimeout
from omnigraph.model.identifiers import GRAPH_LEASE
from omnigraph.model.late_dataclass import dataclass
from omnigraph.storage import layout
from omnigraph.storage.failpoints import Point, reach
from omnigraph.storage.objects import ObjectStore
from omnigraph.storage.root import Root

WAIT_MAX_S = 60.0
"""How long a writer waits for another one before it gives up with LeaseTimeout."""
GRAPH_WAIT_S = 1.0
"""How long branches are held while their holder waits for the lease of the graph."""


class Lease(Protocol):
    """A held lease."""

    def check(self) -> None:
        """The fencing check: raises LeaseLost unless the lease is still ours, right now."""

    def release(self) -> None:
        """Gives the lease back. Never fails: what was done under it is done, and what is not given back expires."""

    def is_wanted(self) -> bool:
        """True when another process waits for it."""


class Leases:
    """The leases of one graph."""

    def __init__(self, root: Root, objects: ObjectStore) -> None:
        self._root = root
        self._objects = objects

    @contextmanager
    def hold(
        self, *branches: str, graph: bool = False, wait_s: float = WAIT_MAX_S, of_the_dead: bool = False
    ) -> Iterator[HeldLeases]:
        """Holds the leases of these branches, and of the whole graph if asked, for the block.

        With `of_the_dead` it gives up, with LeaseTimeout, as soon as a holder shows that it lives.
        """
        names = sorted(set(branches))
        is_settled = of_the_dead and self._root.is_local  # the kernel frees the lock of who dies: whoever has it lives
        deadline = time.monotonic() + (0.0 if is_settled else wait_s)
        held: list[Lease] = []
        try:
            while True:
                for name in names:
                    held.append(self._acquire(name, deadline, of_the_dead))  # noqa: PERF401 - listed as soon as it is held
                if not graph or self._add_graph(held, deadline, of_the_dead):
                    break
                _give_back(held)
                self._acquire(
                    GRAPH_LEASE, deadline, of_the_dead
                ).release()  # waits for it in its queue, and holds nothing
            reach(Point.LEASE_ACQUIRED)
            yield HeldLeases(tuple(held))
        finally:  # no ExitStack: it would keep what an interrupt left here alive until the next collection of garbage
            _give_back(held)

    def _add_graph(self, held: list[Lease], deadline: float, of_the_dead: bool) -> bool:
        """Takes the lease of the graph too. False when that takes longer than the others may be held for it."""
        patience = time.monotonic() + GRAPH_WAIT_S if held else deadline
        try:
            held.append(self._acquire(GRAPH_LEASE, min(patience, deadline), of_the_dead))
        except LeaseTimeout:
            if patience >= deadline:
                raise
            return False
        return True

    def take(self, path: str, *, wait_s: float = 0.0) -> Lease:
        """The lease of an object that is no branch, for example of a load's staging folder, and may be deleted."""
        deadline = time.monotonic() + wait_s
        if not self._root.is_local:
            from omnigraph.storage.leases.s3 import acquire_object

            return acquire_object(self._objects, path, path, deadline)
        from omnigraph.storage.leases.local import acquire_file

        return acquire_file(self._root.join(path), path, deadline, queues=False)

    def _acquire(self, name: str, deadline: float, of_the_dead: bool) -> Lease:
        if self._root.is_local:
            from omnigraph.storage.leases.local import acquire_file

            return acquire_file(self._root.join(layout.lease_name(name)), name, deadline)
        from omnigraph.storage.leases.s3 import acquire_object

        return acquire_object(self._objects, layout.lease_name(name), name, deadline, of_the_dead=of_the_dead)


def _give_back(held: list[Lease]) -> None:
    while held:
        held[-1].release()
        held.pop()


@dataclass(frozen=True)
class HeldLeases:
    """Several leases, checked together."""

    leases: Sequence[Lease]

    def check(self) -> None:
        for lease in self.leases:
            lease.check()

    def is_wanted(self) -> bool:
        return any(lease.is_wanted() for lease in self.leases)
