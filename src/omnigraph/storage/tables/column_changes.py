"""Column changes that write no row: columns renamed, reordered, added without values, dropped, required or not."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa

from omnigraph.storage.lance import LanceOperation, Transaction, numbered_paths, renumbered_schema, translated
from omnigraph.storage.tables.staging import StagedEffect, staged_effect
from omnigraph.storage.tables.table import Table


def stage_columns(table: Table, target: pa.Schema, sources: Mapping[str, str]) -> StagedEffect:
    """The table in exactly the columns of `target`. Costs the same whatever its size: no data file is read or written.

    `sources` maps columns of `target` to those of the table. A column that it does not name is new and null in every
    row; one of the table that it does not name is gone, and its bytes stay until the rows are rewritten. The caller has
    seen that no row has a null where `target` takes none.
    """
    with translated(table.uri):
        operation = LanceOperation.Project(renumbered_schema(table.handle, target, sources))
    return staged_effect("project", table, Transaction(table.version, operation))


def stored_bytes(table: Table) -> int:
    """The size of the data files of a version."""
    with translated(table.uri):
        files = (file for fragment in table.handle.get_fragments() for file in fragment.metadata.files)
        return sum(int(file.file_size_bytes or 0) for file in files)


def field_numbers(table: Table) -> dict[str, int]:
    """By column the number that data files know it by. A column that is dropped and added again has another one."""
    with translated(table.uri):
        return dict(numbered_paths(table.handle.lance_schema.fields()))
