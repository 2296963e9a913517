"""Maintenance: the methods of `Graph` that look after a graph and change no entity."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from omnigraph import history
from omnigraph.graph.handle import Handle

if TYPE_CHECKING:
    from omnigraph.write.recovery import RecoveryRecord, Sidecar
    from omnigraph.write.upkeep import IndexReport, IndexStatus, OptimizeReport
    from omnigraph.write.verify import VerifyReport


class Maintenance(Handle):
    """Indexes, compaction, verification, recovery."""

    def indexes(self, branch: str | None = None) -> list[IndexStatus]:
        """Every index that the schema asks for or a table has: the rows that it covers, and why it is not ready.

        >>> [(index.type, index.column, index.state) for index in graph.indexes() if index.type == "node:Person"]
        [('node:Person', 'id', 'pending'), ('node:Person', 'name', 'pending')]

        Raises BranchNotFound.
        """
        from omnigraph.write.upkeep import index_status

        named = self._named(branch)
        self._allow("read", branch=named)
        snapshot = history.current_snapshot(self._storage, named)
        return index_status(self._storage, snapshot.tables, self._accepted.catalog, branch=snapshot.branch)

    def ensure_indices(self, branch: str | None = None, *, tables: Sequence[str] | None = None) -> IndexReport:
        """Builds missing indexes and extends stale ones as one commit. Answers do not depend on them, only their speed.

        `tables` narrows it to some types, given as `node:Person`.

        >>> [index.column for index in graph.ensure_indices(tables=["node:Person"]).built]
        ['id', 'name']

        Raises BranchNotFound and OpenedReadOnly.
        """
        from omnigraph.write.upkeep import ensure_indices

        named = self._named(branch)
        self._allow("admin")
        return ensure_indices(self._storage, lambda: self._accepted, named, tables=tables, actor_id=self._actor)

    def optimize(self, branch: str | None = None, *, tables: Sequence[str] | None = None) -> OptimizeReport:
        """Merges the small files that many small writes leave, and brings the indexes up to date.

        `tables` narrows it to some types, given as `node:Person`.

        >>> graph.optimize().conflict is None
        True

        Raises BranchNotFound and OpenedReadOnly.
        """
        from omnigraph.write.upkeep import optimize

        self._allow("admin")
        return optimize(self._storage, lambda: self._accepted, self._named(branch), tables=tables, actor_id=self._actor)

    def verify(self, *, deep: bool = True) -> VerifyReport:
        """Checks the whole graph without changing it. Without `deep` rows and indexes are not read.

        `og.verify(uri)` does the same for a graph that is too damaged to be opened.

        >>> graph.verify().ok
        True

        Raises nothing for damage: the report lists it. Raises Unreachable if the storage does not answer.
        """
        from omnigraph.write.verify import verify_graph

        self._allow("admin")
        return verify_graph(self._storage, deep=deep)

    def recoveries(self) -> list[RecoveryRecord]:
        """The interrupted writes that were resolved, oldest first.

        >>> graph.recoveries()
        []

        Raises Corrupt if the record cannot be read.
        """
        from omnigraph.write.recovery import recoveries

        self._allow("admin")
        return recoveries(self._storage)

    def pending_recoveries(self) -> list[Sidecar]:
        """The writes that are not finished: those of crashed writers, and those that are running right now.

        >>> graph.pending_recoveries()
        []

        Raises RecoveryRequired if a newer release wrote one that this one cannot read.
        """
        from omnigraph.write.recovery import pending

        self._allow("admin")
        return pending(self._storage)
