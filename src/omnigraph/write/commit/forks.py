"""Forks: a branch writes its own lineage of a table, which the first write to that table makes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from omnigraph.model.errors import Conflict
from omnigraph.model.identifiers import MAIN
from omnigraph.storage import GraphStorage, Point, reach
from omnigraph.storage.manifest import TablePin
from omnigraph.write.commit.request import WriteBase


def owns(pin: TablePin, branch: str) -> bool:
    """True when the branch writes this table where it lies; otherwise the first write forks it."""
    return branch == MAIN or pin.lineage == branch


def fork(storage: GraphStorage, base: WriteBase, pin: TablePin) -> TablePin:
    """The first touch of a table on a branch. A fork of that name that no live snapshot reads is a leftover."""
    branch = base.branch
    if storage.lineages.exists(pin.location, branch):
        if _is_read(storage, pin.location, branch):
            raise Conflict(
                f"table '{pin.table_key}' has a fork '{branch}' that another branch reads",
                "delete the other branch first, or write on a branch of another name",
            )
        _remove_leftover(storage, pin.location, branch, storage.manifest.branches())
    storage.lineages.create(pin.location, branch, pin.lineage, pin.version)
    reach(Point.MUTATION_FORKED)
    return replace(pin, lineage=branch, incarnation=base.loaded.state.incarnation)


def _remove_leftover(storage: GraphStorage, location: str, lineage: str, live: Sequence[str]) -> None:
    """A fork that nobody reads; first those that were cut from it and whose branches are gone: their deletion died."""
    for child in storage.lineages.children(location, lineage):
        if child not in live and not _is_read(storage, location, child):
            _remove_leftover(storage, location, child, live)
    storage.lineages.delete(location, lineage)


def _is_read(storage: GraphStorage, location: str, lineage: str) -> bool:
    return any(
        pin.location == location and pin.lineage == lineage
        for branch in storage.manifest.branches()
        for pin in storage.manifest.load(branch).state.pins()
    )
