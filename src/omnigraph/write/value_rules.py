"""Value rules: what one row can break by itself. Enum membership everywhere, `@range` and `@check` on nodes."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.language.schema.catalog import CheckRule, EdgeType, NodeType, Property, RangeRule
from omnigraph.write.changes import TableChange
from omnigraph.write.findings import Offence, offence, shown


def check_values(entity: NodeType | EdgeType, change: TableChange) -> Iterator[Offence]:
    """Enums, then ranges, then patterns; NULL satisfies each of them."""
    if change.values_proven or change.rows is None or not change.rows.num_rows:
        return
    for prop in entity.properties:
        if prop.type.enum_values is not None:
            yield from _enum(entity, prop, change)
    if isinstance(entity, NodeType):
        for bounds in entity.ranges:
            yield from _range(entity, bounds, change)
        for check in entity.checks:
            yield from _check(entity, check, change)


def _enum(entity: NodeType | EdgeType, prop: Property, change: TableChange) -> Iterator[Offence]:
    values = prop.type.enum_values or ()
    allowed = pa.array(values, pa.string())
    column = _column(change, prop.name)
    if prop.type.is_list:
        parents, items = pc.list_parent_indices(column), pc.list_flatten(column)
    else:
        parents, items = pa.array(np.arange(len(column))), column
    wrong = np.flatnonzero(_bad(pc.or_(pc.is_in(items, value_set=allowed), pc.is_null(items))))
    for position in wrong.tolist():
        value = items[position].as_py()
        message = f"invalid enum value '{value}' for {entity.name}.{prop.name} (expected: {', '.join(values)})"
        row = (int(parents[position].as_py()),)
        yield offence(entity, change, row, rule="enum", message=message, property_name=prop.name, value=value)


def _range(entity: NodeType, bounds: RangeRule, change: TableChange) -> Iterator[Offence]:
    """Compared as 64-bit floats; NaN is in no range. Lists have no ranges."""
    prop = entity.by_name[bounds.property]
    if prop.type.is_list:
        return
    numbers = _column(change, prop.name).cast(pa.float64(), safe=False)
    fits = pc.is_valid(numbers) if bounds.minimum is None else pc.greater_equal(numbers, float(bounds.minimum))
    if bounds.maximum is not None:
        fits = pc.and_(fits, pc.less_equal(numbers, float(bounds.maximum)))
    fits = pc.and_(fits, pc.invert(pc.is_nan(numbers)))
    span = f"{'' if bounds.minimum is None else bounds.minimum}..{'' if bounds.maximum is None else bounds.maximum}"
    yield from _scalar_offences(entity, change, prop.name, "@range", fits, f"is not in {span}")


def _check(entity: NodeType, check: CheckRule, change: TableChange) -> Iterator[Offence]:
    if entity.by_name[check.property].type.is_list:
        return
    fits = pc.match_substring_regex(_column(change, check.property), check.pattern)
    yield from _scalar_offences(entity, change, check.property, "@check", fits, f'does not match "{check.pattern}"')


def _scalar_offences(
    entity: NodeType, change: TableChange, name: str, rule: str, fits: pa.Array, reason: str
) -> Iterator[Offence]:
    column = _column(change, name)
    for row in np.flatnonzero(_bad(pc.or_kleene(fits, pc.is_null(column)))).tolist():
        value = column[row].as_py()
        spelled = f"'{shown(value)}'" if isinstance(value, str) else shown(value)
        message = f"{rule} violation on {entity.name}.{name}: value {spelled} {reason}"
        yield offence(entity, change, (row,), rule=rule, message=message, property_name=name, value=value)


def _column(change: TableChange, name: str) -> pa.Array:
    assert change.rows is not None
    return change.rows[name].combine_chunks()


def _bad(fits: pa.Array) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    return np.logical_not(np.asarray(fits.to_numpy(zero_copy_only=False), np.bool_))
