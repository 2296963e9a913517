"""Patches: rows that go and rows that come, as one effect of one table. The rows to write stream; nothing is searched.

Where an upsert finds what it replaces by joining ids, the caller of a patch knows the rows already. So the cost follows
the change, and a row may be removed and another one written in the same version.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from omnigraph.model.errors import Corrupt
from omnigraph.model.format_version import DATA_STORAGE_VERSION
from omnigraph.storage.lance import LanceOperation, Transaction, translated, write_fragments
from omnigraph.storage.tables.fragments import RowIds
from omnigraph.storage.tables.row_changes import Addresses, take_at
from omnigraph.storage.tables.row_id_lists import listed_addresses
from omnigraph.storage.tables.staging import StagedEffect, staged_effect
from omnigraph.storage.tables.table import Table

LISTED_ROWS_MAX = 4096
"""So many rows are found in the lists of row ids; for more, a map of the table costs less."""


def stage_patch(
    table: Table,
    rows: Iterator[pa.RecordBatch],
    gone: Addresses,
    storage_options: dict[str, str] | None = None,
) -> StagedEffect | None:
    """Writes `rows`, in exactly the table's columns, and takes the rows at these addresses away.

    A row that is replaced is in both. None when there is neither: then nothing moves.
    """
    first = next(rows, None)
    written = [] if first is None else _write(table, first, rows, storage_options)
    with translated(table.uri):
        changed, emptied = _without_rows(table, gone)
    if not written and not len(gone):
        return None
    if not len(gone):
        return staged_effect("append", table, Transaction(table.version, LanceOperation.Append(written)))
    operation = LanceOperation.Update(removed_fragment_ids=emptied, updated_fragments=changed, new_fragments=written)
    return staged_effect("upsert", table, Transaction(table.version, operation))


def _write(
    table: Table, first: pa.RecordBatch, rest: Iterator[pa.RecordBatch], storage_options: dict[str, str] | None
) -> list[Any]:
    def batches() -> Iterator[pa.RecordBatch]:
        yield first
        yield from rest

    with translated(table.uri):
        transaction: Any = write_fragments(
            pa.RecordBatchReader.from_batches(first.schema, batches()),
            table.handle,
            mode="append",
            return_transaction=True,
            data_storage_version=DATA_STORAGE_VERSION,
            allow_external_blob_outside_bases=True,
            storage_options=storage_options,
        )
    return list(transaction.operation.fragments)


def row_addresses(table: Table, row_ids: RowIds, fragments: Collection[int]) -> Addresses:
    """Where rows lie that are in one of these fragments.

    A few are found in the lists of the fragments, and looked at. For many, Lance builds a map of the table.
    """
    if not len(row_ids):
        return np.empty(0, np.uint64)
    if len(row_ids) <= LISTED_ROWS_MAX:
        listed, known = listed_addresses(table, row_ids, fragments)
        if known.all() and np.array_equal(take_at(table, listed, ["_rowid"])["_rowid"].to_numpy(), row_ids):
            return listed
    found = np.asarray(table.take(row_ids.tolist(), ["_rowaddr"])["_rowaddr"].to_numpy(), np.uint64)
    if len(found) != len(row_ids):
        raise Corrupt(table.uri, f"{len(row_ids)} rows were to be replaced, {len(found)} were found")
    return found


def _without_rows(table: Table, addresses: Addresses) -> tuple[list[Any], list[int]]:
    """The fragments with new deletion vectors, and the numbers of those that have no row left."""
    changed, emptied = [], []
    fragments = (addresses >> np.uint64(32)).astype(np.int64)
    for number in np.unique(fragments).tolist():
        offsets = (addresses[fragments == number] & np.uint64(0xFFFFFFFF)).tolist()
        metadata = table.handle.get_fragment(number).delete_rows(offsets)
        if metadata is None:
            emptied.append(number)
        else:
            changed.append(metadata)
    return changed, emptied
