"""Endpoints: every edge has both of its nodes after the write."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.language.schema.catalog import EdgeType
from omnigraph.model.identifiers import TableKey
from omnigraph.write.changes import ChangeSet, TableChange
from omnigraph.write.committed_view import CommittedView
from omnigraph.write.findings import Offence, offence

PARALLEL_FROM_ROWS = 200_000


def check_endpoints(edge: EdgeType, changes: ChangeSet, view: CommittedView) -> Iterator[Offence]:
    """First the edges of the change, then the committed ones that it keeps; sources before targets."""
    change = changes.tables.get(edge.table_key)
    missing = _missing_ends(edge, changes, view)
    for column, node_name in _ends(edge):
        node_key = TableKey("node", node_name)
        nodes = changes.tables.get(node_key)
        if change is not None and node_name in missing:
            yield from _of_change(edge, column, change, node_key, missing[node_name])
        replaced = change is not None and change.mode == "overwrite"
        if nodes is not None and not replaced:
            yield from _of_survivors(edge, column, change, nodes, view)


def _ends(edge: EdgeType) -> tuple[tuple[str, str], tuple[str, str]]:
    return ("src", edge.from_type), ("dst", edge.to_type)


def _missing_ends(edge: EdgeType, changes: ChangeSet, view: CommittedView) -> dict[str, pa.Array]:
    """Per node type the ends that the change's edges lack. One question per type, also when both ends are of it."""
    change = changes.tables.get(edge.table_key)
    if change is None or change.rows is None or not change.rows.num_rows:
        return {}
    missing = {}
    for node_name in dict.fromkeys(name for _, name in _ends(edge)):
        columns = [change.rows[column] for column, name in _ends(edge) if name == node_name]
        key = TableKey("node", node_name)
        lacking = missing_nodes(columns, key, changes.tables.get(key), view)
        if len(lacking):
            missing[node_name] = lacking
    return missing


def missing_nodes(
    ids: Sequence[pa.Array | pa.ChunkedArray], key: TableKey, change: TableChange | None, view: CommittedView
) -> pa.Array:
    """Which of these ids no node of the type has after the change, each once."""
    if change is not None and change.rows is not None:  # first what is fastest and mostly leaves nothing
        ids = _without_each(ids, change.rows["id"].combine_chunks())
    chunks = [chunk for each in ids for chunk in (each.chunks if isinstance(each, pa.ChunkedArray) else [each])]
    missing = pc.unique(pa.chunked_array(chunks, pa.string()))
    if not len(missing) or (change is not None and change.mode == "overwrite"):
        return missing
    if change is None or not change.removed:
        return view.ids_missing(key, missing)
    present = view.ids_present(key, missing) - set(change.removed)
    return _without(missing, pa.array(sorted(present), pa.string()))


def _of_change(
    edge: EdgeType, column: str, change: TableChange, node_key: TableKey, missing: pa.Array
) -> Iterator[Offence]:
    assert change.rows is not None
    ends = change.rows[column].combine_chunks()
    for row in np.flatnonzero(pc.is_in(ends, value_set=missing).to_numpy(zero_copy_only=False)).tolist():
        yield _offence(edge, column, ends[row].as_py(), node_key, change, (row,), None)


def _of_survivors(
    edge: EdgeType, column: str, change: TableChange | None, nodes: TableChange, view: CommittedView
) -> Iterator[Offence]:
    """Committed edges that neither the change rewrites nor removes, and whose node the change removes."""
    if nodes.mode == "overwrite":
        assert nodes.rows is not None
        stranded = view.dangling(edge.table_key, column, nodes.rows["id"])
    elif nodes.removed:
        gone = pa.array(nodes.removed, pa.string())
        if nodes.rows is not None:
            gone = _without(gone, nodes.rows["id"].combine_chunks())
        stranded = view.edges_at(edge.table_key, column, gone)
    else:
        return
    if change is not None:
        stranded = stranded.filter(pc.invert(pc.is_in(stranded["id"], value_set=touched_ids(change))))
    for found in stranded.to_pylist():
        yield _offence(edge, column, found[column], nodes.key, change, (), found["id"])


def touched_ids(change: TableChange) -> pa.Array:
    """The ids that a change writes or removes."""
    removed = pa.array(change.removed, pa.string())
    if change.rows is None:
        return removed
    return pa.concat_arrays([change.rows["id"].combine_chunks(), removed])


def _offence(
    edge: EdgeType,
    column: str,
    node_id: str,
    node_key: TableKey,
    change: TableChange | None,
    rows: tuple[int, ...],
    edge_id: str | None,
) -> Offence:
    message = f"{column} '{node_id}' not found in {node_key.type_name}"
    if edge_id is not None:
        message += f": edge {edge.name} '{edge_id}' still needs it"
    return offence(
        edge, change, rows, rule="endpoint", message=message, entity_id=edge_id, property_name=column, value=node_id
    )


def _without_each(columns: Sequence[pa.Array | pa.ChunkedArray], others: pa.Array) -> list[pa.Array | pa.ChunkedArray]:
    """The columns at a time when they are long: Arrow works outside of Python's lock."""
    if len(columns) < 2 or sum(map(len, columns)) < PARALLEL_FROM_ROWS:
        return [_without(column, others) for column in columns]
    with ThreadPoolExecutor(len(columns)) as pool:
        return list(pool.map(_without, columns, [others] * len(columns)))


def _without(ids: pa.Array | pa.ChunkedArray, others: pa.Array) -> pa.Array | pa.ChunkedArray:
    return ids.filter(pc.invert(pc.is_in(ids, value_set=others)))
