"""The committed view: what the validator may ask of the tables that a write starts from.

Questions name ids or values and are answered from the key map of the table where there is one, by filtered scans of up
to 8,192 of them, or by one pass over a column when there are more.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.model.identifiers import TableKey
from omnigraph.storage import All, GraphStorage, OneOf, Predicate
from omnigraph.storage.blobs import whole_rows
from omnigraph.storage.external import BlobIntake
from omnigraph.storage.manifest import TablePin
from omnigraph.storage.tables import key_maps
from omnigraph.write.rules.canonical_text import tuple_codes
from omnigraph.write.rules.key_columns import Column, Mask, hash_parts, members, pieces, whole

PROBE_CHUNK_KEYS = 8192
PASS_FROM_KEYS = 4 * PROBE_CHUNK_KEYS
"""From so many keys on, one pass over the column is cheaper than the probes, unless the table is far larger."""
PASS_ROWS_PER_KEY = 64
PASS_BATCH_ROWS = 512 * 1024
"""Rows at a time in such a pass: comparing a batch with many keys costs as much as the keys do."""

_EDGE_COLUMNS = ("id", "src", "dst")


class CommittedView:
    """The tables of one snapshot. A table that the snapshot lacks is empty."""

    def __init__(self, storage: GraphStorage, pins: Mapping[TableKey, TablePin]) -> None:
        self._storage = storage
        self._pins = pins

    def row_count(self, key: TableKey) -> int:
        pin = self._pins.get(key)
        return 0 if pin is None else pin.row_count

    def ids_present(self, key: TableKey, ids: Iterable[str] | Column) -> set[str]:
        """Which of these ids the table has."""
        wanted = whole(_strings(ids))
        if 0 < len(wanted) <= PROBE_CHUNK_KEYS and self.row_count(key):
            known = key_maps().present(self._storage.tables.open(self._pins[key]), wanted.to_pylist())
            if known is not None:
                return known
        found: set[str] = set()
        for batch in self._matching(key, ("id",), "id", wanted):
            found.update(batch.column("id").to_pylist())
        return found

    def ids_missing(self, key: TableKey, ids: pa.Array) -> pa.Array:
        """Which of these ids the table does not have."""
        return ids.filter(pa.array(~self.holds(key, ids)))

    def holds(self, key: TableKey, ids: Column) -> Mask:
        """Per id whether the table has it, however many they are."""
        found, place = np.zeros(len(ids), np.bool_), 0
        for piece in pieces(ids) if self.row_count(key) and len(ids) else ():
            found[place : place + len(piece)] = members(piece, self._present(key, piece))
            place += len(piece)
        return found

    def holds_any(self, key: TableKey, ids: Column) -> bool:
        """Whether the table has one of these ids; stops at the first."""
        return any(batch.num_rows for piece in pieces(ids) for batch in self._matching(key, ("id",), "id", piece))

    def _present(self, key: TableKey, ids: pa.Array) -> Column:
        if len(ids) <= PROBE_CHUNK_KEYS:
            return pa.array(sorted(self.ids_present(key, ids)), pa.string())
        batches = [batch.column("id") for batch in self._matching(key, ("id",), "id", ids)]
        return pa.chunked_array(batches, pa.string())

    def ids(self, key: TableKey) -> Iterator[pa.Array]:
        """Every id of the table, batch by batch."""
        for batch in self._scan(key, ("id",), None):
            yield batch.column("id")

    def rows_with(self, key: TableKey, columns: Sequence[str], tuples: pa.Table) -> pa.Table:
        """The rows (`id` and the columns) that hold one of these tuples of values, compared by canonical text."""
        names = list(dict.fromkeys(("id", *columns)))
        found = []
        wanted = tuples.select(list(columns))
        for name in columns:
            wanted = wanted.filter(pc.is_valid(wanted[name]))
        for part, batch in self._candidates(key, names, columns, wanted):
            rows = pa.Table.from_batches([batch])
            codes = tuple_codes([_joined(part[name], rows[name]) for name in columns])
            hit = np.isin(codes[part.num_rows :], codes[: part.num_rows])  # no wanted tuple has a NULL
            found.append(rows.filter(pa.array(hit)))
        schema = pa.schema([("id", pa.string())] + [(n, tuples.schema.field(n).type) for n in names if n != "id"])
        return pa.concat_tables([table.cast(schema) for table in found]) if found else schema.empty_table()

    def edges_at(self, key: TableKey, column: str, ids: Iterable[str] | Column) -> pa.Table:
        """The edges (`id`, `src`, `dst`) whose `column` is one of these ids."""
        return edge_table(self.edge_batches(key, column, ids))

    def edge_batches(self, key: TableKey, column: str, ids: Iterable[str] | Column) -> Iterator[pa.RecordBatch]:
        """The same, batch by batch, however many ids there are."""
        for part in hash_parts(_strings(ids)):
            yield from self._matching(key, _EDGE_COLUMNS, column, part)

    def sources(self, key: TableKey) -> Iterator[pa.Array]:
        """The `src` of every edge, batch by batch."""
        for batch in self._scan(key, ("src",), None):
            yield batch.column("src")

    def dangling(self, key: TableKey, column: str, present_ids: Column) -> pa.Table:
        """The edges whose `column` is none of these ids; one streaming pass for each piece of the ids, and one more."""
        present, stranded = pieces(present_ids), np.ones(self.row_count(key), np.bool_)
        for piece in present:
            place = 0
            for batch in self._scan(key, (column,), None):
                stranded[place : place + batch.num_rows] &= ~members(batch.column(column), piece)
                place += batch.num_rows
        return (
            edge_table(_rows_of(self._scan(key, _EDGE_COLUMNS, None), stranded)) if stranded.any() else edge_table(())
        )

    def stored_rows(self, key: TableKey, ids: Iterable[str] | Column, schema: pa.Schema) -> pa.Table:
        """Whole rows of these ids in exactly the table's columns, managed blobs with their bytes."""
        wanted, blobs = pc.unique(whole(_strings(ids))), BlobIntake(self._storage.blob_bases)
        parts = []
        for start in range(0, len(wanted), PROBE_CHUNK_KEYS) if self.row_count(key) else ():
            chunk = tuple(wanted.slice(start, PROBE_CHUNK_KEYS).to_pylist())
            batches = whole_rows(self._storage.tables.open(self._pins[key]), blobs, OneOf("id", chunk))
            parts += [
                pa.Table.from_arrays([batch.column(each.name) for each in schema], schema=schema) for batch in batches
            ]
        return pa.concat_tables(parts) if parts else schema.empty_table()

    # --- scans --------------------------------------------------------------------------------------------

    def _matching(
        self, key: TableKey, columns: Sequence[str], column: str, values: pa.Array
    ) -> Iterator[pa.RecordBatch]:
        """The rows whose String column is one of these values."""
        wanted = pc.unique(values)
        if not len(wanted) or not self.row_count(key):
            return
        if self._passes(key, len(wanted)):
            for batch in self._scan(key, columns, None):
                yield batch.filter(pc.is_in(batch.column(column), value_set=wanted))
            return
        for start in range(0, len(wanted), PROBE_CHUNK_KEYS):
            chunk = wanted.slice(start, PROBE_CHUNK_KEYS).to_pylist()
            yield from self._scan(key, columns, OneOf(column, tuple(chunk)))

    def _candidates(
        self, key: TableKey, names: Sequence[str], columns: Sequence[str], wanted: pa.Table
    ) -> Iterator[tuple[pa.Table, pa.RecordBatch]]:
        """Parts of the wanted tuples, each with rows that hold each of their values in some tuple."""
        if not wanted.num_rows or not self.row_count(key):
            return
        if self._passes(key, wanted.num_rows):
            for batch in self._scan(key, names, None):
                yield wanted, batch
            return
        for start in range(0, wanted.num_rows, PROBE_CHUNK_KEYS):
            part = wanted.slice(start, PROBE_CHUNK_KEYS)
            parts = tuple(OneOf(name, tuple(dict.fromkeys(_literals(part[name])))) for name in columns)
            for batch in self._scan(key, names, All(parts)):
                yield part, batch

    def _passes(self, key: TableKey, keys: int) -> bool:
        return keys >= PASS_FROM_KEYS and self.row_count(key) <= keys * PASS_ROWS_PER_KEY

    def _scan(self, key: TableKey, columns: Sequence[str], predicate: Predicate | None) -> Iterator[pa.RecordBatch]:
        if not self.row_count(key):
            return iter(())
        table = self._storage.tables.open(self._pins[key])
        if predicate is None:
            return table.scan(columns, use_index=False, batch_rows=PASS_BATCH_ROWS)
        return table.scan(columns, predicate)


