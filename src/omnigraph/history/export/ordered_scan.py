"""A table in the order of its ids, in bounded memory: an external merge sort over one sequential scan.

Rows are gathered into runs of `RUN_BYTES`; a run is sorted and, when it is not the only one, spilled to a temporary
Arrow file. The merge reads these files side by side and holds one small batch of each. So memory is a few runs (one
gathered, its sorted copy, what the scan reads ahead) plus `SPILL_BATCH_BYTES` per run, whatever the size of the table;
disk is the size of the columns asked for.
"""

from __future__ import annotations

import tempfile
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.storage.tables import Table

RUN_BYTES = 64 * 1024 * 1024
SPILL_BATCH_BYTES = 256 * 1024
SCAN_BATCH_ROWS = 2048


def scan_by_id(table: Table, columns: Sequence[str], *, run_bytes: int = RUN_BYTES) -> Iterator[pa.RecordBatch]:
    """Every row of the table, in byte order of `id`, which must be among the columns."""
    return sort_by_id(table.scan(columns, batch_rows=SCAN_BATCH_ROWS), run_bytes=run_bytes)


def sort_by_id(batches: Iterable[pa.RecordBatch], *, run_bytes: int = RUN_BYTES) -> Iterator[pa.RecordBatch]:
    """The rows of any batches with an `id`, in byte order of it."""
    with ExitStack() as stack:
        folder: Path | None = None
        spilled: list[Path] = []
        gathered: list[pa.RecordBatch] = []
        held = 0
        for batch in batches:
            gathered.append(batch)
            held += batch.nbytes
            if held >= run_bytes:
                if folder is None:
                    folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="omnigraph-sort-")))
                spilled.append(_spill(_sorted(gathered), folder / f"{len(spilled)}.arrow"))
                gathered, held = [], 0
        last = _sorted(gathered) if gathered else None
        if not spilled:
            yield from _pieces(last)
        else:
            runs = [SortedRun.of_file(path, stack) for path in spilled]
            if last is not None:
                runs.append(SortedRun(iter(_pieces(last))))
            yield from _merged(runs)


def _sorted(batches: list[pa.RecordBatch]) -> pa.Table:
    table = pa.Table.from_batches(batches)
    return table.take(pc.sort_indices(table, sort_keys=[("id", "ascending")])).combine_chunks()


def _pieces(table: pa.Table | None) -> Iterator[pa.RecordBatch]:
    if table is not None and table.num_rows:
        rows = max(1, table.num_rows * SPILL_BATCH_BYTES // max(table.nbytes, 1))
        yield from table.to_batches(max_chunksize=rows)


def _spill(table: pa.Table, path: Path) -> Path:
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
        for piece in _pieces(table):
            writer.write_batch(piece)
    return path


@dataclass
class SortedRun:
    """One sorted run, batch by batch: the batch at its head, the ids of it, and the rows already taken."""

    rest: Iterator[pa.RecordBatch]
    batch: pa.RecordBatch | None = None
    ids: Sequence[str] = ()
    taken: int = 0

    @classmethod
    def of_file(cls, path: Path, stack: ExitStack) -> SortedRun:
        reader = pa.ipc.open_file(stack.enter_context(pa.OSFile(str(path))))
        return cls(reader.get_batch(place) for place in range(reader.num_record_batches))

    def ready(self) -> bool:
        """Moves to the next batch when this one is used up; False at the end of the run."""
        while self.taken >= len(self.ids):
            self.batch = next(self.rest, None)
            if self.batch is None:
                return False
            self.ids, self.taken = self.batch.column("id").to_pylist(), 0
        return True

    def up_to(self, bound: str) -> pa.RecordBatch | None:
        """Takes the rows of the head batch whose ids are not greater than the bound."""
        if self.batch is None or self.ids[self.taken] > bound:
            return None
        end = bisect_right(self.ids, bound, lo=self.taken)
        part = self.batch.slice(self.taken, end - self.taken)
        self.taken = end
        return part


def _merged(runs: list[SortedRun]) -> Iterator[pa.RecordBatch]:
    """Rows up to the smallest last id of all head batches cannot be preceded by rows that were not read yet."""
    live = [run for run in runs if run.ready()]
    while live:
        bound = min(run.ids[-1] for run in live)
        parts = [part for run in live if (part := run.up_to(bound)) is not None]
        yield from _sorted(parts).to_batches()
        live = [run for run in live if run.ready()]
