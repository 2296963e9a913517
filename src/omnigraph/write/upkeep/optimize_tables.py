"""Optimize: puts small fragments together and brings the indexes up to date. No entity changes.

Every small write leaves a fragment behind, and every read and write of a table pays for each of them. Compaction is
one commit of kind `optimize` for all tables, the refresh of the indexes one of kind `ensure_indices` after it: a table
moves by one version per commit. Both are looked through by `if_commit`. Then `__manifest` is compacted in place. A
table that another program has moved on is left alone until it is repaired.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import field

from omnigraph.model.errors import Conflict, TypeNotFound
from omnigraph.model.identifiers import MAIN, TableKey
from omnigraph.model.late_dataclass import dataclass
from omnigraph.storage import AcceptedSchema, GraphStorage
from omnigraph.storage.compaction import (
    Compacted,
    CompactionTarget,
    compact,
    gentle_target,
    is_worth_compacting,
    stage_compaction,
    still_compacts,
    whole_target,
)
from omnigraph.storage.manifest import GraphCommit, TablePin
from omnigraph.storage.tables import StagedEffect
from omnigraph.write.changes import ChangeSet, StagedWork
from omnigraph.write.commit import Prepared, WriteBase, owns, window
from omnigraph.write.upkeep.attempts import UpkeepArea, publish_upkeep
from omnigraph.write.upkeep.drift import is_drift
from omnigraph.write.upkeep.indexing import IndexReport, IndexStatus, ensure_indices, is_foreign

DRIFT = "drift_needs_repair"
MANIFEST_TABLE = "__manifest"


@dataclass(frozen=True, slots=True)
class CompactedTable:
    """What compaction did to one table."""

    type: str
    fragments_removed: int
    fragments_added: int


@dataclass(frozen=True, slots=True)
class OptimizedTable:
    """One table of the branch, or `__manifest`."""

    type: str
    fragments_removed: int = 0
    fragments_added: int = 0
    committed: bool = False
    """Whether it has a new version."""
    skipped: str | None = None
    """`drift_needs_repair`: another program moved it on, and it was left alone."""
    published_version: int | None = None
    """What the graph shows of a table that was skipped."""
    head_version: int | None = None
    """And what it has."""
    pending_indexes: tuple[IndexStatus, ...] = ()
    """Indexes that are not ready yet, with the reason."""


@dataclass(frozen=True, slots=True)
class OptimizeReport:
    """What `optimize` did. `commit` is None when there was nothing to compact.

    >>> report = graph.optimize()
    >>> report.commit, report.compacted, len(report.indexes.built) > 0
    (None, (), True)
    """

    commit: GraphCommit | None
    compacted: tuple[CompactedTable, ...]
    indexes: IndexReport
    conflict: str | None = None
    """Why nothing was compacted although there was something to: the branch was too busy, or is not to be written."""
    tables: tuple[OptimizedTable, ...] = ()
    """Every table that was asked for, in order of their type keys, and `__manifest` at the end."""


def optimize(
    storage: GraphStorage,
    schema: Callable[[], AcceptedSchema],
    branch: str = MAIN,
    *,
    tables: Sequence[str] | None = None,
    rebuild_indexes: bool = False,
    actor_id: str | None = None,
) -> OptimizeReport:
    """Compacts the tables that the branch owns, then extends and repairs their indexes, or builds all of them again."""
    only = None if tables is None else [TableKey.parse(key) for key in tables]
    compaction, commit, conflict = _compacted(storage, schema, branch, only, actor_id, gently=False)
    indexes = ensure_indices(storage, schema, branch, tables=tables, actor_id=actor_id, rebuild=rebuild_indexes)
    manifest = compact_manifest(storage, branch)
    done = compaction.done if commit is not None else {}
    shown = [_shown(key, compaction, done, indexes) for key in sorted(compaction.asked)]
    return OptimizeReport(commit, tuple(done[key] for key in sorted(done)), indexes, conflict, (*shown, manifest))


def compact_gently(
    storage: GraphStorage,
    schema: Callable[[], AcceptedSchema],
    branch: str,
    tables: Sequence[TableKey],
    actor_id: str | None = None,
) -> tuple[GraphCommit | None, str | None]:
    """The compaction alone, of the smallest fragments of some tables: the commit, and what stood against it."""
    _, commit, conflict = _compacted(storage, schema, branch, list(tables), actor_id, gently=True)
    return commit, conflict


def _compacted(
    storage: GraphStorage,
    schema: Callable[[], AcceptedSchema],
    branch: str,
    only: list[TableKey] | None,
    actor_id: str | None,
    *,
    gently: bool,
) -> tuple[_Compaction, GraphCommit | None, str | None]:
    with UpkeepArea(storage) as area:
        compaction = _Compaction(area, only, gentle_target if gently else whole_target)
        commit, conflict = publish_upkeep(
            area,
            schema,
            branch=branch,
            kind="optimize",
            writer_kind="Optimize",
            prepare=compaction.prepare,
            actor_id=actor_id,
        )
    return compaction, commit, conflict


def compact_manifest(storage: GraphStorage, branch: str) -> OptimizedTable:
    """The rows of a branch's `__manifest` in few fragments, in place: no publish, and nothing to resolve after a death.

    Gives way like all upkeep: a branch that stays busy is left to its writers, who do the same when it is due.
    """
    try:
        with window(storage, branch):
            before = storage.manifest.load(branch)
            if not storage.manifest.is_worth_compacting(before):
                return OptimizedTable(MANIFEST_TABLE)
            after = storage.manifest.compact(before)
    except Conflict:
        return OptimizedTable(MANIFEST_TABLE)
    removed, added = before.fragments - after.fragments, after.fragments - before.fragments
    return OptimizedTable(MANIFEST_TABLE, len(removed), len(added), committed=True)


def _shown(
    key: TableKey, compaction: _Compaction, done: dict[TableKey, CompactedTable], indexes: IndexReport
) -> OptimizedTable:
    own = str(key)
    pending = tuple(status for status in indexes.pending if status.type == own)
    if key in compaction.drifted:
        published, head = compaction.drifted[key]
        return OptimizedTable(
            own, skipped=DRIFT, published_version=published, head_version=head, pending_indexes=pending
        )
    counts = done.get(key, CompactedTable(own, 0, 0))
    committed = key in done or any(built.type == own for built in indexes.built)
    return OptimizedTable(own, counts.fragments_removed, counts.fragments_added, committed, pending_indexes=pending)


@dataclass
class _Compaction:
    site: UpkeepArea
    only: list[TableKey] | None
    target: CompactionTarget
    done: dict[TableKey, CompactedTable] = field(default_factory=dict)
    asked: tuple[TableKey, ...] = ()
    drifted: dict[TableKey, tuple[int, int]] = field(default_factory=dict)
    """By table: the published version, and the newest one."""
    _written: dict[TableKey, Compacted] = field(default_factory=dict)

    def prepare(self, base: WriteBase) -> Prepared:
        """Called again when another commit was first; what was rewritten of a table is kept while it still fits."""
        self.done, pins = {}, base.pins()
        for key in self.only or ():
            if key not in pins:
                raise TypeNotFound(key.type_name)
        self.asked = tuple(key for key in pins if self.only is None or key in self.only)
        own = [pins[key] for key in self.asked if owns(pins[key], base.branch)]
        self.drifted = dict(self._drift(base, own))
        works = []
        for pin in own:
            work = StagedWork(pin.table_key, self._stage)
            if pin.table_key not in self.drifted and not is_foreign(self.site.storage, pins, base.schema.catalog, work):
                works.append(work)
        return Prepared(ChangeSet(works=tuple(works), guard=self.site.check))

    def _drift(self, base: WriteBase, pins: Iterable[TablePin]) -> Iterable[tuple[TableKey, tuple[int, int]]]:
        for pin in pins:
            head = is_drift(self.site.storage, base.loaded, pin)
            if head is not None:
                yield pin.table_key, (pin.version, head)

    def _stage(self, pin: TablePin) -> StagedEffect | None:
        table = self.site.storage.tables.open(pin)
        written = self._written.get(pin.table_key)
        if written is None or not still_compacts(written, table):
            if not is_worth_compacting(table, self.target):
                return None
            written = self._written[pin.table_key] = compact(table, self.site.area.files, self.target)
        counts = CompactedTable(str(pin.table_key), written.fragments_removed, written.fragments_added)
        self.done[pin.table_key] = counts
        return self.site.staged(stage_compaction(self.site.area, table, written))