# --- parts ------------------------------------------------------------------------------------------------


def _strings(ids: Iterable[str] | Column) -> Column:
    return ids if isinstance(ids, pa.Array | pa.ChunkedArray) else pa.array(list(ids), pa.string())


def _rows_of(batches: Iterable[pa.RecordBatch], keep: Mask) -> Iterator[pa.RecordBatch]:
    place = 0
    for batch in batches:
        yield batch.filter(pa.array(keep[place : place + batch.num_rows]))
        place += batch.num_rows


def edge_table(batches: Iterable[pa.RecordBatch]) -> pa.Table:
    """Batches of edges (`id`, `src`, `dst`) as one table."""
    schema = pa.schema([(name, pa.string()) for name in _EDGE_COLUMNS])
    kept = [batch for batch in batches if batch.num_rows]
    return pa.Table.from_batches(kept).cast(schema) if kept else schema.empty_table()


def _joined(left: pa.ChunkedArray, right: pa.ChunkedArray) -> pa.ChunkedArray:
    return pa.chunked_array([*left.chunks, *right.chunks], left.type)


def _literals(column: pa.ChunkedArray) -> list[Any]:
    """Values as a predicate takes them: dates as numbers."""
    kind = column.type
    if pa.types.is_date32(kind):
        column = column.cast(pa.int32())
    elif pa.types.is_date64(kind):
        column = column.combine_chunks().view(pa.int64())
    values: list[Any] = column.to_pylist()
    return values
