"""Scan groups: a table cut into groups of fragments, so that many readers share one version of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa

from omnigraph.storage.predicates import Predicate, to_sql
from omnigraph.storage.tables.table import Table

GROUP_ROWS = 1_000_000


def scan_groups(table: Table, *, rows: int = GROUP_ROWS) -> list[tuple[int, ...]]:
    """The fragments of a table in order, gathered into groups of about so many rows. Costs no request."""
    groups: list[tuple[int, ...]] = []
    gathered: list[int] = []
    held = 0
    with table.reading():
        for fragment in table.handle.get_fragments():
            size = int(fragment.physical_rows) - int(fragment.num_deletions)
            if gathered and held + size > rows:
                groups.append(tuple(gathered))
                gathered, held = [], 0
            gathered.append(int(fragment.fragment_id))
            held += size
    return [*groups, tuple(gathered)] if gathered else groups


def scan_group(
    table: Table,
    fragments: Sequence[int],
    columns: Sequence[str],
    predicate: Predicate | None = None,
    *,
    batch_rows: int = 4096,
) -> Iterator[pa.RecordBatch]:
    """The rows of one group in bounded memory."""
    if not fragments:
        return
    with table.reading():
        scanner = table.handle.scanner(
            columns=list(columns),
            filter=None if predicate is None else to_sql(predicate, table.schema),
            fragments=[table.handle.get_fragment(number) for number in fragments],
            batch_size=batch_rows,
            scan_in_order=True,
            # Only this group's rows are wanted: an index would answer for the whole table.
            use_scalar_index=False,
        )
        yield from scanner.to_batches()
