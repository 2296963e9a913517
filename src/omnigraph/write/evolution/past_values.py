"""Past values: the values that a property had in an earlier commit, found again by the ids of entities.

Sixteen bytes per row of the earlier table are held in memory, and the values of one fragment at a time.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.storage.tables import Table, plainly_typed, take_with_row_ids, text_hashes
from omnigraph.write.evolution.stored_blobs import blob_columns, with_blobs

TAKE_ROWS = 8192


class PastValues:
    """The values of one column of an earlier table."""

    def __init__(self, table: Table, column: str, kind: pa.DataType) -> None:
        self._table = table
        self._column = column
        self._kind = kind
        self._blobs = blob_columns(table, [column])
        self._fetched = (pa.array([], pa.string()), pa.array([], kind))

    def of(self, ids: pa.Array) -> pa.Array:
        """A value per id that was fetched; null for an entity that was not there."""
        known, values = self._fetched
        return values.take(pc.index_in(ids, value_set=known))

    def fetch(self, ids: pa.Array) -> None:
        """Reads the values of these entities, and forgets those of others."""
        parts = [self._of(ids.slice(start, TAKE_ROWS)) for start in range(0, len(ids), TAKE_ROWS)]
        self._fetched = (ids, pa.concat_arrays([pa.array([], self._kind), *parts]))

    def _of(self, ids: pa.Array) -> pa.Array:
        kind = self._kind
        hashes, row_ids = self._rows
        wanted = text_hashes(ids)
        if not len(hashes):
            return pa.nulls(len(ids), kind)
        places = np.minimum(np.searchsorted(hashes, wanted), len(hashes) - 1)
        known = np.unique(row_ids[places[hashes[places] == wanted]])
        taken = plainly_typed(take_with_row_ids(self._table, known, ["id", self._column])).combine_chunks()
        if not taken.num_rows:
            return pa.nulls(len(ids), kind)
        (whole,) = taken.to_batches()
        rows = with_blobs(self._table, whole, self._blobs)
        # An id whose hash another one has is not found here: nothing wrong is taken for its value.
        return rows.column(self._column).cast(kind).take(pc.index_in(ids, value_set=rows.column("id")))

    @cached_property
    def _rows(self) -> tuple[np.ndarray[tuple[int], np.dtype[np.uint64]], np.ndarray[tuple[int], np.dtype[np.uint64]]]:
        hashes, row_ids = [np.empty(0, np.uint64)], [np.empty(0, np.uint64)]
        for batch in self._table.scan(["id", "_rowid"], use_index=False):
            hashes.append(text_hashes(batch.column("id")))
            row_ids.append(np.asarray(batch.column("_rowid").to_numpy(), np.uint64))
        joined = np.concatenate(hashes)
        order = np.argsort(joined)
        return joined[order], np.concatenate(row_ids)[order]
