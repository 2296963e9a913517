"""Index upkeep: builds the indexes that a schema asks for and extends those that fell behind, as one commit.

Indexes are derived: a failure here is a report, never an error of someone's write. What is built is kept while the
commit is tried again, so a busy branch costs the builder some patience and its writers nothing.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from typing import Literal

from omnigraph.history import schema_on
from omnigraph.language.schema import Catalog, EdgeType, NodeType
from omnigraph.model.errors import BadRequest, Conflict, TypeNotFound
from omnigraph.model.identifiers import MAIN, TableKey
from omnigraph.model.late_dataclass import dataclass
from omnigraph.storage import AcceptedSchema, GraphStorage
from omnigraph.storage.indexes import (
    BuildTask,
    BuiltSegment,
    BuiltSegments,
    ExistingIndex,
    IndexBuild,
    build_in_threads,
    built_segments,
    existing_indexes,
    is_worn,
    rewritten_fragments,
    stage_segments,
    still_fits,
    values_in,
    why_broken,
)
from omnigraph.storage.manifest import GraphCommit, TablePin
from omnigraph.storage.tables import IndexSpec, StagedEffect, Table, fragment_states
from omnigraph.write.changes import ChangeSet, StagedWork
from omnigraph.write.commit import Prepared, WriteBase, owns
from omnigraph.write.rules import refuse_foreign_ids
from omnigraph.write.upkeep.attempts import UpkeepArea, publish_upkeep
from omnigraph.write.upkeep.drift import is_drift
from omnigraph.write.upkeep.index_plan import (
    SUBSTRING_ROWS_MIN,
    Action,
    IndexWork,
    existing_for,
    plan_indexes,
    split_build,
    wanted_indexes,
)

Builder = Callable[[Sequence[BuildTask]], Sequence[BuiltSegment]]
"""Does builds, in any order and place; the results in the order of the tasks."""
IndexState = Literal["ready", "partial", "pending", "broken"]
SUBSTRING_ROWS_VARIABLE = "OMNIGRAPH_SUBSTRING_INDEX_ROWS"
NO_VECTOR = "no row has a vector yet"
NO_ROWS = "the table has no rows yet"
INHERITED = "the branch reads the table of another branch; build there"


@dataclass(frozen=True, slots=True)
class IndexStatus:
    """One index that the schema asks for or that the table has.

    >>> status = graph.indexes()[0]
    >>> status.type, status.column, status.kind, status.state, status.rows_indexed
    ('edge:Knows', 'dst', 'BTREE', 'pending', 0)
    """

    type: str
    """`node:Person`"""
    column: str
    kind: str
    name: str
    rows: int
    rows_indexed: int
    state: IndexState
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class BuiltIndex:
    """What was done to one index."""

    type: str
    column: str
    kind: str
    name: str
    action: Action
    rows: int


@dataclass(frozen=True, slots=True)
class IndexReport:
    """What `ensure_indices` built, and which indexes are still missing.

    >>> report = graph.ensure_indices()
    >>> report.commit is not None, {index.type for index in report.built} == {"node:Person", "edge:Knows"}
    (True, True)
    """

    commit: GraphCommit | None
    built: tuple[BuiltIndex, ...]
    pending: tuple[IndexStatus, ...]
    conflict: str | None = None
    """Why nothing was committed although there was work: the branch was too busy, or is not to be written."""


def ensure_indices(
    storage: GraphStorage,
    schema: Callable[[], AcceptedSchema],
    branch: str = MAIN,
    *,
    tables: Sequence[str] | None = None,
    actor_id: str | None = None,
    build: Builder = build_in_threads,
    substrings: bool = True,
    rebuild: bool = False,
) -> IndexReport:
    """Builds what is missing and extends what is stale, all tables in one commit; does nothing when nothing is.

    `tables` narrows it to some type keys (`node:Person`). Tables that the branch only inherits are left to their owner.
    `build` runs the builds: in threads of this process, or on executors. Without `substrings` an n-gram index that is
    missing stays so: it takes minutes. With `rebuild` every index is built again, whatever it looks like.
    """
    only = None if tables is None else [TableKey.parse(key) for key in tables]
    with UpkeepArea(storage) as area:
        upkeep = _Upkeep(area, branch, only, build, substrings, rebuild)
        commit, conflict = publish_upkeep(
            area,
            schema,
            branch=branch,
            kind="ensure_indices",
            writer_kind="EnsureIndices",
            prepare=upkeep.prepare,
            actor_id=actor_id,
        )
    state = storage.manifest.load(branch).state
    status = index_status(storage, state.pins(), schema_on(storage, branch, schema()).catalog, branch=branch)
    return IndexReport(
        commit=commit,
        built=tuple(upkeep.built) if commit is not None else (),
        pending=tuple(one for one in status if one.state != "ready" and upkeep.covers(one.type)),
        conflict=conflict,
    )


def substring_rows_min() -> int:
    """`OMNIGRAPH_SUBSTRING_INDEX_ROWS`, or the default."""
    text = os.environ.get(SUBSTRING_ROWS_VARIABLE, "")
    if text and not text.isdecimal():
        raise BadRequest(f"{SUBSTRING_ROWS_VARIABLE} must be a number of rows, not '{text}'")
    return int(text) if text else SUBSTRING_ROWS_MIN


def index_status(
    storage: GraphStorage, pins: Sequence[TablePin], catalog: Catalog, *, branch: str = MAIN
) -> list[IndexStatus]:
    """Every index that the schema asks for or that a table has, in order of their types, columns and names."""
    found: list[IndexStatus] = []
    for pin in pins:
        entity = catalog.table(pin.table_key)
        if entity is not None:
            found += _status(storage.tables.open(pin), entity, owned=owns(pin, branch))
    return sorted(found, key=lambda one: (one.type, one.column, one.name))


# --- building ---------------------------------------------------------------------------------------------


@dataclass
class _Upkeep:
    site: UpkeepArea
    branch: str
    only: list[TableKey] | None
    build: Builder
    substrings: bool
    rebuild: bool = False
    built: list[BuiltIndex] = field(default_factory=list)
    _segments: dict[TableKey, tuple[BuiltSegments, list[BuiltIndex]]] = field(default_factory=dict)

    @property
    def storage(self) -> GraphStorage:
        return self.site.storage

    def covers(self, type_key: str) -> bool:
        return self.only is None or TableKey.parse(type_key) in self.only

    def prepare(self, base: WriteBase) -> Prepared:
        """Called again when another commit was first; what was built for a table is kept. The builds of all tables
        run side by side."""
        self.built = []
        pins, catalog = base.pins(), base.schema.catalog
        for key in self.only or ():
            if key not in pins:
                raise TypeNotFound(key.type_name)
        works, waiting = [], []
        for key, pin in pins.items():
            entity = catalog.table(key)
            if entity is None or not self.covers(str(key)) or not owns(pin, base.branch) or not pin.row_count:
                continue
            table = self.storage.tables.open(pin)
            wanted = self._work(table, entity)
            if wanted and is_drift(self.storage, base.loaded, pin) is not None:
                continue  # another program wrote to it: that is to be repaired first
            work = StagedWork(key, self._stager(entity))
            if not wanted or is_foreign(self.storage, pins, catalog, work):
                continue
            works.append(work)
            if not self._is_built(table):
                waiting.append((table, wanted))
        self._build(waiting)
        return Prepared(ChangeSet(works=tuple(works), guard=self.site.check))

    def _work(self, table: Table, entity: NodeType | EdgeType) -> tuple[IndexWork, ...]:
        works = index_work(table, entity, rebuild=self.rebuild)
        return works if self.substrings else tuple(work for work in works if work.build.spec.kind != "NGRAM")

    def _is_built(self, table: Table) -> bool:
        known = self._segments.get(table.pin.table_key)
        return known is not None and still_fits(known[0], table)

    def _build(self, waiting: Sequence[tuple[Table, Sequence[IndexWork]]]) -> None:
        if not waiting:
            return
        parts = [(table, _parts(table, works)) for table, works in waiting]
        tasks = [BuildTask(self.site.area.files, table.pin, build) for table, builds in parts for build in builds]
        segments = iter(self.build(tasks))
        for (table, works), (_, builds) in zip(waiting, parts, strict=True):
            built = built_segments(table, builds, [next(segments) for _ in builds])
            self._segments[table.pin.table_key] = (built, [_built(table.pin, work) for work in works])

    def _stager(self, entity: NodeType | EdgeType) -> Callable[[TablePin], StagedEffect | None]:
        def stage(pin: TablePin) -> StagedEffect | None:
            table = self.storage.tables.open(pin)
            if not self._is_built(table):
                works = self._work(table, entity)
                if not works:
                    return None
                self._build([(table, works)])
            segments, built = self._segments[pin.table_key]
            self.built += built
            return self.site.staged(stage_segments(self.site.area, table, segments))

        return stage


def _parts(table: Table, works: Sequence[IndexWork]) -> list[IndexBuild]:
    rows = {state.number: state.rows for state in fragment_states(table)}
    return [part for work in works for part in split_build(work.build, rows)]


def _built(pin: TablePin, work: IndexWork) -> BuiltIndex:
    spec = work.build.spec
    return BuiltIndex(str(pin.table_key), spec.column, spec.kind, spec.name, work.action, work.rows)


def is_foreign(storage: GraphStorage, pins: Mapping[TableKey, TablePin], catalog: Catalog, work: StagedWork) -> bool:
    """A table that this release must not write gets no indexes from it either."""
    try:
        refuse_foreign_ids(storage, pins, catalog, ChangeSet(works=(work,)))
    except Conflict:
        return True
    return False


def index_work(table: Table, entity: NodeType | EdgeType, *, rebuild: bool = False) -> tuple[IndexWork, ...]:
    """What is to be done about the indexes of a table."""
    rows = {state.number: state.rows for state in fragment_states(table)}
    existing = existing_indexes(table)
    wanted = wanted_indexes(entity, table.pin.row_count, substring_rows_min())
    asked = [index for spec in wanted if (index := existing_for(spec, existing)) is not None]
    broken = [index.name for index in asked if rebuild or why_broken(table, index) is not None or is_worn(table, index)]
    texts = [index.fragments for index in asked if index.kind == "INVERTED"]
    fresh = sorted({number for number in rows for covered in texts if number not in covered})
    works = plan_indexes(wanted, existing, rows, broken, rewritten_fragments(table, fresh))
    return tuple(work for work in works if _is_trainable(table, work))


def _is_trainable(table: Table, work: IndexWork) -> bool:
    """A vector index needs a vector to begin with; fragments without one need no segment."""
    build = work.build
    return not build.spec.kind.startswith("IVF") or values_in(table, build.spec.column, build.fragments) > 0


# --- status -----------------------------------------------------------------------------------------------


def _status(table: Table, entity: NodeType | EdgeType, *, owned: bool) -> list[IndexStatus]:
    fragments = {state.number: state.rows for state in fragment_states(table)}
    existing = existing_indexes(table)
    wanted = wanted_indexes(entity, table.pin.row_count, substring_rows_min())
    found = [_wanted_status(table, spec, existing_for(spec, existing), fragments, owned=owned) for spec in wanted]
    asked = {index.name for spec in wanted if (index := existing_for(spec, existing)) is not None}
    for index in existing:
        if index.name not in asked and len(index.columns) == 1:
            spec = IndexSpec(index.columns[0], index.kind, index.name)
            found.append(_wanted_status(table, spec, index, fragments, owned=owned))
    return found


def _wanted_status(
    table: Table, spec: IndexSpec, index: ExistingIndex | None, fragments: Mapping[int, int], *, owned: bool
) -> IndexStatus:
    rows = sum(fragments.values())
    state, reason, indexed = _state(table, spec, index, fragments)
    if state != "ready" and not owned:
        reason = INHERITED
    name = spec.name if index is None else index.name
    return IndexStatus(str(table.pin.table_key), spec.column, spec.kind, name, rows, indexed, state, reason)


def _state(
    table: Table, spec: IndexSpec, index: ExistingIndex | None, fragments: Mapping[int, int]
) -> tuple[IndexState, str | None, int]:
    """(state, reason, rows that are indexed)"""
    if index is None:
        if not fragments:
            return "pending", NO_ROWS, 0
        vectors = spec.kind.startswith("IVF") and values_in(table, spec.column, list(fragments)) == 0
        return "pending", NO_VECTOR if vectors else "not built yet", 0
    broken = why_broken(table, index)
    if broken is not None:
        return "broken", broken, 0
    fresh = [number for number in fragments if number not in index.fragments]
    indexed = sum(rows for number, rows in fragments.items() if number in index.fragments)
    if not fresh or (spec.kind.startswith("IVF") and values_in(table, spec.column, fresh) == 0):
        return "ready", None, indexed
    unindexed = sum(fragments[number] for number in fresh)
    return "partial", f"{unindexed} rows were added after it was built; these are scanned", indexed
