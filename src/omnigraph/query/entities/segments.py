"""Segments: rows that were read together, with the columns of theirs that are in memory."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import field

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from omnigraph.model.late_dataclass import dataclass
from omnigraph.query.entities.entity_rows import RowIds
from omnigraph.storage.tables import Table, scan_fragments


@dataclass(slots=True)
class Segment:
    """Rows that were read together: some fragments of one version. Slots are numbered through all segments."""

    table: Table
    fragments: tuple[int, ...] | None
    length: int
    _columns: dict[str, pa.Array] = field(default_factory=dict)
    _row_ids: RowIds | None = None
    _lock: threading.Lock = field(default_factory=threading.Lock)
    nbytes: int = 0
    """Of the columns that are here."""

    def has(self, name: str) -> bool:
        return name in self._columns

    def names(self) -> tuple[str, ...]:
        """The columns that are here."""
        with self._lock:
            return tuple(self._columns)

    def column(self, name: str) -> pa.Array:
        with self._lock:
            known = self._columns.get(name)
            if known is None:
                known = self._columns[name] = self._read([name])[name]
                self.nbytes += int(known.nbytes)
            return known

    def fill(self, names: Sequence[str]) -> None:
        """Reads these columns at once."""
        with self._lock:
            missing = [name for name in names if name not in self._columns]
            if missing:
                self._columns |= self._read(missing)
                self.nbytes += sum(int(self._columns[name].nbytes) for name in missing)

    def drop(self, name: str) -> None:
        """Forgets a column; the next who asks reads it again."""
        with self._lock:
            dropped = self._columns.pop(name, None)
            self.nbytes -= 0 if dropped is None else int(dropped.nbytes)

    def row_ids(self) -> RowIds:
        with self._lock:
            if self._row_ids is None:
                self._row_ids = self._read(["_rowid"])["_rowid"].to_numpy()
                self.nbytes += int(self._row_ids.nbytes)
            return self._row_ids

    def _read(self, names: Sequence[str]) -> dict[str, pa.Array]:
        batches = list(scan_fragments(self.table, self.fragments, names))
        return {name: _joined([batch.column(name) for batch in batches], self._kind(name)) for name in names}

    def _kind(self, name: str) -> pa.DataType:
        return pa.uint64() if name == "_rowid" else self.table.schema.field(name).type


def merged_segment(
    segments: Sequence[Segment], chosen: npt.NDArray[np.int64], table: Table, fragments: tuple[int, ...]
) -> Segment:
    """One segment in place of several: their rows with these numbers, which are the rows of these fragments of `table`.

    The columns that all of them have are gathered; the others are read when somebody asks.
    """
    names = set(segments[0].names()).intersection(*(each.names() for each in segments[1:]))
    columns = {name: _chosen([each.column(name) for each in segments], chosen) for name in names}
    merged = Segment(table, fragments, len(chosen), columns)
    merged.nbytes = sum(int(column.nbytes) for column in columns.values())
    return merged


def _chosen(parts: list[pa.Array], chosen: npt.NDArray[np.int64]) -> pa.Array:
    return _joined(pa.chunked_array(parts).take(pa.array(chosen)).chunks, parts[0].type)


def _joined(parts: list[pa.Array], kind: pa.DataType) -> pa.Array:
    return parts[0] if len(parts) == 1 else pa.chunked_array(parts, kind).combine_chunks()
