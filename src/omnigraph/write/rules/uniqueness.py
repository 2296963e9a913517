"""Uniqueness: `@unique` on the final image of a change, against itself and against committed rows that survive it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa

from omnigraph.language.schema import EdgeType, NodeType
from omnigraph.write.changes import TableChange
from omnigraph.write.rules.canonical_text import canonical_column, repeats, tuple_codes
from omnigraph.write.rules.committed_view import CommittedView
from omnigraph.write.rules.key_columns import members, row_slices
from omnigraph.write.rules.row_violations import RowViolation, display_value, row_violation


def check_unique(entity: NodeType | EdgeType, change: TableChange, view: CommittedView) -> Iterator[RowViolation]:
    """Tuples compare by canonical text; one with a NULL never collides. A row never collides with its own old image."""
    if change.rows is None or not change.rows.num_rows:
        return
    for group in entity.unique:
        yield from repeated_in_change(entity, group, change)
        if change.mode != "overwrite":
            yield from _against_committed(entity, group, change, view)


def repeated_in_change(
    entity: NodeType | EdgeType, group: Sequence[str], change: TableChange
) -> Iterator[RowViolation]:
    """Rows whose tuple an earlier row of the same change has."""
    assert change.rows is not None
    later, first = repeats(tuple_codes([change.rows[name] for name in group]))
    ids = change.rows["id"]
    for row, other in zip(later.tolist(), first.tolist(), strict=True):
        texts = tuple_texts(change.rows, group, row)
        lines = both_lines(change, other, row)
        message = unique_message(entity, group, texts, ids[other].as_py(), ids[row].as_py()) + lines
        yield row_violation(
            entity,
            change,
            (row,),
            rule="@unique",
            message=message,
            property_name=property_names(group),
            value=spell_tuple(texts),
        )


def _against_committed(
    entity: NodeType | EdgeType, group: Sequence[str], change: TableChange, view: CommittedView
) -> Iterator[RowViolation]:
    assert change.rows is not None
    for first, rows in row_slices(change.rows, group):
        hits = view.rows_with(change.key, group, rows)
        for values in (change.rows["id"], pa.array(change.removed, pa.string())) if hits.num_rows else ():
            hits = hits.filter(pa.array(~members(hits["id"], values)))
        if hits.num_rows:
            yield from _held(entity, group, change, first, rows, hits)


def _held(
    entity: NodeType | EdgeType, group: Sequence[str], change: TableChange, first: int, rows: pa.Table, hits: pa.Table
) -> Iterator[RowViolation]:
    """Rows of a slice, which begins at row `first` of the change, whose tuple a committed row has."""
    joined = [pa.chunked_array([*hits[name].chunks, *rows[name].chunks], rows[name].type) for name in group]
    codes = tuple_codes(joined)
    held, own = codes[: hits.num_rows], codes[hits.num_rows :]
    holder = {int(code): position for position, code in reversed(list(enumerate(held.tolist())))}
    for row in np.flatnonzero(np.isin(own, held) & (own >= 0)).tolist():
        texts = tuple_texts(rows, group, row)
        other = hits["id"][holder[int(own[row])]].as_py()
        message = unique_message(entity, group, texts, other, rows["id"][row].as_py())
        place = (first + row,)
        yield row_violation(
            entity,
            change,
            place,
            rule="@unique",
            message=message,
            property_name=property_names(group),
            value=spell_tuple(texts),
        )


# --- words ------------------------------------------------------------------------------------------------


def unique_message(
    entity: NodeType | EdgeType, group: Sequence[str], texts: Sequence[str], first_id: str, second_id: str
) -> str:
    value = display_value(spell_tuple(texts))
    holders = f"held by '{first_id}' and '{second_id}'"
    return f"@unique violation on {entity.name}.{property_names(group)}: value '{value}' {holders}"


def property_names(group: Sequence[str]) -> str:
    """`k`, or `(a, b)` for several."""
    return group[0] if len(group) == 1 else f"({', '.join(group)})"


def spell_tuple(texts: Sequence[str]) -> str:
    return texts[0] if len(texts) == 1 else f"({', '.join(texts)})"


def tuple_texts(rows: pa.Table, group: Sequence[str], row: int) -> list[str]:
    """The canonical texts of one row."""
    return [str(canonical_column(rows[name].slice(row, 1))[0].as_py()) for name in group]


def both_lines(change: TableChange, first: int, second: int) -> str:
    if change.provenance is None:
        return ""
    (file, line), (other_file, other_line) = (change.provenance.place(row) for row in (first, second))
    if file == other_file:
        return f" (lines {line} and {other_line})"
    return f" (line {line} of {file} and line {other_line} of {other_file})"
