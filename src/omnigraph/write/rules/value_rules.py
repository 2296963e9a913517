"""Value rules: what one row can break by itself. Enum membership everywhere, `@range` and `@check` on nodes."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.language.schema import CheckRule, EdgeType, NodeType, Property, RangeRule
from omnigraph.write.changes import TableChange
from omnigraph.write.rules.key_columns import row_slices
from omnigraph.write.rules.row_violations import RowViolation, display_value, row_violation


def check_values(entity: NodeType | EdgeType, change: TableChange) -> Iterator[RowViolation]:
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


def _enum(entity: NodeType | EdgeType, prop: Property, change: TableChange) -> Iterator[RowViolation]:
    values = prop.type.enum_values or ()
    allowed = pa.array(values, pa.string())
    for first, column in _pieces(change, prop.name):
        if prop.type.is_list:
            parents, items = pc.list_parent_indices(column), pc.list_flatten(column)
        else:
            parents, items = pa.array(np.arange(len(column))), column
        wrong = np.flatnonzero(_bad(pc.or_(pc.is_in(items, value_set=allowed), pc.is_null(items))))
        for position in wrong.tolist():
            value = items[position].as_py()
            message = f"invalid enum value '{value}' for {entity.name}.{prop.name} (expected: {', '.join(values)})"
            row = (first + int(parents[position].as_py()),)
            yield row_violation(entity, change, row, rule="enum", message=message, property_name=prop.name, value=value)


def _range(entity: NodeType, bounds: RangeRule, change: TableChange) -> Iterator[RowViolation]:
    """Compared as 64-bit floats; NaN is in no range. Lists have no ranges."""
    prop = entity.by_name[bounds.property]
    if prop.type.is_list:
        return
    span = f"{'' if bounds.minimum is None else bounds.minimum}..{'' if bounds.maximum is None else bounds.maximum}"
    for first, column in _pieces(change, prop.name):
        numbers = column.cast(pa.float64(), safe=False)
        fits = pc.is_valid(numbers) if bounds.minimum is None else pc.greater_equal(numbers, float(bounds.minimum))
        if bounds.maximum is not None:
            fits = pc.and_(fits, pc.less_equal(numbers, float(bounds.maximum)))
        fits = pc.and_(fits, pc.invert(pc.is_nan(numbers)))
        yield from _scalar_violations(entity, change, prop.name, "@range", first, column, fits, f"is not in {span}")


def _check(entity: NodeType, check: CheckRule, change: TableChange) -> Iterator[RowViolation]:
    name, reason = check.property, f'does not match "{check.pattern}"'
    if entity.by_name[name].type.is_list:
        return
    for first, column in _pieces(change, name):
        fits = pc.match_substring_regex(column, check.pattern)
        yield from _scalar_violations(entity, change, name, "@check", first, column, fits, reason)


def _scalar_violations(
    entity: NodeType,
    change: TableChange,
    name: str,
    rule: str,
    first: int,
    column: pa.Array,
    fits: pa.Array,
    reason: str,
) -> Iterator[RowViolation]:
    for row in np.flatnonzero(_bad(pc.or_kleene(fits, pc.is_null(column)))).tolist():
        value = column[row].as_py()
        spelled = f"'{display_value(value)}'" if isinstance(value, str) else display_value(value)
        message = f"{rule} violation on {entity.name}.{name}: value {spelled} {reason}"
        yield row_violation(entity, change, (first + row,), rule=rule, message=message, property_name=name, value=value)


def _pieces(change: TableChange, name: str) -> Iterator[tuple[int, pa.Array]]:
    """The column in arrays, each with the row that it begins at."""
    assert change.rows is not None
    for first, rows in row_slices(change.rows.select([name]), [name]):
        yield first, rows[name].combine_chunks()


def _bad(fits: pa.Array) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    return np.logical_not(np.asarray(fits.to_numpy(zero_copy_only=False), np.bool_))
