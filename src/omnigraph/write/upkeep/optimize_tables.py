"""Optimize: puts small fragments together and brings the indexes up to date. No entity changes.

Every small write leaves a fragment behind, and every read and write of a table pays for each of them. Compaction is
one commit of kind `optimize` for all tables, the refresh of the indexes one of kind `ensure_indices` after it: a table
moves by one version per commit. Both are looked through by `if_commit`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import field

from omnigraph.model.errors import TypeNotFound
from omnigraph.model.identifiers import MAIN, TableKey
from omnigraph.model.late_dataclass import dataclass
from omnigraph.storage import (
    AcceptedSchema,
    Compacted,
    GraphStorage,
    compact,
    is_worth_compacting,
    stage_compaction,
    still_compacts,
)
from omnigraph.storage.manifest import GraphCommit, TablePin
from omnigraph.storage.tables import StagedEffect
from omnigraph.write.changes import ChangeSet, StagedWork
from omnigraph.write.commit import Prepared, WriteBase, owns
from omnigraph.write.upkeep.attempts import UpkeepArea, publish_upkeep
from omnigraph.write.upkeep.indexing import IndexReport, ensure_indices, is_foreign


@dataclass(frozen=True, slots=True)
class CompactedTable:
    """What compaction did to one table."""

    type: str
    fragments_removed: int
    fragments_added: int


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


def optimize(
    storage: GraphStorage,
    schema: Callable[[], AcceptedSchema],
    branch: str = MAIN,
    *,
    tables: Sequence[str] | None = None,
    actor_id: str | None = None,
) -> OptimizeReport:
    """Compacts the tables that the branch owns, then extends and repairs their indexes."""
    only = None if tables is None else [TableKey.parse(key) for key in tables]
    with UpkeepArea(storage) as area:
        compaction = _Compaction(area, only)
        commit, conflict = publish_upkeep(
            area,
            schema,
            branch=branch,
            kind="optimize",
            writer_kind="Optimize",
            prepare=compaction.prepare,
            actor_id=actor_id,
        )
    indexes = ensure_indices(storage, schema, branch, tables=tables, actor_id=actor_id)
    compacted = compaction.done if commit is not None else {}
    return OptimizeReport(commit, tuple(compacted[key] for key in sorted(compacted)), indexes, conflict)


@dataclass
class _Compaction:
    site: UpkeepArea
    only: list[TableKey] | None
    done: dict[TableKey, CompactedTable] = field(default_factory=dict)
    _written: dict[TableKey, Compacted] = field(default_factory=dict)

    def prepare(self, base: WriteBase) -> Prepared:
        """Called again when another commit was first; what was rewritten of a table is kept while it still fits."""
        self.done = {}
        pins = base.pins()
        for key in self.only or ():
            if key not in pins:
                raise TypeNotFound(key.type_name)
        works = []
        for key, pin in pins.items():
            if (self.only is None or key in self.only) and owns(pin, base.branch):
                work = StagedWork(key, self._stage)
                if not is_foreign(self.site.storage, pins, base.schema.catalog, work):
                    works.append(work)
        return Prepared(ChangeSet(works=tuple(works), guard=self.site.check))

    def _stage(self, pin: TablePin) -> StagedEffect | None:
        table = self.site.storage.tables.open(pin)
        written = self._written.get(pin.table_key)
        if written is None or not still_compacts(written, table):
            if not is_worth_compacting(table):
                return None
            written = self._written[pin.table_key] = compact(table, self.site.area.files)
        counts = CompactedTable(str(pin.table_key), written.fragments_removed, written.fragments_added)
        self.done[pin.table_key] = counts
        return self.site.staged(stage_compaction(self.site.area, table, written))
