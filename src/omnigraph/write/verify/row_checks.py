"""Checks of the rows: ids and keys, unique constraints, dates, endpoints of edges, and indexes against scans.

Ids are compared by 64-bit hashes: 8 bytes per row of the table at hand, twice that while they are sorted, and for
edges the hashes of both endpoint types. A suspected duplicate is confirmed by its text in a second scan, so no hash can
accuse a sound row; a missing endpoint is always real.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.language.schema import EdgeType, NodeType, Property
from omnigraph.model.errors import OmniGraphError, Unreachable
from omnigraph.model.values import DATE_BOUNDS, canonical_text, node_id
from omnigraph.storage.indexes import probe_index
from omnigraph.storage.tables import Table
from omnigraph.write.verify.file_checks import describe
from omnigraph.write.verify.report import Finding

Hashes = npt.NDArray[np.int64]

SUSPECTS_MAX = 10_000
"""So many suspected duplicates of one constraint are confirmed; more are broken in the same way."""
EXAMPLES = 3
SCAN_ROWS = 65_536


def check_rows(table: Table, entity: NodeType | EdgeType) -> Iterator[Finding]:
    """What the rows of one table must satisfy by themselves."""
    yield from _check_unique(table, ("id",), "duplicate_id", "id")
    if isinstance(entity, NodeType) and entity.key is not None:
        yield from _check_keys(table, entity, entity.key)
        if len(entity.key) > 1 or table.schema.field(entity.key[0]).type != pa.string():
            yield from _check_unique(table, entity.key, "duplicate_key", f"@key({', '.join(entity.key)})")
    for columns in entity.unique:
        yield from _check_unique(table, columns, "unique_violation", f"@unique({', '.join(columns)})")
    for prop in entity.properties:
        if prop.type.scalar in DATE_BOUNDS and prop.name in table.schema.names:
            yield from _check_dates(table, prop)


# --- dates ----------------------------------------------------------------------------------------------------


def _check_dates(table: Table, prop: Property) -> Iterator[Finding]:
    """Other programs may store days that no calendar has. They are read as numbers, and no load takes them back."""
    low, high = DATE_BOUNDS[prop.type.scalar]
    total, examples = 0, list[str]()
    for batch in table.scan(["id", prop.name], batch_rows=SCAN_ROWS):
        column = batch.column(prop.name)
        rows = pc.list_parent_indices(column) if prop.type.is_list else pa.array(np.arange(len(column)))
        numbers = _plain(pc.list_flatten(column) if prop.type.is_list else column)
        beyond = pc.fill_null(pc.or_(pc.less(numbers, low), pc.greater(numbers, high)), False)
        total += pc.sum(beyond).as_py() or 0
        found = zip(rows.filter(beyond).to_pylist(), numbers.filter(beyond).to_pylist(), strict=True)
        for row, number in islice(found, EXAMPLES - len(examples)):
            examples.append(f"{number} of '{batch.column('id')[row].as_py()}'")
    if total:
        message = f"{prop.name}: {total} value(s) outside of the years 1 to 9999: {', '.join(examples)}"
        yield Finding(
            "warning", "date_out_of_range", describe(table.pin), f"{message}; replace them, or set them to null"
        )


# --- uniqueness -----------------------------------------------------------------------------------------------


def _check_unique(table: Table, columns: Sequence[str], code: str, rule: str) -> Iterator[Finding]:
    if any(column not in table.schema.names for column in columns):
        return
    hashes = _tuple_hashes(table, columns)
    hashes.sort()
    suspects = np.unique(hashes[1:][hashes[1:] == hashes[:-1]])[:SUSPECTS_MAX]
    if len(suspects) == 0:
        return
    holders = _holders(table, columns, set(suspects.tolist()))
    shared = {value: ids for value, ids in holders.items() if len(ids) > 1}
    if shared:
        examples = "; ".join(
            f"{', '.join(map(str, value))} held by {' and '.join(map(repr, ids[:EXAMPLES]))}"
            for value, ids in islice(shared.items(), EXAMPLES)
        )
        yield Finding("error", code, describe(table.pin), f"{rule}: {len(shared)} value(s) occur twice: {examples}")


def _tuple_hashes(table: Table, columns: Sequence[str]) -> Hashes:
    parts = [
        np.fromiter((hash(value) for _, value in _tuples(batch, columns)), np.int64)
        for batch in table.scan(_with_id(columns), batch_rows=SCAN_ROWS)
    ]
    return np.concatenate(parts) if parts else np.empty(0, np.int64)


def _holders(table: Table, columns: Sequence[str], suspects: set[int]) -> dict[tuple[Any, ...], list[str]]:
    holders: dict[tuple[Any, ...], list[str]] = {}
    for batch in table.scan(_with_id(columns), batch_rows=SCAN_ROWS):
        for entity_id, value in _tuples(batch, columns):
            if hash(value) in suspects:
                holders.setdefault(value, []).append(entity_id)
    return holders


def _tuples(batch: pa.RecordBatch, columns: Sequence[str]) -> Iterator[tuple[str, tuple[Any, ...]]]:
    """The ids and values of rows that a constraint binds: a tuple with a null is exempt."""
    values = zip(*(_stored(batch.column(name)) for name in columns), strict=True)
    for entity_id, value in zip(batch.column("id").to_pylist(), values, strict=True):
        if None not in value:
            yield entity_id, value


def _stored(column: pa.Array) -> list[Any]:
    """Values as they are stored: a Python date would lose the time of a DateTime."""
    values: list[Any] = _plain(column).to_pylist()
    return values


def _plain(column: pa.Array) -> pa.Array:
    if pa.types.is_date32(column.type):
        return column.cast(pa.int32())
    return column.cast(pa.int64()) if pa.types.is_date64(column.type) else column


def _with_id(columns: Sequence[str]) -> list[str]:
    return list(dict.fromkeys(("id", *columns)))


# --- keys -----------------------------------------------------------------------------------------------------


def _check_keys(table: Table, node: NodeType, key: tuple[str, ...]) -> Iterator[Finding]:
    """The id of a keyed node is the text of its key."""
    wrong: list[str] = []
    types = [node.by_name[name].type for name in key]
    total = partial = 0
    for batch in table.scan(_with_id(key), batch_rows=SCAN_ROWS):
        columns = [_stored(batch.column(name)) for name in key]
        for entity_id, *values in zip(batch.column("id").to_pylist(), *columns, strict=True):
            texts = [canonical_text(value, type_) for value, type_ in zip(values, types, strict=True)]
            if entity_id == node_id(texts):
                continue
            if len(key) > 1 and entity_id == texts[0]:
                partial += 1
                continue
            total += 1
            if len(wrong) < EXAMPLES:
                wrong.append(f"'{entity_id}' has the key {node_id(texts)}")
    if total:
        message = f"{total} id(s) are not those of their keys: {'; '.join(wrong)}"
        yield Finding("error", "id_not_of_key", describe(table.pin), message)
    if partial:
        message = f"{partial} id(s) are the first member of a composite key; rebuild the graph before writing this type"
        yield Finding("warning", "composite_id_of_one_member", describe(table.pin), message)


# --- endpoints ------------------------------------------------------------------------------------------------


def check_endpoints(table: Table, edge: EdgeType, sources: Table, targets: Table) -> Iterator[Finding]:
    """Every edge starts and ends at a node that exists."""
    ends = (("src", edge.from_type, sources), ("dst", edge.to_type, targets))
    for column, type_name, nodes in ends:
        known = _tuple_hashes(nodes, ("id",))
        known.sort()
        missing = 0
        examples: list[str] = []
        for batch in table.scan(["id", column], batch_rows=SCAN_ROWS):
            values = batch.column(column).to_pylist()
            hashes = np.fromiter((hash((value,)) for value in values), np.int64, len(values))
            for row in np.flatnonzero(~_among(hashes, known)):
                missing += 1
                if len(examples) < EXAMPLES:
                    examples.append(f"{column} '{values[row]}' of '{batch.column('id')[int(row)].as_py()}'")
        if missing:
            message = f"{missing} edge(s) have no {type_name}: {', '.join(examples)} not found in {type_name}"
            yield Finding("error", "missing_endpoint", describe(table.pin), message)


def _among(hashes: Hashes, known: Hashes) -> npt.NDArray[np.bool_]:
    if len(known) == 0:
        return np.zeros(len(hashes), np.bool_)
    places = np.minimum(np.searchsorted(known, hashes), len(known) - 1)
    found: npt.NDArray[np.bool_] = known[places] == hashes
    return found


# --- indexes --------------------------------------------------------------------------------------------------


def check_indexes(table: Table) -> Iterator[Finding]:
    """Each index opens and finds what a scan finds. A broken one costs speed, never an answer: reads do without it."""
    for index in table.indexes():
        where = f"{describe(table.pin)}, index {index.name}"
        try:
            fault = probe_index(table, index)
        except Unreachable:
            raise
        except OmniGraphError as error:
            yield Finding("warning", "index_unreadable", where, f"{error.sentence()}; rebuild it")
        else:
            if fault is not None:
                yield Finding("error", "index_disagrees", where, f"{fault}; rebuild it")
