"""One side of a comparison: a table at a pin, with its columns sorted into those that are cheap to read and the rest.

Vectors and blobs are read only for rows whose other columns are equal, or whose values somebody wants to see.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property

import numpy as np
import pyarrow as pa

from omnigraph.history.diff.cells import Mask, differing_cells
from omnigraph.history.diff.row_places import RowPlaces
from omnigraph.history.export import has_foreign_commits
from omnigraph.history.snapshots import Snapshot
from omnigraph.model.errors import Corrupt
from omnigraph.storage import GraphStorage
from omnigraph.storage.blobs import blob_cells, read_blobs
from omnigraph.storage.manifest import TablePin
from omnigraph.storage.tables import CandidateRows, Table, plainly_typed, read_candidates, take_at, take_with_row_ids

FIXED = ("id", "src", "dst")
STREAM_BYTES, MIN_ROWS, MAX_ROWS = 8 * 1024 * 1024, 256, 8192
"""How much of a stream of rows is in memory at a time."""
COMPARE_ROWS = 1024
"""Vectors and blobs are compared so many rows at a time."""


class TableSide:
    """A table of one of the snapshots that are compared."""

    def __init__(self, storage: GraphStorage, pin: TablePin, snapshot: Snapshot) -> None:
        self.storage = storage
        self.pin = pin
        self.table: Table = storage.tables.open(pin)
        self._snapshot = snapshot
        self.places = RowPlaces()

    def read_object(self, path: str) -> bytes | None:
        """A small file of the graph."""
        found = self.storage.objects.read(path)
        return None if found is None else found.data

    @cached_property
    def nothing_is_null(self) -> bool:
        """How to read a blob of no bytes: see `blob_cells`."""
        return has_foreign_commits(self.storage, self._snapshot)

    def noted(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The same rows without their addresses, which are remembered."""
        for batch in batches:
            ids, addresses = (np.asarray(batch.column(name).to_numpy(), np.uint64) for name in ("_rowid", "_rowaddr"))
            self.places.add(ids, addresses)
            yield batch.drop_columns(["_rowaddr"])

    @cached_property
    def blobs(self) -> tuple[str, ...]:
        return tuple(field.name for field in self.table.schema if is_blob(field))

    @cached_property
    def vectors(self) -> tuple[str, ...]:
        return tuple(field.name for field in self.table.schema if pa.types.is_fixed_size_list(field.type))

    @cached_property
    def light(self) -> tuple[str, ...]:
        """Every column that is neither: `id` first."""
        heavy = {*self.blobs, *self.vectors}
        return tuple(name for name in self.table.schema.names if name not in heavy)

    @cached_property
    def properties(self) -> tuple[str, ...]:
        """What users declared, in byte order of the names."""
        return tuple(sorted((name for name in self.table.schema.names if name not in FIXED), key=str.encode))

    def take(self, row_ids: np.ndarray[tuple[int], np.dtype[np.uint64]], columns: Sequence[str]) -> pa.Table:
        """Columns of rows that are known to be there; blobs as descriptors."""
        addresses, known = self.places.find(row_ids)
        if len(row_ids) and known.all():
            taken = take_at(self.table, addresses, columns)
            taken = taken.append_column("_rowid", pa.array(row_ids[: taken.num_rows], pa.uint64()))
        else:
            taken = take_with_row_ids(self.table, row_ids, columns)
        self._require(len(row_ids), taken.num_rows)
        return plainly_typed(taken)

    def _require(self, asked: int, found: int) -> None:
        if asked != found:
            raise Corrupt(self.table.uri, f"{asked} rows were asked for, {found} were found")

    def stream(
        self, row_ids: np.ndarray[tuple[int], np.dtype[np.uint64]], columns: Sequence[str]
    ) -> Iterator[pa.Table]:
        """The same rows in no particular order, a few megabytes at a time."""
        rows = self._rows_at_a_time(columns)
        addresses, known = self.places.find(row_ids)
        if len(row_ids) and known.all():
            wanted, found = CandidateRows(addresses=addresses), 0
            for batch in read_candidates(self.table, wanted, columns, batch_rows=rows):
                found += batch.num_rows
                yield plainly_typed(pa.Table.from_batches([batch]))
            self._require(len(row_ids), found)
        else:
            for start in range(0, len(row_ids), rows):
                yield self.take(row_ids[start : start + rows], columns)

    def _rows_at_a_time(self, columns: Sequence[str]) -> int:
        schema = self.table.schema
        width = 64 + sum(4 * int(schema.field(name).type.list_size) for name in columns if name in self.vectors)
        return max(MIN_ROWS, min(MAX_ROWS, STREAM_BYTES // width))

    def blob_contents(self, rows: pa.Table, column: str) -> list[bytes | str | None]:
        """The values of a Blob column of rows that carry `_rowid`: bytes, an address, or None."""
        nullable = self.table.schema.field(column).nullable
        cells = blob_cells(rows[column].combine_chunks(), nothing_is_null=self.nothing_is_null and nullable)
        row_ids = rows["_rowid"].to_pylist()
        managed = [row for row, cell in zip(row_ids, cells, strict=True) if cell is not None and cell.kind == "managed"]
        data = iter(read_blobs(self.table, column, managed))
        return [None if cell is None else next(data) if cell.kind == "managed" else cell.uri or "" for cell in cells]


def is_blob(field: pa.Field) -> bool:
    """Whether a column of a table holds blobs."""
    if isinstance(field.type, pa.BaseExtensionType):
        return bool(field.type.extension_name == "lance.blob.v2")
    return (field.metadata or {}).get(b"ARROW:extension:name") == b"lance.blob.v2"


def light_columns_differ(one: TableSide, rows: pa.Table, other: TableSide, other_rows: pa.Table) -> Mask:
    """Per pair of rows whether a cheap column differs. What only one side has differs where it is not null."""
    differs = np.zeros(rows.num_rows, np.bool_)
    for name in dict.fromkeys((*one.light, *other.light)):
        if name in one.light and name in other.light:
            left, right = rows[name], other_rows[name]
            if left.type != right.type:
                right = right.cast(left.type)
            differs |= differing_cells(left, right)
        else:
            only = (rows if name in one.light else other_rows)[name]
            differs |= ~np.asarray(only.is_null().to_numpy(zero_copy_only=False), np.bool_)
    return differs


def heavy_columns_differ(one: TableSide, rows: pa.Table, other: TableSide, other_rows: pa.Table) -> Mask:
    """The same for vectors and blobs, which are read now, by the row ids of the pairs."""
    differs = np.zeros(rows.num_rows, np.bool_)
    heavy = dict.fromkeys((*one.vectors, *one.blobs, *other.vectors, *other.blobs))
    if not heavy:
        return differs
    for start in range(0, rows.num_rows, COMPARE_ROWS):
        part = slice(start, start + COMPARE_ROWS)
        left = one.take(_row_ids(rows, start), [name for name in heavy if name in (*one.vectors, *one.blobs)])
        right = other.take(
            _row_ids(other_rows, start), [name for name in heavy if name in (*other.vectors, *other.blobs)]
        )
        for name in heavy:
            differs[part] |= _heavy_cells_differ(one, left, other, right, name)
    return differs


def _heavy_cells_differ(one: TableSide, left: pa.Table, other: TableSide, right: pa.Table, name: str) -> Mask:
    if name in one.vectors and name in other.vectors:
        return differing_cells(left[name], right[name])
    if name in one.blobs and name in other.blobs:
        pairs = zip(one.blob_contents(left, name), other.blob_contents(right, name), strict=True)
        return np.array([a != b for a, b in pairs], np.bool_)
    rows = left if name in left.column_names else right
    return ~np.asarray(rows[name].is_null().to_numpy(zero_copy_only=False), np.bool_)


def _row_ids(rows: pa.Table, start: int) -> np.ndarray[tuple[int], np.dtype[np.uint64]]:
    return np.asarray(rows["_rowid"].slice(start, COMPARE_ROWS).to_numpy(), np.uint64)
