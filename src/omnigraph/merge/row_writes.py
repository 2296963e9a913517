"""Rows to write: whole rows of a side of the merge in the columns of the target's table, blobs with their bytes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from omnigraph.history.diff import TableSide
from omnigraph.language.schema import EdgeType, NodeType
from omnigraph.merge.resolution import InvalidResolution, Resolution
from omnigraph.model.late_dataclass import dataclass
from omnigraph.model.values import coerce_json
from omnigraph.storage.blobs import split_by_blob_bytes
from omnigraph.storage.external import BlobIntake
from omnigraph.storage.tables import BLOB_TYPE
from omnigraph.write.intake import blob_value


@dataclass(frozen=True, slots=True)
class RowWrites:
    """Rows that the merge writes: rows of one side, by their row ids, or one row with values of the caller's."""

    ids: pa.Array
    side: TableSide
    rows: npt.NDArray[np.uint64]
    replaced: pa.Array
    """The row ids that they replace in the target; null where the entity is new there."""
    values: Mapping[str, Any] | None = None
    """Values that replace those of the row; there is only one row then."""

    def filter(self, keep: npt.NDArray[np.bool_]) -> RowWrites:
        mask = pa.array(keep)
        return RowWrites(self.ids.filter(mask), self.side, self.rows[keep], self.replaced.filter(mask), self.values)


def joined_writes(writes: Sequence[RowWrites]) -> list[RowWrites]:
    """The same rows with those of one side together: they are read in one go."""
    by_side: dict[int, list[RowWrites]] = {}
    for each in writes:
        if each.values is None:
            by_side.setdefault(id(each.side), []).append(each)
    whole = [
        RowWrites(
            pa.concat_arrays([each.ids for each in group]),
            group[0].side,
            np.concatenate([each.rows for each in group]),
            pa.concat_arrays([each.replaced for each in group]),
        )
        for group in by_side.values()
    ]
    return [*whole, *(each for each in writes if each.values is not None)]


def whole_rows(writes: RowWrites, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """The rows in exactly these columns, in no particular order; a property that the side does not have is null."""
    side = writes.side
    present = [name for name in schema.names if name in side.schema.names]
    for taken in side.stream(writes.rows, present):
        for batch in taken.combine_chunks().to_batches():
            for part in split_by_blob_bytes(batch, [name for name in side.blobs if name in present]):
                yield _batch(side, pa.Table.from_batches([part]), schema, writes.values or {})


def checked_rows(writes: Sequence[RowWrites], schema: pa.Schema, columns: Sequence[str]) -> pa.Table:
    """The columns that the rules look at, of every row that is written."""
    wanted = pa.schema([schema.field(name) for name in columns])
    batches = [batch for each in writes for batch in whole_rows(each, wanted)]
    return pa.Table.from_batches(batches, wanted)


def _batch(side: TableSide, rows: pa.Table, schema: pa.Schema, values: Mapping[str, Any]) -> pa.RecordBatch:
    columns = []
    for field in schema:
        if field.name in values:
            columns.append(pa.array([values[field.name]] * rows.num_rows, field.type))
        elif field.name not in rows.column_names:
            columns.append(pa.nulls(rows.num_rows, field.type))
        elif field.name in side.blobs:
            columns.append(pa.array(_blob_values(side, rows, field.name), BLOB_TYPE))
        else:
            column = rows[field.name].combine_chunks()
            columns.append(column if column.type == field.type else column.cast(field.type))
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def _blob_values(side: TableSide, rows: pa.Table, name: str) -> list[dict[str, Any] | None]:
    """Bytes as they are; an external blob is copied, as by any write that writes its entity again."""
    blobs = BlobIntake(side.storage.blob_bases)
    contents = side.blob_contents(rows, name)
    return [
        None if each is None else {"data": each, "uri": None} if isinstance(each, bytes) else blobs.take(each)
        for each in contents
    ]


def stated_values(
    entity: NodeType | EdgeType, entity_id: str, resolution: Resolution, blobs: BlobIntake
) -> dict[str, Any]:
    """The values of a resolution as they are stored. The key of a node is its identity and cannot be another one."""
    values: dict[str, Any] = {}
    for name, value in (resolution.properties or {}).items():
        prop = entity.property(name)
        if prop is None:
            raise InvalidResolution(f"{entity.name} '{entity_id}' has no property '{name}'")
        where = f"{entity.name}.{name}"
        if isinstance(entity, NodeType) and name in (entity.key or ()):
            if entity.key == (name,) and str(value) == entity_id:
                continue
            raise InvalidResolution(f"{entity.name} '{entity_id}' keeps its key: '{name}' cannot be set")
        if prop.type.is_blob and value is not None:
            values[name] = blob_value(str(value), where, blobs)
        else:
            values[name] = coerce_json(value, prop.type, where)
    ends = {"src": resolution.src, "dst": resolution.dst}
    if isinstance(entity, NodeType) and any(end is not None for end in ends.values()):
        raise InvalidResolution(f"{entity.name} '{entity_id}' is a node: it has no 'from' and 'to'")
    return values | {name: end for name, end in ends.items() if end is not None}
