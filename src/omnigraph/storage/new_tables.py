"""New tables of a graph that lives: made at the place of their type, or over what an earlier type of that name left.

A type that is dropped leaves its table where it is, for whoever reads the past. When the name comes again, the table
goes on from its newest version with other columns: a version that a graph shows must have a greater number than every
one that was hidden.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from omnigraph.model.errors import Internal
from omnigraph.model.identifiers import TableKey
from omnigraph.storage.bulk import StagingArea, WrittenFragment
from omnigraph.storage.create import create_exclusive, has_version
from omnigraph.storage.graph_storage import GraphStorage
from omnigraph.storage.lance import (
    FragmentMetadata,
    LanceDataset,
    LanceOperation,
    Transaction,
    require_whole,
    sync_operation,
    sync_version_file,
    translated,
)
from omnigraph.storage.manifest import TableVersion
from omnigraph.storage.restore import version_row
from omnigraph.storage.tables import made_for

RAISES_MAX = 1024
"""So many empty versions are made, at most, to come above a number that was hidden."""


def make_table(
    storage: GraphStorage,
    key: TableKey,
    schema: pa.Schema,
    *,
    above: int,
    commit_id: str,
    rows: Sequence[WrittenFragment] = (),
    area: StagingArea | None = None,
) -> TableVersion:
    """A table of these columns with these rows, at a version greater than `above`. No graph shows it yet."""
    location = key.location
    if not has_version(storage, location):
        create_exclusive(storage, location, schema.empty_table())
        if above < 1 and not rows:
            return version_row(storage, str(key), location, None, 1)
    if rows and area is not None:
        with translated(storage.root.join(location)):
            area.move([(each.folder, each.paths) for each in rows], location)
    fragments = [FragmentMetadata.from_json(each.metadata) for each in rows]
    for _ in range(RAISES_MAX):
        version = _replace(storage, location, schema, fragments, commit_id)
        if version > above:
            return version_row(storage, str(key), location, None, version)
    raise Internal(f"table '{key}' has no version above {above}")


def empty_table(storage: GraphStorage, location: str, commit_id: str) -> int:
    """Leaves a table without rows, as its newest version; says which one. For what is dropped for good."""
    with translated(storage.root.join(location)):
        schema = storage.handles.open_for_change(location).schema
    return _replace(storage, location, schema, [], commit_id)


def _replace(storage: GraphStorage, location: str, schema: pa.Schema, fragments: list[Any], commit_id: str) -> int:
    uri = storage.root.join(location)
    with translated(uri):
        before = storage.handles.open_for_change(location)
        transaction = Transaction(int(before.version), LanceOperation.Overwrite(schema, fragments))
        is_durable = storage.root.is_local and storage.durability == "full"
        if storage.root.is_local:
            require_whole(uri, transaction.operation)
        if is_durable:
            sync_operation(uri, transaction.operation)
        after = LanceDataset.commit(
            before, made_for(transaction, commit_id), max_retries=0, storage_options=storage.root.lance_options
        )
        if is_durable:
            sync_version_file(after)
    return int(after.version)
