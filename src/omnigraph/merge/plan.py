"""The plan of a merge: every entity that must change in the target, and every conflict, before anything is written.

`plan_merge` decides rows by the truth table, applies the caller's resolutions, and checks the rules of the schema on
the merged state. It reads three snapshots and changes nothing; a dry run ends here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field
from itertools import chain, islice

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from omnigraph.history import Snapshot
from omnigraph.history.diff import DiffStats, TableSide, TypeStats, is_same_pin, table_side
from omnigraph.language.schema import Catalog, EdgeType, NodeType
from omnigraph.merge.bases import ChangedIds, MergeBase
from omnigraph.merge.conflicts import CONFLICTS_MAX, MergeConflict, rule_conflict
from omnigraph.merge.converge import MergeEdges, check_merge_edges, converges, without_twins
from omnigraph.merge.resolution import OnConflict, Resolve, check_on_conflict
from omnigraph.merge.resolve_rows import Resolver
from omnigraph.merge.row_writes import RowWrites, checked_rows, joined_writes
from omnigraph.merge.table_merge import DecidedRows, OtherBase, Sides, merge_table
from omnigraph.merge.truth_table import Decision
from omnigraph.model.errors import Conflict
from omnigraph.model.identifiers import TableKey
from omnigraph.model.late_dataclass import dataclass
from omnigraph.storage import GraphStorage
from omnigraph.storage.manifest import TablePin
from omnigraph.storage.tables import table_schema
from omnigraph.write import ChangeSet, TableChange
from omnigraph.write.rules import CommittedView, checked_columns, find_violations

Lift = Callable[[TableSide | None], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeOptions:
    """How a caller wants conflicts and twin edges to be treated."""

    on_conflict: OnConflict | None = None
    resolve: Resolve | None = None
    merge_edges: MergeEdges = "keep"

    def __post_init__(self) -> None:
        check_on_conflict(self.on_conflict)


@dataclass(frozen=True, slots=True)
class TablePlan:
    """What the merge does to one type of the target."""

    key: TableKey
    sides: Sides
    writes: tuple[RowWrites, ...]
    removed: pa.Array
    """The ids of the entities that go."""
    removed_rows: npt.NDArray[np.uint64]

    @property
    def gone_rows(self) -> npt.NDArray[np.uint64]:
        """The row ids of the target that are replaced or removed."""
        replaced = [np.asarray(each.replaced.drop_null().to_numpy(), np.uint64) for each in self.writes]
        return np.concatenate([*replaced, self.removed_rows])

    @property
    def stats(self) -> TypeStats:
        rows = sum(len(each.rows) for each in self.writes)
        new = sum(each.replaced.null_count for each in self.writes)
        return TypeStats(self.key.kind, self.key.type_name, new, rows - new, len(self.removed))

    @property
    def is_empty(self) -> bool:
        return not len(self.removed) and not any(len(each.rows) for each in self.writes)


@dataclass(frozen=True, slots=True)
class MergePlan:
    """Everything that a merge would do. It may be carried out if it has no conflict."""

    tables: tuple[TablePlan, ...]
    conflicts: tuple[MergeConflict, ...] = ()
    conflicts_total: int = 0
    resolved: int = field(default=0)
    """How many conflicts the caller decided."""

    @property
    def stats(self) -> DiffStats:
        return DiffStats(tuple(each.stats for each in self.tables))


def plan_merge(
    storage: GraphStorage,
    source: Snapshot,
    target: Snapshot,
    base: MergeBase,
    catalog: Catalog,
    options: MergeOptions | None = None,
    lift: Lift = lambda _: None,
    *,
    rules: bool = True,
) -> MergePlan:
    """What it takes to bring into `target` what `source` changed since `base`.

    `lift` is shown every side before it is read: those of an older schema are made to read as under `catalog`. Without
    `rules` the merged state is not checked against the schema.
    """
    options = options or MergeOptions()
    check_merge_edges(options.merge_edges, catalog)
    resolver = Resolver(options.on_conflict, options.resolve)
    tables = []
    for key, sides, others in merged_tables(storage, source, target, base):
        for side in (sides.base, sides.source, sides.target, *(other.side for other in others)):
            lift(side)
        decided = merge_table(sides, others)
        first = next(decided, None)
        if first is None:
            continue
        entity = _entity(catalog, key, sides, comes=not rules)
        writes, removed = _row_changes(key, entity, sides, chain([first], decided), resolver)
        if converges(options.merge_edges, key):
            writes = without_twins(writes, sides)
        tables.append(TablePlan(key, sides, tuple(writes), *removed))
    moving = tuple(table for table in tables if not table.is_empty)
    resolver.refuse_unused()
    if resolver.total:
        return MergePlan(moving, tuple(resolver.conflicts), resolver.total, resolver.resolved)
    broken, total = _broken_rules(storage, moving, target, catalog) if rules else ((), 0)
    return MergePlan(moving, broken, total, resolver.resolved)


def merged_tables(
    storage: GraphStorage, source: Snapshot, target: Snapshot, base: MergeBase
) -> Iterator[tuple[TableKey, Sides, tuple[OtherBase, ...]]]:
    """The types that the source may have changed, nodes before edges, by name.

    A type that the source lacks was dropped with its schema or came later: nobody deleted its entities.
    """
    ours, theirs, was = ({pin.table_key: pin for pin in each.tables} for each in (target, source, base.snapshot))
    for key in sorted(theirs, key=lambda key: (key.kind == "edge", key.type_name.encode())):
        others = base.others(storage, key)
        if not others and any(is_same_pin(theirs.get(key), each.get(key)) for each in (was, ours)):
            continue  # the source did nothing, or shows what the target shows
        yield (
            key,
            Sides(
                table_side(storage, was.get(key), base.snapshot),
                table_side(storage, theirs.get(key), source),
                table_side(storage, ours.get(key), target),
            ),
            others,
        )


def _entity(catalog: Catalog, key: TableKey, sides: Sides, *, comes: bool) -> NodeType | EdgeType:
    """The type; with `comes` the target does not have it yet, and will."""
    entity = catalog.table(key)
    if entity is None or (sides.target is None and not comes):
        raise Conflict(
            f"the target does not have {key.kind} type '{key.type_name}'", "merge main into the branch first"
        )
    return entity


Removed = tuple[pa.Array, npt.NDArray[np.uint64]]


def _row_changes(
    key: TableKey,
    entity: NodeType | EdgeType,
    sides: Sides,
    decided: Iterator[DecidedRows],
    resolver: Resolver,
) -> tuple[list[RowWrites], Removed]:
    writes: list[RowWrites] = []
    removed_ids: list[pa.Array] = [pa.array([], pa.string())]
    removed_rows: list[npt.NDArray[np.uint64]] = [np.empty(0, np.uint64)]
    open_rows: list[DecidedRows] = []
    for rows in decided:
        writes += taken(rows.filter(rows.decisions == Decision.TAKE), sides)
        gone = rows.filter(rows.decisions == Decision.REMOVE)
        removed_ids.append(gone.ids)
        removed_rows.append(np.asarray(gone.target_rows.to_numpy(zero_copy_only=False), np.uint64))
        open_rows.append(rows.filter(rows.conflicts))
    resolved = resolver.resolve(key, entity, sides, open_rows)
    writes += resolved.writes
    removed_ids.append(resolved.removed)
    removed_rows.append(resolved.removed_rows)
    return joined_writes(writes), (pa.concat_arrays(removed_ids), np.concatenate(removed_rows))


def taken(rows: DecidedRows, sides: Sides) -> list[RowWrites]:
    """The source's rows, to be written over the target's."""
    if not len(rows) or sides.source is None:
        return []
    own = np.asarray(rows.source_rows.to_numpy(zero_copy_only=False), np.uint64)
    return [RowWrites(rows.ids, sides.source, own, rows.target_rows)]


# --- the rules of the schema on the merged state ----------------------------------------------------------


def _broken_rules(
    storage: GraphStorage, tables: Sequence[TablePlan], target: Snapshot, catalog: Catalog
) -> tuple[tuple[MergeConflict, ...], int]:
    changes = ChangeSet({table.key: _change(catalog, table) for table in tables})
    found = find_violations(changes, CommittedView(storage, _pins(target)), catalog)
    told = [rule_conflict(each.violation) for each in islice(found, CONFLICTS_MAX)]
    return tuple(told), len(told) + sum(1 for _ in found)


def _pins(target: Snapshot) -> Mapping[TableKey, TablePin]:
    return {pin.table_key: pin for pin in target.tables}


def _change(catalog: Catalog, table: TablePlan) -> TableChange:
    """The change as the rules see it: only the columns that they look at."""
    entity = catalog.table(table.key)
    assert entity is not None, "checked when the table was planned"
    removed = tuple(table.removed.to_pylist())
    if not table.writes:
        return TableChange(table.key, "delete", removed=removed)
    schema, wanted = table_schema(entity), checked_columns(entity, values=True)
    rows = checked_rows(table.writes, schema, [name for name in schema.names if name in wanted])
    return TableChange(table.key, "upsert", rows, removed)


# --- what a merge would touch, for bases that must be merged themselves -----------------------------------


def changed_ids(storage: GraphStorage) -> ChangedIds:
    """The row merge without resolutions and rules: which entities it would change, and which are in conflict."""

    def ids_of(source: Snapshot, target: Snapshot, base: MergeBase) -> Iterator[tuple[TableKey, pa.Array, pa.Array]]:
        for key, sides, others in merged_tables(storage, source, target, base):
            found = list(merge_table(sides, others))
            for_type = [pa.array([], pa.string())]
            changed = pa.concat_arrays([*for_type, *(each.filter(~each.conflicts).ids for each in found)])
            conflicting = pa.concat_arrays([*for_type, *(each.filter(each.conflicts).ids for each in found)])
            if len(changed) or len(conflicting):
                yield key, changed, conflicting

    return ids_of
