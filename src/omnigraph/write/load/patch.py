"""Patches: records that state some properties of an entity and leave the others as they are stored."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.storage.tables import arrow_type
from omnigraph.write.changes import TableChange
from omnigraph.write.intake import Decoded, DecodePlan, Mask, followers, missing_value
from omnigraph.write.load.spool import Spool
from omnigraph.write.rules import RowViolation, row_violation

Places = npt.NDArray[np.integer]
FILL_ROWS = 32_768
"""So many rows are filled at a time."""
StoredRows = Callable[[pa.Array], pa.Table]
"""Whole committed rows of the given ids, in the table's columns; ids that are not there are left out."""


def fill_absent(decoded: Decoded, plan: DecodePlan, stored_rows: StoredRows, spool: Spool) -> Decoded:
    """Absent properties take their stored value; those of a new entity their default, or NULL.

    A vector that follows a text is NULL where the record states another text than the stored one. Some rows at a time:
    they, and what is stored of them, are all that is in memory.
    """
    if not any(mask.any() for mask in decoded.absent.values()):
        return decoded
    slices = (slice(start, start + FILL_ROWS) for start in range(0, len(decoded.lines), FILL_ROWS))
    batches = (batch for own in slices for batch in _fill(decoded, own, plan, stored_rows).to_batches())
    return replace(decoded, rows=spool.rows(decoded.rows.schema, batches))


def _fill(decoded: Decoded, own: slice, plan: DecodePlan, stored_rows: StoredRows) -> pa.Table:
    rows = decoded.rows.slice(own.start, own.stop - own.start)
    absent = {name: mask[own] for name, mask in decoded.absent.items() if mask[own].any()}
    if not absent:
        return rows
    open_rows = np.logical_or.reduce(list(absent.values()))
    ids = rows["id"].combine_chunks()
    stored = stored_rows(ids.filter(pa.array(open_rows)))
    place = pc.fill_null(pc.index_in(ids, value_set=stored["id"].combine_chunks()), -1).to_numpy(zero_copy_only=False)
    outdated = {
        prop.name: _differs(rows[embed.source], stored[embed.source], place) & ~_mask(absent, embed.source, len(rows))
        for prop, embed in followers(plan.entity)
        if prop.name in absent
    }
    for name, mask in absent.items():
        known = np.where(outdated[name], -1, place) if name in outdated else place
        column = _filled(rows[name], stored[name], plan, name, mask, known)
        rows = rows.set_column(rows.schema.get_field_index(name), rows.schema.field(name), column)
    return rows


def _differs(given: pa.ChunkedArray, stored: pa.ChunkedArray, place: Places) -> Mask:
    """Which of the given texts are not the stored ones. NULL is equal to NULL alone."""
    before = stored.combine_chunks().take(pa.array(place, mask=place < 0))
    same = pc.fill_null(pc.equal(given.combine_chunks(), before), False)
    both_null = pc.and_(given.combine_chunks().is_null(), before.is_null())
    mask: Mask = pc.invert(pc.or_(same, both_null)).to_numpy(zero_copy_only=False)
    return mask


def _mask(absent: Mapping[str, Mask], name: str, count: int) -> Mask:
    return absent.get(name, np.zeros(count, np.bool_))


def check_filled(plan: DecodePlan, change: TableChange) -> list[RowViolation]:
    """Required properties that neither the record nor the stored row nor a default gives."""
    found = []
    for prop in plan.entity.properties:
        if prop.type.nullable or change.rows is None or not change.rows[prop.name].null_count:
            continue
        missing = change.rows[prop.name].is_null().to_numpy()
        for row in np.flatnonzero(missing).tolist():
            message = missing_value(plan.entity, prop.name)
            found.append(
                row_violation(plan.entity, change, (row,), rule="required", message=message, property_name=prop.name)
            )
    return found


def _filled(
    given: pa.ChunkedArray,
    stored: pa.ChunkedArray,
    plan: DecodePlan,
    name: str,
    absent: Mask,
    place: Places,
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
