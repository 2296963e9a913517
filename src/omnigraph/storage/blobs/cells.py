"""Blobs: what a cell of a Blob column holds, and its bytes. A scan gives descriptors; bytes are read on request."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.model.errors import Corrupt
from omnigraph.model.late_dataclass import dataclass
from omnigraph.storage.tables import Table

BLOB_READ_BYTES = 32 * 1024 * 1024
"""How many bytes of blobs one read holds in memory, unless a single blob is larger."""

_INLINE, _EXTERNAL = 0, 3


@dataclass(frozen=True, slots=True)
class BlobCell:
    """A Blob value: bytes that the table keeps, or a reference that it does not follow."""

    kind: Literal["managed", "external"]
    size: int
    """The bytes of a managed value; 0 for a reference."""
    uri: str | None = None
    at_start: bool = False
    """Inline at position 0, where a null of the Rust releases seems to be."""


_NOTHING = BlobCell("managed", 0, at_start=True)


def blob_cells(descriptors: pa.Array, *, nothing_is_null: bool) -> list[BlobCell | None]:
    """The cells of a scanned Blob column.

    The Rust releases write a null as a valid descriptor of nothing (inline, position 0, no bytes) and read it back as
    null. `nothing_is_null` reads it in the same way; it is right for a nullable column of a table that they may have
    written. An empty value of ours that lies at position 0 is then a null too, there and here.
    """
    fields = [descriptors.field(name).to_pylist() for name in ("kind", "position", "size", "blob_uri")]
    valid = descriptors.is_valid().to_pylist()
    cells = [_cell(*facts) if present else None for present, *facts in zip(valid, *fields, strict=True)]
    return [None if nothing_is_null and cell == _NOTHING else cell for cell in cells]


def _cell(kind: int, position: int, size: int, uri: str) -> BlobCell:
    if kind == _EXTERNAL:
        return BlobCell("external", 0, uri=uri)
    return BlobCell("managed", size, at_start=kind == _INLINE and position == 0 and not uri)


def read_blobs(table: Table, column: str, row_ids: Sequence[int]) -> list[bytes]:
    """The bytes of managed values by stable row id, in the given order."""
    if not row_ids:
        return []
    with table.reading():
        found = table.handle.read_blobs(column, ids=list(row_ids), preserve_order=True)
    if len(found) != len(row_ids):
        raise Corrupt(table.uri, f"{len(row_ids)} blobs of '{column}' were asked for, {len(found)} were found")
    return [data if data is not None else b"" for _, data in found]


def split_by_blob_bytes(
    batch: pa.RecordBatch, columns: Sequence[str], *, at_most: int | None = None
) -> Iterator[pa.RecordBatch]:
    """The rows of a batch in slices whose blobs fit into one read; a slice has at least one row."""
    if not columns:
        yield batch
        return
    sizes = [sum(row) for row in zip(*(_sizes(batch.column(name)) for name in columns), strict=True)]
    limit = BLOB_READ_BYTES if at_most is None else at_most
    start, held = 0, 0
    for row, size in enumerate(sizes):
        if row > start and held + size > limit:
            yield batch.slice(start, row - start)
            start, held = row, 0
        held += size
    yield batch.slice(start)


def _sizes(descriptors: pa.Array) -> list[int]:
    sizes: list[int] = pc.fill_null(pc.struct_field(descriptors, "size"), 0).to_pylist()
    return sizes


def read_blob_range(table: Table, column: str, row_id: int, start: int, end: int) -> bytes:
    """Some bytes of one managed value, and no others of it."""
    with table.reading():
        files = table.handle.take_blobs(column, ids=[row_id])
        if len(files) != 1 or files[0] is None:
            raise Corrupt(table.uri, f"the blob of '{column}' that a scan found is not there")
        with files[0] as file:
            data = bytes(file.read_range(start, end - start))
    if len(data) != end - start:
        raise Corrupt(table.uri, f"{end - start} bytes of a blob of '{column}' were asked for, {len(data)} were read")
    return data
