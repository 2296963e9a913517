"""Leftovers: what a dead writer left half done on a branch is finished or taken back before anyone writes there."""

from __future__ import annotations

from omnigraph.model.identifiers import MAIN
from omnigraph.storage import GraphStorage
from omnigraph.storage.leases import HeldLeases
from omnigraph.write.commit.branch_queue import window
from omnigraph.write.recovery import Sidecar, list_sidecars, recover_branch


def settle(storage: GraphStorage, branch: str) -> None:
    """Finishes or takes back what was left half done on a branch, by a dead writer or an interrupted one of ours."""
    if pending_on(storage, branch):
        with window(storage, branch) as lease:
            settle_held(storage, branch, lease)


def settle_held(storage: GraphStorage, branch: str, lease: HeldLeases) -> None:
    """The same by a writer that holds the branch already."""
    pending = pending_on(storage, branch)
    if pending:
        recover_branch(storage, branch, lease.check, sidecars=pending)


def pending_on(storage: GraphStorage, branch: str) -> list[Sidecar]:
    """What a writer of this branch must not step over; on main also the intents of branches that are gone."""
    listed = list_sidecars(storage.objects)
    if not listed:
        return []
    alive = set(storage.manifest.branches()) if branch == MAIN else set()
    return [
        sidecar
        for sidecar in listed
        if sidecar.is_schema_apply
        or sidecar.branch_name == branch
        or (branch == MAIN and sidecar.branch_name not in alive)
    ]
