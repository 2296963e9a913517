"""Spool: rows that a load makes anew (each id once, absent properties filled) and that may not fit into memory.

A few stay in memory. Many go to a file without a name, mapped: the pages that are looked at are in memory while there
is room, and the file is gone with whoever reads it, whatever ends the process.
"""

from __future__ import annotations

import mmap
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import replace

import pyarrow as pa

from omnigraph.model.late_dataclass import dataclass
from omnigraph.storage.tables import plainly_typed
from omnigraph.write.intake import Decoded
from omnigraph.write.rules import SLICE_ROWS, Mask, part_bytes


@dataclass(frozen=True, slots=True)
class Spool:
    folder: str | None = None
    """Where the file lies; None is the machine's folder for such files (`TMPDIR`)."""

    def rows(self, schema: pa.Schema, batches: Iterable[pa.RecordBatch]) -> pa.Table:
        """The rows of these batches, each of which is in memory only while it passes by."""
        held, size, limit = list[pa.RecordBatch](), 0, part_bytes()
        passing = iter(batches)
        for batch in passing:
            held.append(batch)
            size += batch.nbytes
            if size > limit:
                return self._mapped(schema, _chained(held, passing))
        return pa.Table.from_batches(held, schema)

    def _mapped(self, schema: pa.Schema, batches: Iterator[pa.RecordBatch]) -> pa.Table:
        with tempfile.TemporaryFile(dir=self.folder) as file:
            with pa.ipc.new_file(pa.PythonFile(file, "w"), schema) as writer:
                for batch in batches:
                    writer.write_batch(batch)
            file.flush()
            mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        return plainly_typed(pa.ipc.open_file(pa.BufferReader(pa.py_buffer(mapped))).read_all())

    def where(self, decoded: Decoded, keep: Mask) -> Decoded:
        """The rows that the mask keeps."""
        rows = self.rows(decoded.rows.schema, _filtered(decoded.rows, keep))
        absent = {name: mask[keep] for name, mask in decoded.absent.items()}
        lines, generated = decoded.lines[keep], decoded.generated[keep]
        return replace(decoded, rows=rows, lines=lines, generated=generated, absent=absent)


def _chained(held: list[pa.RecordBatch], rest: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    while held:
        yield held.pop(0)
    yield from rest


def _filtered(rows: pa.Table, keep: Mask) -> Iterator[pa.RecordBatch]:
    place = 0
    for batch in rows.to_batches(max_chunksize=SLICE_ROWS):
        yield batch.filter(pa.array(keep[place : place + batch.num_rows]))
        place += batch.num_rows
