"""Past values: the values that a property had in an earlier commit, found again by the ids of entities.

Where each entity of the earlier table is gets written down once, sixteen bytes per row, as a file of the staging area.
On this machine whoever looks into it maps it. Of the values those of one fragment at a time are held in memory.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.model.identifiers import new_ulid
from omnigraph.model.late_dataclass import dataclass
from omnigraph.storage.bulk import StagingFiles
from omnigraph.storage.manifest import TablePin
from omnigraph.storage.tables import Table, plainly_typed, take_with_row_ids, text_hashes
from omnigraph.write.evolution.stored_blobs import blob_columns, with_blobs

TAKE_ROWS = 8192
Numbers: TypeAlias = npt.NDArray[np.uint64]
_PLACES = pa.schema([pa.field("hash", pa.uint64()), pa.field("row_id", pa.uint64())])


@dataclass(frozen=True, slots=True)
class PastTable:
    """An earlier table, and the file that says where its entities are. Picklable."""

    pin: TablePin
    files: StagingFiles
    places: str

    def read_places(self) -> tuple[Numbers, Numbers]:
        """The hashes of ids in their order, and the row id of each."""
        rows = self.files.read(self.places)
        hashes, row_ids = (np.asarray(rows[name].chunk(0), np.uint64) for name in _PLACES.names)
        return hashes, row_ids


def past_table(files: StagingFiles, table: Table) -> PastTable:
    """Writes down where the entities of an earlier table are."""
    hashes, row_ids = [np.empty(0, np.uint64)], [np.empty(0, np.uint64)]
    for batch in table.scan(["id", "_rowid"], use_index=False):
        hashes.append(text_hashes(batch.column("id")))
        row_ids.append(np.asarray(batch.column("_rowid").to_numpy(), np.uint64))
    joined = np.concatenate(hashes)
    order = np.argsort(joined)
    places = [pa.array(joined[order]), pa.array(np.concatenate(row_ids)[order])]
    name = f"past/{new_ulid()}.arrow"
    files.write(name, _PLACES, [pa.RecordBatch.from_arrays(places, schema=_PLACES)])
    return PastTable(table.pin, files, name)


class PastValues:
    """The values of one column of an earlier table."""

    def __init__(self, table: Table, column: str, kind: pa.DataType, places: tuple[Numbers, Numbers]) -> None:
        self._table = table
        self._column = column
        self._kind = kind
        self._places = places
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
        hashes, row_ids = self._places
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
