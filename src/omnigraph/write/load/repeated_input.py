"""Input checks: what a whole input may not say twice, and which of its records count when it may."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
import pyarrow as pa

from omnigraph.language.schema import EdgeType, NodeType
from omnigraph.write.changes import TableChange
from omnigraph.write.intake import Decoded, Mask
from omnigraph.write.load.spool import Spool
from omnigraph.write.rules import (
    SLICE_ROWS,
    Codes,
    CommittedView,
    RowViolation,
    both_lines,
    last_rows,
    property_names,
    repeated_in_change,
    repeats,
    row_violation,
    take_rows,
    tuple_codes,
    tuple_texts,
    unique_message,
)

KEY_CONFLICT = "key_conflict"
"""The rule of an id that is taken where only new ones may come."""


def check_repeats(entity: NodeType | EdgeType, change: TableChange, generated: Mask) -> Iterator[RowViolation]:
    """A key or a `@unique` tuple twice in one input, in every mode; an explicit id twice unless the last one wins.

    Generated ids differ by construction and are not compared.
    """
    if change.rows is None or not change.rows.num_rows:
        return
    key = entity.key if isinstance(entity, NodeType) else None
    if key is not None or (change.mode != "upsert" and not generated.all()):
        stated = np.flatnonzero(~generated)
        ids = change.rows["id"] if len(stated) == len(generated) else change.rows["id"].filter(pa.array(~generated))
        later, first = repeats(tuple_codes([ids]))
        for row, other in zip(stated[later].tolist(), stated[first].tolist(), strict=True):
            yield _repeated(entity, change, key, row, other)
    for group in entity.unique:
        yield from repeated_in_change(entity, group, change)


def check_new_ids(
    entity: NodeType | EdgeType, change: TableChange, generated: Mask, view: CommittedView
) -> Iterator[RowViolation]:
    """An insert of an id that the table has. Generated ids are new by construction and not looked for."""
    if change.mode != "insert" or change.rows is None or generated.all():
        return
    ids = change.rows["id"]
    stated = np.flatnonzero(~generated)
    taken = view.holds(change.key, ids if len(stated) == len(generated) else ids.filter(pa.array(~generated)))
    for row in stated[taken].tolist():
        message = _taken(entity, ids[row].as_py())
        yield row_violation(entity, change, (row,), rule=KEY_CONFLICT, message=message, property_name="id")


def coalesce(decoded: Decoded, spool: Spool) -> Decoded:
    """Each id once, in its last record's place. In a patch, earlier records may state what the last leaves open."""
    codes = tuple_codes([decoded.rows["id"]])
    kept = last_rows(codes)
    if len(kept) == len(codes):
        return decoded
    sources, absent = {}, {}
    for name, missing in decoded.absent.items():
        stated = np.full(int(codes.max()) + 1, -1, np.int64)
        present = np.flatnonzero(~missing)
        stated[codes[present]] = present
        chosen = stated[codes[kept]]
        absent[name] = chosen < 0
        source = np.where(chosen < 0, kept, chosen)
        if not np.array_equal(source, kept):
            sources[name] = source
    rows = spool.rows(decoded.rows.schema, _chosen(decoded.rows, kept, sources))
    return Decoded(rows, decoded.lines[kept], decoded.generated[kept], absent, ())


def _chosen(rows: pa.Table, kept: Codes, sources: Mapping[str, Codes]) -> Iterator[pa.RecordBatch]:
    """The kept rows, some of their values from other rows."""
    for start in range(0, len(kept), SLICE_ROWS):
        own = slice(start, start + SLICE_ROWS)
        arrays = [take_rows(rows[name], sources.get(name, kept)[own]) for name in rows.schema.names]
        yield pa.RecordBatch.from_arrays(arrays, schema=rows.schema)


def _repeated(
    entity: NodeType | EdgeType, change: TableChange, key: tuple[str, ...] | None, row: int, other: int
) -> RowViolation:
    assert change.rows is not None
    entity_id = change.rows["id"][row].as_py()
    lines = both_lines(change, other, row)
    if key is None:
        message = _taken(entity, entity_id) + lines
        return row_violation(entity, change, (row,), rule=KEY_CONFLICT, message=message, property_name="id")
    message = unique_message(entity, key, tuple_texts(change.rows, key, row), entity_id, entity_id) + lines
    return row_violation(
        entity, change, (row,), rule="@key", message=message, property_name=property_names(key), value=entity_id
    )


def _taken(entity: NodeType | EdgeType, entity_id: str) -> str:
    return f"{entity.kind} type '{entity.name}' already has id '{entity_id}'"
