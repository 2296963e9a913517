"""Maintenance: the methods of `Graph` that look after a graph and change no entity."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from omnigraph import history
from omnigraph.graph.handle import Handle
from omnigraph.model.errors import BadRequest

if TYPE_CHECKING:
    from omnigraph.model.durations import Duration
    from omnigraph.model.progress import ProgressListener
    from omnigraph.write.recovery import RecoveryRecord, Sidecar
    from omnigraph.write.upkeep import CleanupReport, IndexReport, IndexStatus, OptimizeReport, RepairReport, Upkeep
    from omnigraph.write.verify import VerifyReport


class Maintenance(Handle):
    """Indexes, compaction, old versions, verification, recovery."""

    _upkeep: Upkeep | None = None

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
        catalog = history.schema_of(self._storage, snapshot, self._accepted).catalog
        return index_status(self._storage, snapshot.tables, catalog, branch=snapshot.branch)

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

    def optimize(
        self, branch: str | None = None, *, tables: Sequence[str] | None = None, rebuild_indexes: bool = False
    ) -> OptimizeReport:
        """Merges the small files that many small writes leave, and brings the indexes up to date.

        `tables` narrows it to some types, given as `node:Person`. `rebuild_indexes` builds every index of these again,
        for one that `verify` found to disagree with its table.

        >>> graph.optimize().conflict is None
        True

        Raises BranchNotFound and OpenedReadOnly.
        """
        from omnigraph.write.upkeep import optimize

        self._allow("admin")
        return optimize(
            self._storage,
            lambda: self._accepted,
            self._named(branch),
            tables=tables,
            rebuild_indexes=rebuild_indexes,
            actor_id=self._actor,
        )

    def upkeep(
        self,
        *,
        every: Duration = 1.0,
        keep_versions: int | None = None,
        older_than: Duration | None = None,
        grace: Duration | None = None,
    ) -> Upkeep:
        """Starts background upkeep of this handle's branch: a thread that compacts tables and extends indexes when it
        pays, so that a long-lived process need not call `optimize`.

        It looks `every` so often, rests four times as long as it works, and gives way to writers. Given `keep_versions`
        or `older_than` it also does a `cleanup` every hour. It ends with `stop`, with a `with` block, when this handle
        is closed, and at the end of the process.

        >>> with graph.upkeep() as upkeep:
        ...     upkeep.status.state
        'resting'

        Raises BadRequest while one runs for this handle already, and OpenedReadOnly.
        """
        from omnigraph.model.durations import seconds_of
        from omnigraph.write.upkeep import Upkeep, UpkeepPlan, policy_of

        self._allow("admin")
        self._storage.require_writable()
        if self._upkeep is not None and self._upkeep.is_running:
            raise BadRequest("background upkeep of this handle is running already", "stop it first")
        retention = None
        if keep_versions is not None or older_than is not None:
            retention = policy_of(keep_versions, older_than, None, grace)
        plan = UpkeepPlan(self._branch, max(0.01, seconds_of(every, "every")), retention, self._actor)
        self._upkeep = Upkeep(self._storage, lambda: self._accepted, plan)
        return self._upkeep

    def cleanup(
        self,
        *,
        keep_versions: int | None = None,
        older_than: Duration | None = None,
        since: str | None = None,
        grace: Duration | None = None,
        confirm: bool = False,
        progress: ProgressListener | None = None,
    ) -> CleanupReport:
        """Removes old versions of tables, for good. Without `confirm` it says what would go, and changes nothing.

        At least one limit says what stays: the newest `keep_versions` of each table, what is not `older_than` a
        duration (`"7d"`, a `timedelta`, seconds), everything `since` a commit, tag or time. A version goes only if each
        limit lets it go. What a branch or a tag shows always stays, and what a merge of two branches needs, and what
        was replaced less than `grace` ago (`"1h"`): a read that began within this time never misses a file. Earlier
        states cannot be read afterwards; their commits stay listed.

        >>> graph.cleanup(keep_versions=10).versions
        0
        >>> graph.cleanup(keep_versions=10, confirm=True).failed
        ()

        Raises BadRequest without a limit; BranchUnreadable, RecoveryRequired and TableDrift when it cannot be told what
        is needed, before anything is removed; SchemaApplyInProgress, LeaseTimeout and OpenedReadOnly.
        """
        from omnigraph.write.upkeep import cleanup, policy_of

        self._allow("admin")
        policy = policy_of(keep_versions, older_than, since, grace)
        return cleanup(self._storage, policy, confirm=confirm, progress=progress)

    def repair(self, branch: str | None = None, *, confirm: bool = False, force: bool = False) -> RepairReport:
        """Shows tables that another program moved on without telling the graph, and publishes them as they are.

        With `confirm` those that were only compacted are published: no row changes. With `force` as well all others,
        as they are: nobody has checked their rows, so run `verify` afterwards.

        >>> {table.classification for table in graph.repair().tables}
        {'no_drift'}

        Raises BadRequest for `force` without `confirm`, RecoveryRequired while an interrupted write waits,
        BranchNotFound and OpenedReadOnly.
        """
        from omnigraph.write.upkeep import repair

        self._allow("admin")
        return repair(self._storage, lambda: self._accepted, self._named(branch), confirm=confirm, force=force)

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
