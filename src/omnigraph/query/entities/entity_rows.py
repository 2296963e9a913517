"""Entities: the rows of one table under dense row numbers, as queries speak of them.

There are two kinds, with one face. *Interned* entities (here) know nothing at first and number rows as a query finds
them through filtered scans: for questions that touch a handful of rows of a table that nobody has read yet. *Resident*
entities (`resident`) number the whole table once and answer from memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from omnigraph.query.frames import NO_ROW, Rows
from omnigraph.storage import OneOf, Predicate
from omnigraph.storage.tables import Table

RowIds = npt.NDArray[np.uint64]
PROBE_CHUNK_IDS = 8192


class Entities(Protocol):
    """One version of one table. Numbers mean the same until the query ends."""

    @property
    def table(self) -> Table: ...
    @property
    def size(self) -> int:
        """Every number is smaller."""
        ...

    def every(self) -> Rows: ...
    def where(self, predicate: Predicate) -> Rows: ...
    def find(self, ids: Sequence[str]) -> Rows:
        """The rows of these ids, -1 where there is none."""
        ...

    def ids(self, rows: Rows) -> pa.Array:
        """NULL where the row is."""
        ...

    def values(self, column: str, rows: Rows, kind: pa.DataType) -> pa.Array:
        """NULL where the row is, or when this version of the table has no such column."""
        ...

    def row_ids(self, rows: Rows) -> RowIds:
        """Lance's stable row ids of rows that are not NULL."""
        ...

    def rows_of(self, row_ids: RowIds) -> Rows: ...


class InternedEntities:
    """Rows as they are met. Not for sharing between threads or queries."""

    def __init__(self, table: Table) -> None:
        self.table = table
        self._numbers: dict[str, int] = {}
        self._ids: list[str] = []
        self._row_ids: list[int] = []
        self._by_row_id: dict[int, int] = {}
        self._all: Rows | None = None

    @property
    def size(self) -> int:
        return len(self._ids)

    def every(self) -> Rows:
        if self._all is None:
            self._all = self._scan(None)
        return self._all

    def where(self, predicate: Predicate) -> Rows:
        return self._scan(predicate)

    def find(self, ids: Sequence[str]) -> Rows:
        missing = [] if self._all is not None else [each for each in dict.fromkeys(ids) if each not in self._numbers]
        for start in range(0, len(missing), PROBE_CHUNK_IDS):
            self._scan(OneOf("id", tuple(missing[start : start + PROBE_CHUNK_IDS])))
        return np.fromiter((self._numbers.get(each, NO_ROW) for each in ids), np.int32, len(ids))

    def ids(self, rows: Rows) -> pa.Array:
        return pa.array([None if row < 0 else self._ids[row] for row in rows.tolist()], pa.string())

    def values(self, column: str, rows: Rows, kind: pa.DataType) -> pa.Array:
        if column == "id":
            return self.ids(rows)
        if column not in self.table.schema.names or not len(rows):
            return pa.nulls(len(rows), kind)
        distinct, places = np.unique(rows, return_inverse=True)
        present = distinct[distinct >= 0]
        if not len(present):
            return pa.nulls(len(rows), kind)
        taken = self.table.take([self._row_ids[row] for row in present.tolist()], [column])[column].combine_chunks()
        if len(rows) == 1:  # pyarrow would import numpy's masked arrays, 4 % of a cold process and its first answer
            return taken
        places = places - (len(distinct) - len(present))  # NULL sorts first
        return taken.take(pa.array(places, mask=places < 0))

    def row_ids(self, rows: Rows) -> RowIds:
        return np.array(self._row_ids, np.uint64)[rows]

    def rows_of(self, row_ids: RowIds) -> Rows:
        missing = [each for each in row_ids.tolist() if each not in self._by_row_id]
        if missing:
            found = self.table.take(missing, ["id", "_rowid"])
            self.intern(found["id"].to_pylist(), found["_rowid"].to_pylist())
        return np.fromiter((self._by_row_id.get(each, NO_ROW) for each in row_ids.tolist()), np.int32, len(row_ids))

    def intern(self, ids: Sequence[str], row_ids: Sequence[int]) -> Rows:
        """The numbers of rows that a scan has found."""
        numbers = np.empty(len(ids), np.int32)
        for place, (entity_id, row_id) in enumerate(zip(ids, row_ids, strict=True)):
            number = self._numbers.get(entity_id)
            if number is None:
                number = self._numbers[entity_id] = len(self._ids)
                self._ids.append(entity_id)
                self._row_ids.append(row_id)
                self._by_row_id[row_id] = number
            numbers[place] = number
        return numbers

    def _scan(self, predicate: Predicate | None) -> Rows:
        parts = [
            self.intern(batch.column("id").to_pylist(), batch.column("_rowid").to_pylist())
            for batch in self.table.scan(("id", "_rowid"), predicate)
        ]
        return np.concatenate(parts) if parts else np.empty(0, np.int32)
