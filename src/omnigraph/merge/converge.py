"""Edges that both sides added alike: with `merge_edges="converge"` they become one edge, the target's.

Edges are told apart by generated ids, so the same relation added on both sides is two edges. Converging pairs an edge
of the source with one of the target that has the same endpoints and properties and was not in the base. Each edge of
the target is paired once: parallel edges that one side added on purpose stay.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import Literal, get_args

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.history.diff import Op, TableSide, rows_differ, table_changes
from omnigraph.language.schema import Catalog
from omnigraph.merge.row_writes import RowWrites
from omnigraph.merge.table_merge import Sides
from omnigraph.model.errors import BadRequest
from omnigraph.model.identifiers import TableKey

EdgePolicy = Literal["keep", "converge"]
MergeEdges = EdgePolicy | Mapping[str, EdgePolicy]


def check_merge_edges(merge_edges: MergeEdges, catalog: Catalog) -> None:
    """Refuses a word that is no policy, and an edge type that does not exist."""
    if not isinstance(merge_edges, str | Mapping):
        raise BadRequest(f"merge_edges cannot be {merge_edges!r}", "use 'keep' or 'converge'")
    policies = {"": merge_edges} if isinstance(merge_edges, str) else dict(merge_edges)
    for name, policy in policies.items():
        if policy not in get_args(EdgePolicy):
            raise BadRequest(f"unknown merge_edges '{policy}'", "use 'keep' or 'converge'")
        if name and catalog.edge(name) is None:
            raise BadRequest(f"merge_edges names '{name}', which is not an edge type")


def converges(merge_edges: MergeEdges, key: TableKey) -> bool:
    policy = merge_edges if isinstance(merge_edges, str) else merge_edges.get(key.type_name, "keep")
    return key.kind == "edge" and policy == "converge"


def without_twins(writes: list[RowWrites], sides: Sides) -> list[RowWrites]:
    """The writes without the new edges that the target has added too."""
    source, target = sides.source, sides.target
    if source is None or target is None or not writes:
        return writes
    added = _added_by_target(sides.base, target, _new_ids(sides.base, source))
    return [_unpaired(each, source, target, added) if added else each for each in writes]


Added = dict[str, list[pa.Table]]


def _new_ids(base: TableSide | None, source: TableSide) -> pa.Array:
    """What the source has too is the same edge, and the twin of none."""
    none: pa.Array = pa.array([], pa.string())
    return pa.concat_arrays([none, *(rows.ids.filter(rows.ops == Op.INSERT) for rows in table_changes(base, source))])


def _added_by_target(base: TableSide | None, target: TableSide, shared: pa.Array) -> Added:
    found: Added = defaultdict(list)
    for rows in table_changes(base, target):
        new = rows.after.filter(pa.array(rows.ops == Op.INSERT))
        new = new.filter(pc.invert(pc.is_in(new["id"], value_set=shared)))
        for place, text in enumerate(_texts(target, new)):
            found[text].append(new.slice(place, 1))
    return found


def _texts(side: TableSide, rows: pa.Table) -> list[str]:
    """The cheap columns of each edge but its id, as one text."""
    names = sorted(name for name in side.light if name != "id")
    return [repr(tuple(row[name] for name in names)) for row in rows.select(names).to_pylist()]


def _unpaired(writes: RowWrites, source: TableSide, target: TableSide, added: Added) -> RowWrites:
    new = np.flatnonzero(writes.replaced.is_null().to_numpy(zero_copy_only=False))
    if writes.side is not source or not len(new):
        return writes
    rows = source.take(writes.rows[new], source.light)
    keep = np.ones(len(writes.rows), np.bool_)
    for place, text in enumerate(_texts(source, rows)):
        keep[new[place]] = not _take_twin(source, rows.slice(place, 1), target, added.get(text, []))
    return writes.filter(keep)


def _take_twin(source: TableSide, row: pa.Table, target: TableSide, twins: list[pa.Table]) -> bool:
    for place, twin in enumerate(twins):
        alike = twin.set_column(twin.column_names.index("id"), "id", row["id"])
        if not rows_differ(source, row, target, alike)[0]:
            del twins[place]
            return True
    return False
