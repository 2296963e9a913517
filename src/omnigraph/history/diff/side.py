"""One side of a comparison: a table at a pin, with its columns sorted into those that are cheap to read and the rest.

Vectors and blobs are read only for rows whose other columns are equal, or whose values somebody wants to see.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property

import numpy as np
import pyarrow as pa

from omnigraph.history.diff.cells import Mask, differing_cells
from omnigraph.history.diff.row_places import RowPlaces
from omnigraph.history.export import has_foreign_commits
from omnigraph.history.snapshots import Snapshot
from omnigraph.model.errors import Corrupt
from omnigraph.model.late_dataclass import dataclass
from omnigraph.storage import GraphStorage, Predicate
from omnigraph.storage.blobs import blob_cells, read_blobs
from omnigraph.storage.manifest import TablePin
from omnigraph.storage.tables import CandidateRows, Table, plainly_typed, read_candidates, take_at, take_with_row_ids

FIXED = ("id", "src", "dst")
STREAM_BYTES, MIN_ROWS, MAX_ROWS = 8 * 1024 * 1024, 256, 8192
"""How much of a stream of rows is in memory at a time."""
TAKE_ROWS = 8192
COMPARE_ROWS = 1024
"""Vectors and blobs are compared so many rows at a time."""


@dataclass(frozen=True, slots=True)
class Lift:
    """How the rows of a table read under a later schema."""

    columns: Mapping[str, str]
    """By column of the later schema the stored one that it continues. Others are as if they were not there."""
    fills: Mapping[str, pa.Scalar]
    """Columns that came later, and what every row of that time was given."""

    def schema(self, stored: pa.Schema) -> pa.Schema:
        kept = [stored.field(old).with_name(new) for new, old in self.columns.items()]
        return pa.schema([*kept, *(pa.field(name, value.type) for name, value in self.fills.items())])

    def stored(self, columns: Sequence[str]) -> list[str]:
        """The stored columns for these; those that are not properties have their own names."""
        return [self.columns.get(name, name) for name in columns if name not in self.fills] or ["id"]

    def lifted(self, rows: pa.Table, columns: Sequence[str]) -> pa.Table:
        """Rows of those, under the later names, and the stored order of whatever else they have."""
        renamed = {self.columns.get(name, name): name for name in columns if name not in self.fills}
        rows = rows.rename_columns([renamed.get(name, name) for name in rows.column_names])
        for name in columns:
            if name in self.fills:
                rows = rows.append_column(name, pa.repeat(self.fills[name], rows.num_rows))
        others = [name for name in rows.column_names if name not in columns]
        return rows.select([*columns, *others])


class TableSide:
    """A table of one of the snapshots that are compared."""

    lift: Lift | None = None
    """Set before anything is read, when the others follow a later schema."""

    def __init__(self, storage: GraphStorage, pin: TablePin, snapshot: Snapshot) -> None:
        self.storage = storage
        self.pin = pin
        self.table: Table = storage.tables.open(pin)
        self.snapshot = snapshot
        self.places = RowPlaces()

    def read_object(self, path: str) -> bytes | None:
        """A small file of the graph."""
        found = self.storage.objects.read(path)
        return None if found is None else found.data

    @cached_property
    def nothing_is_null(self) -> bool:
        """How to read a blob of no bytes: see `blob_cells`."""
        return has_foreign_commits(self.storage, self.snapshot)

    def noted(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The same rows without their addresses, which are remembered."""
        for batch in batches:
            ids, addresses = (np.asarray(batch.column(name).to_numpy(), np.uint64) for name in ("_rowid", "_rowaddr"))
            self.places.add(ids, addresses)
            yield batch.drop_columns(["_rowaddr"])

    @cached_property
    def schema(self) -> pa.Schema:
        """The columns as the comparison sees them."""
        return self.table.schema if self.lift is None else self.lift.schema(self.table.schema)

    def _stored(self, columns: Sequence[str]) -> Sequence[str]:
        return columns if self.lift is None else self.lift.stored(columns)

    def _lifted(self, rows: pa.Table, columns: Sequence[str]) -> pa.Table:
        return rows if self.lift is None else self.lift.lifted(rows, columns)

    def candidates(
        self, rows: CandidateRows, columns: Sequence[str], *, batch_rows: int = TAKE_ROWS
    ) -> Iterator[pa.RecordBatch]:
        """Columns of these rows, `_rowid` and `_rowaddr`, batch by batch, in no particular order."""
        yield from self._each(read_candidates(self.table, rows, self._stored(columns), batch_rows=batch_rows), columns)

    def scan(self, columns: Sequence[str], predicate: Predicate) -> Iterator[pa.RecordBatch]:
        """The rows that match, among them `_rowid` and `_rowaddr` if they are asked for."""
        yield from self._each(self.table.scan(self._stored(columns), predicate), columns)

    def _each(self, batches: Iterable[pa.RecordBatch], columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            if self.lift is None:
                yield batch
            else:
                yield from self._lifted(pa.Table.from_batches([batch]), columns).combine_chunks().to_batches()

    @cached_property
    def blobs(self) -> tuple[str, ...]:
        return tuple(field.name for field in self.schema if is_blob(field))

    @cached_property
    def vectors(self) -> tuple[str, ...]:
        return tuple(field.name for field in self.schema if pa.types.is_fixed_size_list(field.type))

    @cached_property
    def light(self) -> tuple[str, ...]:
        """Every column that is neither: `id` first."""
        heavy = {*self.blobs, *self.vectors}
        return tuple(name for name in self.schema.names if name not in heavy)

    @cached_property
    def properties(self) -> tuple[str, ...]:
        """What users declared, in byte order of the names."""
        return tuple(sorted((name for name in self.schema.names if name not in FIXED), key=str.encode))

    def take(self, row_ids: np.ndarray[tuple[int], np.dtype[np.uint64]], columns: Sequence[str]) -> pa.Table:
        """Columns of rows that are known to be there; blobs as descriptors."""
        addresses, known = self.places.find(row_ids)
        if len(row_ids) and known.all():
            taken = take_at(self.table, addresses, self._stored(columns))
            taken = taken.append_column("_rowid", pa.array(row_ids[: taken.num_rows], pa.uint64()))
        else:
            taken = take_with_row_ids(self.table, row_ids, self._stored(columns))
        self._require(len(row_ids), taken.num_rows)
        return plainly_typed(self._lifted(taken, columns))

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
            for batch in self.candidates(wanted, columns, batch_rows=rows):
                found += batch.num_rows
                yield plainly_typed(pa.Table.from_batches([batch]))
            self._require(len(row_ids), found)
        else:
            for start in range(0, len(row_ids), rows):
                yield self.take(row_ids[start : start + rows], columns)

    def _rows_at_a_time(self, columns: Sequence[str]) -> int:
        schema = self.schema
        width = 64 + sum(4 * int(schema.field(name).type.list_size) for name in columns if name in self.vectors)
        return max(MIN_ROWS, min(MAX_ROWS, STREAM_BYTES // width))

    def blob_contents(self, rows: pa.Table, column: str) -> list[bytes | str | None]:
        """The values of a Blob column of rows that carry `_rowid`: bytes, an address, or None."""
        nullable = self.schema.field(column).nullable
        cells = blob_cells(rows[column].combine_chunks(), nothing_is_null=self.nothing_is_null and nullable)
        row_ids = rows["_rowid"].to_pylist()
        managed = [row for row, cell in zip(row_ids, cells, strict=True) if cell is not None and cell.kind == "managed"]
        (stored,) = self._stored([column])
        data = iter(read_blobs(self.table, stored, managed))
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
                wider = _wider(left.type, right.type)
                left, right = left.cast(wider), right.cast(wider)
            differs |= differing_cells(left, right)
        else:
            only = (rows if name in one.light else other_rows)[name]
            differs |= ~np.asarray(only.is_null().to_numpy(zero_copy_only=False), np.bool_)
    return differs


def _wider(one: pa.DataType, other: pa.DataType) -> pa.DataType:
    """The type that keeps every value of both: a number may have been widened between two schemas."""
    kinds = (one, other)
    if all(pa.types.is_integer(kind) or pa.types.is_floating(kind) for kind in kinds):
        if any(pa.types.is_floating(kind) for kind in kinds):
            return pa.float64()
        return pa.uint64() if all(pa.types.is_unsigned_integer(kind) for kind in kinds) else pa.int64()
    return one


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
