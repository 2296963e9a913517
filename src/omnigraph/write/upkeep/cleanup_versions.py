"""Cleanup: removes old versions of tables and forks that nobody needs. The one operation that takes something away.

  refuse   with every branch held, so that no write is under way: interrupted writes, a branch that cannot be read, a
           table that another program wrote to
  forks    still holding them: those that no branch, tag or merge needs, children before their parents
  tables   one lineage after the other, holding the graph alone: writers go on. What is about to go is written down,
           then the names of branches and tags are looked at once more, then the version files go, then what they named

Wherever this dies, a version is whole or gone, and the next cleanup finishes what was written down.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import field

from omnigraph.model.errors import BranchNotFound, OmniGraphError, ReadSetChanged, RecoveryRequired, TableDrift
from omnigraph.model.identifiers import MAIN, TableKey
from omnigraph.model.late_dataclass import dataclass
from omnigraph.model.progress import Progress, ProgressListener
from omnigraph.storage import MANIFEST, GraphStorage, Point, from_disk, layout, reach
from omnigraph.storage.leases import GRAPH_WAIT_S, HeldLeases
from omnigraph.storage.manifest import LoadedManifest, TablePin
from omnigraph.storage.reclaim import Condemned, Removal
from omnigraph.write.commit import owns
from omnigraph.write.recovery import list_sidecars
from omnigraph.write.upkeep.claims import BranchUnreadable, GraphClaims, claims_of, names_now
from omnigraph.write.upkeep.cleanup_report import CleanedTable, CleanupReport
from omnigraph.write.upkeep.drift import is_drift
from omnigraph.write.upkeep.retention import RetentionPolicy, removable

LOOKS_MAX = 5
"""How often a lineage is looked at again because a branch or a tag was made meanwhile."""
_log = logging.getLogger("omnigraph.write")


def cleanup(
    storage: GraphStorage,
    policy: RetentionPolicy,
    *,
    confirm: bool,
    progress: ProgressListener | None = None,
) -> CleanupReport:
    """Removes what the policy lets go; without `confirm` it only says what that is."""
    if confirm:
        storage.require_writable()
        return _Cleanup(storage, policy, progress).run()
    return _Cleanup(storage, policy, progress).preview()


@dataclass
class _Counts:
    """Of one table."""

    key: TableKey
    versions: int = 0
    files: int = 0
    bytes: int = 0
    forks: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)

    def add(self, removal: Removal) -> None:
        self.versions += len(removal.versions)
        self.files += removal.file_count
        self.bytes += removal.size

    def add_fork(self, name: str, size: tuple[int, int]) -> None:
        self.forks.append(name)
        self.files += size[0]
        self.bytes += size[1]

    def shown(self) -> CleanedTable:
        error = "; ".join(self.errors) or None
        return CleanedTable(str(self.key), self.versions, self.files, self.bytes, tuple(self.forks), error)


class _Cleanup:
    def __init__(self, storage: GraphStorage, policy: RetentionPolicy, progress: ProgressListener | None) -> None:
        self._storage = storage
        self._policy = policy
        self._told = _Told(progress)
        self._counts: dict[str, _Counts] = {}
        self._now = 0.0

    def preview(self) -> CleanupReport:
        self._now = time.time() if self._storage.read_only else self._storage.old_versions.now()
        claims = self._look_unheld()
        work = self._work(claims)
        self._told.begin(len(work))
        for location, name in self._orphans(claims):
            self._count(claims, location).add_fork(name, self._fork_size(location, name))
        for location, lineage in work:
            with self._errors_of(claims, location, lineage):
                self._count(claims, location).add(self._removal(claims, location, lineage))
            self._told.done(self._counts)
        files = self._manifest_files(claims)
        return self._report(False, len(files), sum(files.values()))

    def run(self) -> CleanupReport:
        self._now = self._storage.old_versions.now()
        with self._everything_held() as held:
            claims = self._look()
            self._refuse(claims)
            self._remove_forks(claims, held)
        with self._storage.leases.hold(graph=True) as lease:
            self._finish_dead(lease)
        work = self._work(claims)
        self._told.begin(len(work))
        for location, lineage in work:
            with self._errors_of(claims, location, lineage):
                claims = self._clean(claims, location, lineage)
            self._told.done(self._counts)
        files = self._manifest_files(claims)
        self._storage.objects.delete_files(list(files), lasting=False)
        return self._report(True, len(files), sum(files.values()))

    # --- what there is ------------------------------------------------------------------------------------

    @contextmanager
    def _everything_held(self) -> Iterator[HeldLeases]:
        """The graph and every branch, with those that were made while the leases of the others were waited for."""
        leases, branches = self._storage.leases, self._storage.manifest.branches
        known = branches()
        with (
            leases.hold(*known, graph=True) as held,
            leases.hold(*set(branches()).difference(known), wait_s=GRAPH_WAIT_S) as new,
        ):
            yield HeldLeases((*held.leases, *new.leases))

    def _look(self) -> GraphClaims:
        claims = claims_of(self._storage, moment=self._now - self._policy.grace_s, since=self._policy.since)
        for location, key in claims.tables.items():
            self._counts.setdefault(location, _Counts(key))
        return claims

    def _look_unheld(self) -> GraphClaims:
        """The same for a preview: a branch may be deleted between its listing and its reading."""
        for _ in range(LOOKS_MAX - 1):
            try:
                return self._look()
            except BranchNotFound:
                continue
        return self._look()

    def _count(self, claims: GraphClaims, location: str) -> _Counts:
        return self._counts.setdefault(location, _Counts(claims.tables[location]))

    def _work(self, claims: GraphClaims) -> list[tuple[str, str | None]]:
        """Every lineage of every table, but those that are gone or go as a whole."""
        orphans = set(self._orphans(claims))
        return [
            (location, lineage)
            for location in sorted(claims.tables)
            for lineage in (None, *self._storage.lineages.names(location))
            if (location, lineage) not in orphans
        ]

    def _orphans(self, claims: GraphClaims) -> list[tuple[str, str]]:
        """Forks that nothing needs and nothing was cut from that stays, children before their parents."""
        found = []
        for location in sorted(claims.tables):
            names = self._storage.lineages.names(location)
            parents = {name: (self._storage.lineages.origin(location, name) or (None, 0))[0] for name in names}
            left = [name for name in names if claims.of(location, name).is_empty]
            while free := [name for name in left if name not in parents.values()]:
                found += [(location, name) for name in free]
                for name in free:
                    left.remove(name)
                    del parents[name]
        return found

    def _fork_size(self, location: str, name: str) -> tuple[int, int]:
        tree = layout.branch_tree(location, name)
        sizes = [self._storage.objects.tree_size(f"{tree}/{part}") for part in sorted(layout.LINEAGE_FOLDERS)]
        return sum(files for files, _ in sizes), sum(size for _, size in sizes)

    def _removal(self, claims: GraphClaims, location: str, lineage: str | None) -> Removal:
        path = layout.branch_tree(location, lineage)
        versions = self._storage.old_versions.on_disk(path)
        old = removable(versions, claims.of(location, lineage), self._policy, self._now)
        return self._storage.old_versions.removal(path, old)

    # --- what stands against it ---------------------------------------------------------------------------

    def _refuse(self, claims: GraphClaims) -> None:
        """Every branch is held: whatever is not finished is not being finished."""
        pending = list_sidecars(self._storage.objects)
        if pending:
            raise RecoveryRequired(pending[0].operation_id, "old versions stay until it is resolved")
        fresh = from_disk(self._storage)
        for loaded in claims.branches:
            for pin in loaded.state.pins():
                _require_readable(fresh, loaded, pin)
                if owns(pin, loaded.branch) and (pin.lineage is not None or loaded.branch == MAIN):
                    _require_at_pin(self._storage, loaded, pin)

    # --- forks --------------------------------------------------------------------------------------------

    def _remove_forks(self, claims: GraphClaims, held: HeldLeases) -> None:
        for location, name in self._orphans(claims):
            with self._errors_of(claims, location):
                size = self._fork_size(location, name)
                reach(Point.CLEANUP_FORK)
                held.check()
                self._storage.lineages.delete(location, name)
                self._count(claims, location).add_fork(name, size)

    # --- versions -----------------------------------------------------------------------------------------

    def _clean(self, claims: GraphClaims, location: str, lineage: str | None) -> GraphClaims:
        """One lineage; the claims as they were seen last. Finding out what goes takes longest, and holds nothing: so a
        branch or a tag that comes or goes meanwhile makes it look again, and the last time it holds the graph."""
        for _ in range(LOOKS_MAX - 1):
            try:
                removal = self._removal(claims, location, lineage)
                with self._storage.leases.hold(graph=True) as lease:
                    if names_now(self._storage) == claims.names:
                        condemned = self._removed(removal, claims, lease)
                        break
            except OmniGraphError:
                if names_now(self._storage) == claims.names:
                    raise
            claims = self._look_again()
        else:
            with self._storage.leases.hold(graph=True) as lease:
                claims = self._look()
                removal = self._removal(claims, location, lineage)
                condemned = self._removed(removal, claims, lease)
        if condemned is not None:
            self._storage.old_versions.remove_files(removal)  # nobody can name these any more: no lease is needed
            self._storage.condemned.forget(condemned)
            self._count(claims, location).add(removal)
        return claims

    def _look_again(self) -> GraphClaims:
        with self._storage.leases.hold(graph=True):
            return self._look()

    def _removed(self, removal: Removal, claims: GraphClaims, lease: HeldLeases) -> Condemned | None:
        """Removes the versions; None when there are none.

        Names were the same when the lease was held. It may be lost: so what goes is written down, and the names are
        looked at once more.
        """
        if not removal.versions:
            return None
        condemned = self._storage.condemned.add(removal)
        reach(Point.CLEANUP_CONDEMNED)
        if names_now(self._storage) != claims.names and not self._is_unneeded(removal):
            self._storage.condemned.forget(condemned)
            raise ReadSetChanged("the branches and tags of the graph")
        reach(Point.CLEANUP_DECIDED)
        self._storage.old_versions.remove_versions(removal, lease.check)
        return condemned

    def _is_unneeded(self, removal: Removal) -> bool:
        """Whether nothing that there is now needs any of these versions."""
        return _needed(self._look(), removal.path).isdisjoint(removal.versions)

    def _finish_dead(self, lease: HeldLeases) -> None:
        """What a cleanup that died had written down. If any of it is needed after all, it stays as it is: files that
        nobody names go when they are a week old."""
        left = self._storage.condemned.all()
        if not left:
            return
        claims = self._look()
        for condemned in left:
            removal = condemned.removal
            if _needed(claims, removal.path).isdisjoint(removal.versions):
                self._storage.old_versions.remove(removal, lease.check)
            self._storage.condemned.forget(condemned)

    # --- `__manifest` -------------------------------------------------------------------------------------

    def _manifest_files(self, claims: GraphClaims) -> dict[str, int]:
        """Its transaction files of versions that were replaced longer ago than the grace time, with their sizes."""
        found = {}
        for loaded in claims.branches:
            path = layout.branch_tree(MANIFEST, None if loaded.branch == MAIN else loaded.branch)
            for file in self._storage.objects.list_files(f"{path}/_transactions"):
                read_version = file.name.partition("-")[0]
                is_old = read_version.isdecimal() and int(read_version) < loaded.version - 1
                if is_old and file.modified_at <= self._now - self._policy.grace_s:
                    found[f"{path}/_transactions/{file.name}"] = file.size
        return found

    # --- telling ------------------------------------------------------------------------------------------

    @contextmanager
    def _errors_of(self, claims: GraphClaims, location: str, lineage: str | None = None) -> Iterator[None]:
        """An error of one table is told with it, and the others are done. A fork whose branch was deleted meanwhile is
        gone as a whole, and no error."""
        try:
            yield
        except OmniGraphError as error:
            if lineage is not None and not self._storage.lineages.exists(location, lineage):
                return
            _log.warning("cleanup of %s: %s", location, error)
            self._count(claims, location).errors.append(error.sentence())

    def _report(self, confirmed: bool, files: int, size: int) -> CleanupReport:
        tables = sorted((counts.shown() for counts in self._counts.values()), key=_place)
        return CleanupReport(confirmed, self._policy, tuple(tables), files, size)


class _Told:
    """Progress, by lineages."""

    def __init__(self, listener: ProgressListener | None) -> None:
        self._listener = listener
        self._begun = time.monotonic()
        self._tasks = 0
        self._total = 0

    def begin(self, total: int) -> None:
        self._total = total
        self._tell(0)

    def done(self, counts: dict[str, _Counts]) -> None:
        self._tasks += 1
        self._tell(sum(each.bytes for each in counts.values()))

    def _tell(self, size: int) -> None:
        if self._listener is not None:
            seconds = time.monotonic() - self._begun
            step = Progress(
                stage="cleanup", tasks=self._tasks, tasks_total=max(1, self._total), bytes=size, seconds=seconds
            )
            self._listener(step)


def _place(table: CleanedTable) -> tuple[bool, str]:
    return (not table.type.startswith("node:"), table.type)


def _needed(claims: GraphClaims, path: str) -> set[int]:
    """The versions of the lineage in this folder that something needs by itself."""
    found = (
        claim for (place, lineage), claim in claims.by_lineage.items() if layout.branch_tree(place, lineage) == path
    )
    return {version for claim in found for version in claim.live | claim.held}


def _require_readable(fresh: GraphStorage, loaded: LoadedManifest, pin: TablePin) -> None:
    try:
        fresh.tables.open(pin)
    except OmniGraphError as error:
        raise BranchUnreadable(loaded.branch, error.sentence()) from error


def _require_at_pin(storage: GraphStorage, loaded: LoadedManifest, pin: TablePin) -> None:
    """Nothing that another program wrote lies above the pin."""
    head = is_drift(storage, loaded, pin)
    if head is not None:
        raise TableDrift(
            f"nothing was removed: table '{pin.table_key}' is at version {head} but the graph shows {pin.version}",
            "look at it with `omnigraph repair`",
        )
