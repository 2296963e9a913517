"""Lifting: rows of a table as they read under a later schema, batch by batch: memory does not grow with the table."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.language.schema import EdgeType, NodeType
from omnigraph.model.values import coerce_text
from omnigraph.storage.blobs import split_by_blob_bytes
from omnigraph.storage.bulk import NewColumns
from omnigraph.storage.tables import Table, plainly_typed, scan_group, table_schema
from omnigraph.write.evolution.past_values import PastTable, PastValues
from omnigraph.write.evolution.stored_blobs import blob_columns, with_blobs
from omnigraph.write.evolution.table_evolutions import Filled, TableEvolution

SCAN_ROWS = 8192


def new_columns(change: TableEvolution, past: Mapping[str, PastValues] | None = None) -> NewColumns:
    """The columns of a change that get values, for files that hold nothing else. `past` has those that come back."""
    assert change.entity is not None
    entity = change.entity
    reads = tuple(dict.fromkeys(["id", *(each.source for each in change.filled if each.source is not None)]))
    names = tuple(each.name for each in change.filled)
    earlier = past or {}

    def ahead(batches: Iterator[pa.RecordBatch]) -> None:
        ids = pa.chunked_array([batch.column("id") for batch in batches], pa.string()).combine_chunks()
        for values in earlier.values():
            values.fetch(ids)

    def compute(batch: pa.RecordBatch) -> Sequence[pa.Array]:
        return [
            earlier[each.name].of(batch.column("id")) if each.name in earlier else _values(entity, each, batch)
            for each in change.filled
        ]

    return NewColumns(names, reads, compute, ahead if earlier else None)


def earlier_values(change: TableEvolution, table: Table, past: PastTable) -> dict[str, PastValues]:
    """By column what comes back of the earlier table."""
    assert change.entity is not None
    kinds, places = table_schema(change.entity), past.read_places()
    back = [each.name for each in change.filled if each.comes_back]
    return {name: PastValues(table, name, kinds.field(name).type, places) for name in back}


def lifted_rows(
    change: TableEvolution,
    table: Table,
    columns: Sequence[str] | None = None,
    tell: Callable[[int], None] | None = None,
    fragments: Sequence[int] | None = None,
) -> Iterator[pa.RecordBatch]:
    """The rows of the stored table, or of some fragments, in the columns of the type afterwards (or some of them), in
    their order, blobs with their bytes."""
    assert change.entity is not None
    target = table_schema(change.entity)
    if columns is not None:
        target = pa.schema([target.field(name) for name in columns])
    sources = {name: name for name in table.schema.names} if change.sources is None else change.sources
    filled = {each.name: each for each in change.filled}
    reads = list(dict.fromkeys(_read_columns(target.names, sources, filled)))
    blobs = blob_columns(table, reads)
    done = 0
    for batch in _stored(table, [*reads, "_rowid"], fragments):
        plain = plainly_typed(pa.Table.from_batches([batch])).combine_chunks()
        for whole in plain.to_batches():
            for part in split_by_blob_bytes(whole, blobs):
                stored = with_blobs(table, part, blobs)
                yield _lifted(change, target, sources, filled, stored)
                done += part.num_rows
                if tell is not None:
                    tell(done)


def _stored(table: Table, columns: Sequence[str], fragments: Sequence[int] | None) -> Iterator[pa.RecordBatch]:
    if fragments is None:
        return table.scan(columns, batch_rows=SCAN_ROWS, use_index=False)
    return scan_group(table, fragments, columns, batch_rows=SCAN_ROWS)


def _read_columns(names: Sequence[str], sources: Any, filled: dict[str, Filled]) -> Iterator[str]:
    yield "id"
    for name in names:
        each = filled.get(name)
        source = sources.get(name) if each is None else each.source
        if source is not None:
            yield source


def _lifted(
    change: TableEvolution, target: pa.Schema, sources: Any, filled: dict[str, Filled], stored: pa.RecordBatch
) -> pa.RecordBatch:
    assert change.entity is not None
    columns = []
    for field in target:
        if field.name in filled:
            columns.append(_values(change.entity, filled[field.name], stored))
        elif field.name in sources:
            columns.append(_cast(stored.column(sources[field.name]), field.type))
        else:
            columns.append(pa.nulls(stored.num_rows, field.type))
    return pa.RecordBatch.from_arrays(columns, schema=target)


def _values(entity: NodeType | EdgeType, each: Filled, batch: pa.RecordBatch) -> pa.Array:
    kind = table_schema(entity).field(each.name).type
    if each.source is None:
        prop = entity.by_name[each.name]
        value = coerce_text(each.default or "", prop.type, f"{entity.name}.{each.name}")
        return pa.repeat(_scalar(value, kind), batch.num_rows)
    column = batch.column(each.source)
    return _renamed(column, dict(each.mapping)) if each.mapping else _cast(column, kind)


def _scalar(value: Any, kind: pa.DataType) -> pa.Scalar:
    if pa.types.is_date32(kind) or pa.types.is_date64(kind):  # stored as days or milliseconds
        plain = pa.int32() if pa.types.is_date32(kind) else pa.int64()
        return pa.array([value], plain).view(kind)[0]
    return pa.scalar(value, kind)


def _renamed(column: pa.Array, mapping: dict[str, str]) -> pa.Array:
    """Values under their new names; a list of them item by item."""
    if pa.types.is_list(column.type):
        items = _renamed(column.flatten(), mapping)
        return pa.ListArray.from_arrays(_offsets(column), items, type=column.type, mask=column.is_null())
    old = pa.array(list(mapping), pa.string())
    new = pa.array(list(mapping.values()), pa.string())
    places = pc.index_in(column, value_set=old, skip_nulls=True)
    return pc.coalesce(new.take(places), column)


def _offsets(column: pa.Array) -> pa.Array:
    lengths = pc.fill_null(pc.list_value_length(column), 0)
    return pa.concat_arrays([pa.array([0], pa.int32()), pc.cumulative_sum(lengths).cast(pa.int32())])


def _cast(column: pa.Array, kind: pa.DataType) -> pa.Array:
    return column if column.type == kind else column.cast(kind)
