"""Endpoints: every edge has both of its nodes after the write."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.language.schema import EdgeType
from omnigraph.model.identifiers import TableKey
from omnigraph.write.changes import ChangeSet, TableChange
from omnigraph.write.rules.committed_view import CommittedView
from omnigraph.write.rules.key_columns import Column, Mask, Rows, chunks_of, members, pieces, without
from omnigraph.write.rules.row_violations import RowViolation, row_violation

PARALLEL_FROM_ROWS = 200_000


def check_endpoints(edge: EdgeType, changes: ChangeSet, view: CommittedView) -> Iterator[RowViolation]:
    """First the edges of the change, then the committed ones that it keeps; sources before targets."""
    change = changes.tables.get(edge.table_key)
    dangling = _dangling_rows(edge, changes, view)
    for column, node_name in _ends(edge):
        node_key = TableKey("node", node_name)
        nodes = changes.tables.get(node_key)
        if change is not None and column in dangling:
            yield from _of_change(edge, column, change, node_key, dangling[column])
        replaced = change is not None and change.mode == "overwrite"
        if nodes is not None and not replaced:
            yield from _of_survivors(edge, column, change, nodes, view)


def _ends(edge: EdgeType) -> tuple[tuple[str, str], tuple[str, str]]:
    return ("src", edge.from_type), ("dst", edge.to_type)


def _dangling_rows(edge: EdgeType, changes: ChangeSet, view: CommittedView) -> dict[str, Rows]:
    """Per column the rows of the change whose node is missing. One question per node type, also when both ends are of
    it."""
    change = changes.tables.get(edge.table_key)
    if change is None or change.rows is None or not change.rows.num_rows:
        return {}
    found = {}
    for node_name in dict.fromkeys(name for _, name in _ends(edge)):
        names = [column for column, name in _ends(edge) if name == node_name]
        key = TableKey("node", node_name)
        masks = missing_nodes([change.rows[name] for name in names], key, changes.tables.get(key), view)
        found.update({name: np.flatnonzero(mask) for name, mask in zip(names, masks, strict=True)})
    return found


def missing_nodes(
    columns: Sequence[Column], key: TableKey, change: TableChange | None, view: CommittedView
) -> list[Mask]:
    """Per column which of its ids no node of the type has after the change."""
    masks = [np.ones(len(column), np.bool_) for column in columns]
    if change is not None and change.rows is not None:  # first what is fastest and mostly leaves nothing
        masks = _outside_each(columns, change.rows["id"])
    if change is not None and change.mode == "overwrite":
        return masks
    open_ids = [column.filter(pa.array(mask)) for column, mask in zip(columns, masks, strict=True)]
    together = pa.chunked_array([chunk for column in open_ids for chunk in chunks_of(column)], pa.string())
    missing, place = np.zeros(len(together), np.bool_), 0
    for piece in pieces(together) if len(together) else ():
        lacking = _not_committed(pc.unique(piece), key, change, view)
        missing[place : place + len(piece)] = members(piece, lacking)
        place += len(piece)
    for mask, own in zip(masks, open_ids, strict=True):
        mask[mask], missing = missing[: len(own)], missing[len(own) :]
    return masks


def _not_committed(ids: pa.Array, key: TableKey, change: TableChange | None, view: CommittedView) -> pa.Array:
    missing = view.ids_missing(key, ids)
    if change is None or not change.removed:
        return missing
    gone = ids.filter(pc.is_in(ids, value_set=pa.array(change.removed, pa.string())))
    return pc.unique(pa.concat_arrays([missing, gone]))


def _of_change(
    edge: EdgeType, column: str, change: TableChange, node_key: TableKey, rows: Rows
) -> Iterator[RowViolation]:
    assert change.rows is not None
    ends = change.rows[column]
    for row in rows.tolist():
        yield _offence(edge, column, ends[row].as_py(), node_key, change, (row,), None)


def _of_survivors(
    edge: EdgeType, column: str, change: TableChange | None, nodes: TableChange, view: CommittedView
) -> Iterator[RowViolation]:
    """Committed edges that neither the change rewrites nor removes, and whose node the change removes."""
    if nodes.mode == "overwrite":
        assert nodes.rows is not None
        stranded = view.dangling(edge.table_key, column, nodes.rows["id"])
    elif nodes.removed:
        gone = pa.array(nodes.removed, pa.string())
        if nodes.rows is not None:
            gone = without(gone, nodes.rows["id"])
        stranded = view.edges_at(edge.table_key, column, gone)
    else:
        return
    if change is not None:
        stranded = stranded.filter(pa.array(~members(stranded["id"], touched_ids(change))))
    for found in stranded.to_pylist():
        yield _offence(edge, column, found[column], nodes.key, change, (), found["id"])


def touched_ids(change: TableChange) -> pa.ChunkedArray:
    """The ids that a change writes or removes."""
    written = [] if change.rows is None else change.rows["id"].chunks
    return pa.chunked_array([*written, pa.array(change.removed, pa.string())], pa.string())


def _offence(
    edge: EdgeType,
    column: str,
    node_id: str,
    node_key: TableKey,
    change: TableChange | None,
    rows: tuple[int, ...],
    edge_id: str | None,
) -> RowViolation:
    message = f"{column} '{node_id}' not found in {node_key.type_name}"
    if edge_id is not None:
        message += f": edge {edge.name} '{edge_id}' still needs it"
    return row_violation(
        edge, change, rows, rule="endpoint", message=message, entity_id=edge_id, property_name=column, value=node_id
    )


def _outside_each(columns: Sequence[Column], others: Column) -> list[Mask]:
    """Per column what is not among the others; at a time when they are long: Arrow works outside of Python's lock."""
    if len(columns) < 2 or sum(map(len, columns)) < PARALLEL_FROM_ROWS:
        return [~members(column, others) for column in columns]
    with ThreadPoolExecutor(len(columns)) as pool:
        return [~found for found in pool.map(members, columns, [others] * len(columns))]
