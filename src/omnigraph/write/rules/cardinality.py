"""Cardinality: `@card` on the sources that a change touches, counted on the final image."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.language.schema import EdgeType
from omnigraph.model.identifiers import TableKey
from omnigraph.model.late_dataclass import dataclass
from omnigraph.write.changes import ChangeSet, TableChange
from omnigraph.write.rules.committed_view import CommittedView, edge_table
from omnigraph.write.rules.endpoints import missing_nodes, touched_ids
from omnigraph.write.rules.key_columns import Column, chunks_of, members, part_count, part_numbers
from omnigraph.write.rules.row_violations import RowViolation, row_violation


def check_cardinality(edge: EdgeType, changes: ChangeSet, view: CommittedView) -> Iterator[RowViolation]:
    """A source is touched when it gains, loses or keeps a rewritten edge. One that is removed itself is skipped.

    Sources come in the order of the change's rows, then those that only lose edges by their ids.
    """
    card, change = edge.cardinality, changes.tables.get(edge.table_key)
    if change is None or (card.minimum == 0 and card.maximum is None):
        return
    found = [each for part in _parts(change) for each in _of_part(edge, changes, change, view, part)]
    for _, each in sorted(found, key=lambda one: one[0]):
        yield each


@dataclass(frozen=True, slots=True)
class _Part:
    """Some of the sources: those whose hash falls there."""

    number: int
    count: int

    def of(self, column: Column) -> Column:
        """The sources of a column that belong here."""
        if self.count == 1:
            return column
        return column.filter(pa.array(part_numbers([column], self.count) == self.number))

    def edges(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            if self.count == 1:
                yield batch
            else:
                yield batch.filter(pa.array(part_numbers([batch.column("src")], self.count) == self.number))


def _parts(change: TableChange) -> Iterator[_Part]:
    count = 1 if change.rows is None else part_count([change.rows["src"]])
    return (_Part(number, count) for number in range(count))


def _of_part(
    edge: EdgeType, changes: ChangeSet, change: TableChange, view: CommittedView, part: _Part
) -> Iterator[tuple[tuple[int, str], RowViolation]]:
    """The violations of some sources, each with its place in the order of all."""
    card, old = edge.cardinality, _old_edges(edge, change, view, part)
    own = [] if change.rows is None else chunks_of(part.of(change.rows["src"]))
    touched = pc.unique(pa.chunked_array([*own, *old["src"].chunks], pa.string()))
    if not len(touched):
        return
    counts = _counts(edge, change, pa.chunked_array(own, pa.string()), touched, view)
    low = counts < card.minimum
    high = counts > card.maximum if card.maximum is not None else np.zeros(len(counts), np.bool_)
    wrong = np.flatnonzero(low | high)
    if not len(wrong):
        return
    node_key = TableKey("node", edge.from_type)
    suspects = touched.take(pa.array(wrong))
    [gone] = missing_nodes([suspects], node_key, changes.tables.get(node_key), view)
    blamed, first = _blamed_rows(change, old, suspects)
    for place, position in enumerate(wrong.tolist()):
        if not gone[place]:
            source = suspects[place].as_py()
            bound = f"max {card.maximum}" if high[position] else f"min {card.minimum}"
            message = f"@card violation on edge {edge.name}: source '{source}' has {counts[position]} edges ({bound})"
            rows = tuple(blamed.get(place, ()))
            each = row_violation(edge, change, rows, rule="@card", message=message, property_name="src", value=source)
            yield (first.get(place, sys.maxsize), source), each


def _old_edges(edge: EdgeType, change: TableChange, view: CommittedView, part: _Part) -> pa.Table:
    """The committed edges whose source loses them. Losing matters to a minimum alone."""
    empty = pa.table({name: pa.array([], pa.string()) for name in ("id", "src", "dst")})
    if edge.cardinality.minimum == 0 or change.mode == "insert":
        return empty
    if change.mode != "overwrite":
        return edge_table(part.edges(view.edge_batches(edge.table_key, "id", touched_ids(change))))
    seen = [pc.unique(part.of(batch)) for batch in view.sources(edge.table_key)]
    sources = pc.unique(pa.chunked_array(seen, pa.string()))
    nothing = pa.nulls(len(sources), pa.string())
    return pa.table({"id": nothing, "src": sources, "dst": nothing})


def _counts(
    edge: EdgeType, change: TableChange, own: pa.ChunkedArray, touched: pa.Array, view: CommittedView
) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Edges per touched source after the change: the change's own, and committed ones that it leaves alone."""
    counts = _tally(own, touched)
    if change.mode != "overwrite":
        kept = view.edges_at(edge.table_key, "src", touched)
        kept = kept.filter(pa.array(~members(kept["id"], touched_ids(change))))
        counts += _tally(kept["src"], touched)
    return counts


def _tally(sources: pa.ChunkedArray, touched: pa.Array) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    counts = np.zeros(len(touched), np.int64)
    for chunk in pc.index_in(sources, value_set=touched).chunks:
        counts += np.bincount(chunk.drop_null().to_numpy(zero_copy_only=False), minlength=len(touched))
    return counts


def _blamed_rows(change: TableChange, old: pa.Table, suspects: pa.Array) -> tuple[dict[int, list[int]], dict[int, int]]:
    """Per suspect the rows that it gained and the rows that moved away from it; and the first row that names it."""
    if change.rows is None:
        return {}, {}
    gained = _places(change.rows["src"], suspects)
    left = old.filter(pc.is_in(old["src"], value_set=suspects))
    origin = _places(change.rows["id"], left["id"].combine_chunks())
    suspect_of = _places(left["src"], suspects)
    lost = np.where(origin < 0, -1, suspect_of[origin]) if len(suspect_of) else np.full(len(origin), -1, np.int64)
    blamed: dict[int, set[int]] = {}
    first: dict[int, int] = {}
    for row in np.flatnonzero(gained >= 0).tolist():
        blamed.setdefault(int(gained[row]), set()).add(row)
        first.setdefault(int(gained[row]), row)
    for row in np.flatnonzero(lost >= 0).tolist():
        blamed.setdefault(int(lost[row]), set()).add(row)
    return {place: sorted(rows) for place, rows in blamed.items()}, first


def _places(column: pa.ChunkedArray, values: pa.Array) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Per row the position of its value among these, -1 when it is none of them."""
    if not len(values):
        return np.full(len(column), -1, np.int64)
    return np.asarray(pc.fill_null(pc.index_in(column, value_set=values), -1).to_numpy(), np.int64)
