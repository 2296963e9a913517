"""Patches: records that state some properties of an entity and leave the others as they are stored."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.storage.arrow_types import arrow_type
from omnigraph.write.changes import TableChange
from omnigraph.write.decode import Decoded, DecodePlan, missing_value
from omnigraph.write.findings import Offence, offence

StoredRows = Callable[[pa.Array], pa.Table]
"""Whole committed rows of the given ids, in the table's columns; ids that are not there are left out."""


def fill_absent(decoded: Decoded, plan: DecodePlan, stored_rows: StoredRows) -> Decoded:
    """Absent properties take their stored value; those of a new entity their default, or NULL."""
    open_rows = np.zeros(len(decoded.lines), np.bool_)
    for mask in decoded.absent.values():
        open_rows |= mask
    if not open_rows.any():
        return decoded
    ids = decoded.rows["id"].combine_chunks()
    stored = stored_rows(ids.filter(pa.array(open_rows)))
    place = pc.fill_null(pc.index_in(ids, value_set=stored["id"].combine_chunks()), -1).to_numpy(zero_copy_only=False)
    rows = decoded.rows
    for name, mask in decoded.absent.items():
        if mask.any():
            declared = plan.schema.field(name)
            column = _filled(rows[name], stored[name], plan, name, mask, place)
            rows = rows.set_column(rows.schema.get_field_index(name), declared, column)
    return replace(decoded, rows=rows)


def check_filled(plan: DecodePlan, change: TableChange) -> list[Offence]:
    """Required properties that neither the record nor the stored row nor a default gives."""
    found = []
    for prop in plan.entity.properties:
        if prop.type.nullable or change.rows is None or not change.rows[prop.name].null_count:
            continue
        missing = change.rows[prop.name].combine_chunks().is_null().to_numpy(zero_copy_only=False)
        for row in np.flatnonzero(missing).tolist():
            message = missing_value(plan.entity, prop.name)
            found.append(
                offence(plan.entity, change, (row,), rule="required", message=message, property_name=prop.name)
            )
    return found


def _filled(
    given: pa.ChunkedArray,
    stored: pa.ChunkedArray,
    plan: DecodePlan,
    name: str,
    absent: np.ndarray[tuple[int], np.dtype[np.bool_]],
    place: np.ndarray[tuple[int], np.dtype[np.int32]],
) -> pa.Array:
    """One take over the given values, the stored ones and the default: it works for every type, blobs included."""
    kind = arrow_type(plan.entity.by_name[name].type)
    default = pa.array([plan.defaults.get(name)], kind)
    source = pa.concat_arrays([given.combine_chunks(), stored.combine_chunks().cast(kind), default])
    count = len(given)
    chosen = np.arange(count, dtype=np.int64)
    from_stored = absent & (place >= 0)
    chosen[from_stored] = count + place[from_stored]
    chosen[absent & (place < 0)] = count + len(stored)
    return source.take(pa.array(chosen))
