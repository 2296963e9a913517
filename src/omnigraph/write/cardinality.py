"""Cardinality: `@card` on the sources that a change touches, counted on the final image."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.language.schema.catalog import EdgeType
from omnigraph.model.identifiers import TableKey
from omnigraph.write.changes import ChangeSet, TableChange
from omnigraph.write.committed_view import CommittedView
from omnigraph.write.endpoints import missing_nodes, touched_ids
from omnigraph.write.findings import Offence, offence


def check_cardinality(edge: EdgeType, changes: ChangeSet, view: CommittedView) -> Iterator[Offence]:
    """A source is touched when it gains, loses or keeps a rewritten edge. One that is removed itself is skipped."""
    card, change = edge.cardinality, changes.tables.get(edge.table_key)
    if change is None or (card.minimum == 0 and card.maximum is None):
        return
    old = _old_edges(edge, change, view)
    vacated = old["src"].combine_chunks()
    sources = vacated if change.rows is None else pa.concat_arrays([change.rows["src"].combine_chunks(), vacated])
    if not len(sources):
        return
    touched = pc.unique(sources)
    counts = _counts(edge, change, touched, view)
    low = counts < card.minimum
    high = counts > card.maximum if card.maximum is not None else np.zeros(len(counts), np.bool_)
    wrong = np.flatnonzero(low | high)
    if not len(wrong):
        return
    node_key = TableKey("node", edge.from_type)
    suspects = touched.take(pa.array(wrong))
    gone = set(missing_nodes([suspects], node_key, changes.tables.get(node_key), view).to_pylist())
    blamed = _blamed_rows(change, old, suspects)
    for place, position in enumerate(wrong.tolist()):
        source = suspects[place].as_py()
        if source not in gone:
            bound = f"max {card.maximum}" if high[position] else f"min {card.minimum}"
            message = f"@card violation on edge {edge.name}: source '{source}' has {counts[position]} edges ({bound})"
            rows = tuple(blamed.get(place, ()))
            yield offence(edge, change, rows, rule="@card", message=message, property_name="src", value=source)


def _old_edges(edge: EdgeType, change: TableChange, view: CommittedView) -> pa.Table:
    """The committed edges whose source loses them. Losing matters to a minimum alone."""
    empty = pa.table({name: pa.array([], pa.string()) for name in ("id", "src", "dst")})
    if edge.cardinality.minimum == 0 or change.mode == "insert":
        return empty
    if change.mode != "overwrite":
        return view.edges_by_id(edge.table_key, touched_ids(change))
    seen = [pc.unique(batch) for batch in view.sources(edge.table_key)]
    sources = pc.unique(pa.chunked_array(seen, pa.string()))
    nothing = pa.nulls(len(sources), pa.string())
    return pa.table({"id": nothing, "src": sources, "dst": nothing})


def _counts(
    edge: EdgeType, change: TableChange, touched: pa.Array, view: CommittedView
) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Edges per touched source after the change: the change's own, and committed ones that it leaves alone."""
    counts = np.zeros(len(touched), np.int64)
    if change.rows is not None:
        counts += _tally(change.rows["src"].combine_chunks(), touched)
    if change.mode != "overwrite":
        kept = view.edges_at(edge.table_key, "src", touched)
        kept = kept.filter(pc.invert(pc.is_in(kept["id"], value_set=touched_ids(change))))
        counts += _tally(kept["src"].combine_chunks(), touched)
    return counts


def _tally(sources: pa.Array, touched: pa.Array) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    places = pc.index_in(sources, value_set=touched).drop_null().to_numpy(zero_copy_only=False)
    return np.bincount(places, minlength=len(touched)).astype(np.int64)


def _blamed_rows(change: TableChange, old: pa.Table, suspects: pa.Array) -> dict[int, list[int]]:
    """Per suspect the rows that it gained and the rows that moved away from it, found in one go for all of them."""
    blamed: dict[int, list[int]] = {}
    if change.rows is None:
        return blamed
    gained = pc.index_in(change.rows["src"].combine_chunks(), value_set=suspects)
    left = old.filter(pc.is_in(old["src"], value_set=suspects))
    origin = pc.index_in(change.rows["id"].combine_chunks(), value_set=left["id"].combine_chunks())
    lost = pc.index_in(left["src"].combine_chunks(), value_set=suspects).take(origin)
    for places in (gained, lost):
        for row in np.flatnonzero(places.is_valid().to_numpy(zero_copy_only=False)).tolist():
            blamed.setdefault(places[row].as_py(), []).append(row)
    return {place: sorted(set(rows)) for place, rows in blamed.items()}
