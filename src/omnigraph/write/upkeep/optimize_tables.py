"""Optimize: puts small fragments together and brings the indexes up to date. No entity changes.

Every small write leaves a fragment behind, and every read and write of a table pays for each of them. Compaction is
one commit of kind `optimize` for all tables, the refresh of the indexes one of kind `ensure_indices` after it: a table
moves by one version per commit. Where old versions were removed, a third one, of kind `optimize` too, shortens what the
version files list of them. All are looked through by `if_commit`. Then `__manifest` is compacted in place. A table that
another program has moved on is left alone until it is repaired.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from omnigraph.model.errors import Conflict
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
from omnigraph.write.commit import window
from omnigraph.write.upkeep.attempts import UpkeepArea
from omnigraph.write.upkeep.indexing import IndexReport, IndexStatus, ensure_indices
from omnigraph.write.upkeep.old_row_versions import put_old_row_versions_together
from omnigraph.write.upkeep.table_pass import TablePass

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
    """What `optimize` did. `commit` is its last one of kind `optimize`, and None when there was nothing to do.

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
    later, moved = put_old_row_versions_together(storage, schema, branch, only, actor_id)
    indexes = ensure_indices(storage, schema, branch, tables=tables, actor_id=actor_id, rebuild=rebuild_indexes)
    manifest = compact_manifest(storage, branch)
    done = compaction.done if commit is not None else {}
    shown = [_shown(key, compaction, done, moved, indexes) for key in sorted(compaction.tables.asked)]
    compacted = tuple(done[key] for key in sorted(done))
    return OptimizeReport(later or commit, compacted, indexes, conflict, (*shown, manifest))


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
        commit, conflict = compaction.tables.publish(schema, branch, actor_id)
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
    key: TableKey,
    compaction: _Compaction,
    done: dict[TableKey, CompactedTable],
    moved: frozenset[TableKey],
    indexes: IndexReport,
) -> OptimizedTable:
    own = str(key)
    pending = tuple(status for status in indexes.pending if status.type == own)
    if key in compaction.tables.drifted:
        published, head = compaction.tables.drifted[key]
        return OptimizedTable(
            own, skipped=DRIFT, published_version=published, head_version=head, pending_indexes=pending
        )
    counts = done.get(key, CompactedTable(own, 0, 0))
    committed = key in done or key in moved or any(built.type == own for built in indexes.built)
    return OptimizedTable(own, counts.fragments_removed, counts.fragments_added, committed, pending_indexes=pending)


class _Compaction:
    """What becomes of each table; what was rewritten of one is kept while it still fits."""

    def __init__(self, site: UpkeepArea, only: list[TableKey] | None, target: CompactionTarget) -> None:
        self.tables = TablePass(site, only, self._stage)
        self.done: dict[TableKey, CompactedTable] = {}
        self._site = site
        self._target = target
        self._written: dict[TableKey, Compacted] = {}

    def _stage(self, pin: TablePin) -> StagedEffect | None:
        self.done.pop(pin.table_key, None)
        table = self._site.storage.tables.open(pin)
        written = self._written.get(pin.table_key)
        if written is None or not still_compacts(written, table):
            if not is_worth_compacting(table, self._target):
                return None
            written = self._written[pin.table_key] = compact(table, self._site.area.files, self._target)
        counts = CompactedTable(str(pin.table_key), written.fragments_removed, written.fragments_added)
        self.done[pin.table_key] = counts
        return self._site.staged(stage_compaction(self._site.area, table, written))
