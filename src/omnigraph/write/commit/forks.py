"""Forks: a branch writes its own lineage of a table, which the first write to that table makes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from omnigraph.history import state_if_there
from omnigraph.model.errors import Conflict
from omnigraph.model.identifiers import MAIN
from omnigraph.storage import GraphStorage, Point, reach
from omnigraph.storage.manifest import TablePin
from omnigraph.write.commit.request import WriteBase


def owns(pin: TablePin, branch: str) -> bool:
    """True when the branch writes this table where it lies; otherwise the first write forks it."""
    return branch == MAIN or pin.lineage == branch


def fork(storage: GraphStorage, base: WriteBase, pin: TablePin, fence: Callable[[], None]) -> TablePin:
    """The first touch of a table on a branch. A fork of that name that no live snapshot reads is a leftover.

    `fence` raises when the branch is not ours any more: then it is no leftover, but the fork of whoever came after.
    """
    branch = base.branch
    if storage.lineages.exists(pin.location, branch):
        if _is_read(storage, pin.location, branch):
            raise Conflict(
                f"table '{pin.table_key}' has a fork '{branch}' that another branch reads",
                "delete the other branch first, or write on a branch of another name",
            )
        _remove_leftover(storage, pin.location, branch, fence)
    storage.lineages.create(pin.location, branch, pin.lineage, pin.version, fence, storage.tables.open(pin))
    reach(Point.MUTATION_FORKED)
    return replace(pin, lineage=branch, incarnation=base.loaded.state.incarnation)


def _remove_leftover(storage: GraphStorage, location: str, lineage: str, fence: Callable[[], None]) -> None:
    """A fork that nobody reads; first those that were cut from it and whose branches are gone: their deletion died.

    A branch of such a name may be made again by another process, and its fork is read by nobody until it is published.
    So its lease is taken, without waiting: the caller has one already.
    """
    for child in storage.lineages.children(location, lineage):
        with storage.leases.hold(child, wait_s=0) as held:
            if child not in storage.manifest.branches() and not _is_read(storage, location, child):
                _remove_leftover(storage, location, child, held.check)
    fence()
    storage.lineages.delete(location, lineage)


def _is_read(storage: GraphStorage, location: str, lineage: str) -> bool:
    """Whether a branch reads this fork. One that is deleted while it is looked at does not."""
    states = (state_if_there(storage, branch) for branch in storage.manifest.branches())
    return any(
        pin.location == location and pin.lineage == lineage
        for state in states
        for pin in (() if state is None else state.pins())
    )
