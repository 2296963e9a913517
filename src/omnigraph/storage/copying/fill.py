"""New tables with all their rows in one version, and the `__manifest` that shows them: a graph born with rows."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence

import pyarrow as pa

from omnigraph.model.format_version import DATA_STORAGE_VERSION
from omnigraph.model.identifiers import TableKey
from omnigraph.storage import layout
from omnigraph.storage.files import sync_folder
from omnigraph.storage.graph_storage import GraphStorage
from omnigraph.storage.lance import (
    Dataset,
    LanceDataset,
    require_whole,
    sync_version,
    translated,
    write_fragments,
)
from omnigraph.storage.manifest import ManifestRow, TableVersion, encode
from omnigraph.storage.tables import object_path


def create_table(
    storage: GraphStorage, key: TableKey, schema: pa.Schema, rows: Iterator[pa.RecordBatch]
) -> TableVersion:
    """A table at version 1 with these rows, which stream. No graph shows it yet."""
    made = _create(storage, key.location, pa.RecordBatchReader.from_batches(schema, rows))
    return TableVersion(
        table_key=str(key),
        table_version=1,
        table_branch=None,
        row_count=int(made.count_rows()),
        manifest_path=object_path(storage.root, layout.manifest_file(key.location, 1)),
    )


def create_manifest(storage: GraphStorage, rows: Sequence[ManifestRow]) -> None:
    """`__manifest` with these rows, as its first version."""
    _create(storage, layout.MANIFEST, encode(rows))


def _create(storage: GraphStorage, location: str, rows: pa.Table | pa.RecordBatchReader) -> Dataset:
    uri, options = storage.root.join(location), storage.root.lance_options
    with translated(uri):
        transaction = write_fragments(
            rows,
            uri,
            mode="create",
            return_transaction=True,
            data_storage_version=DATA_STORAGE_VERSION,
            allow_external_blob_outside_bases=True,
            storage_options=options,
        )
        if storage.root.is_local:
            require_whole(uri, transaction.operation)
        made = LanceDataset.commit(uri, transaction, max_retries=0, enable_stable_row_ids=True, storage_options=options)
        if storage.root.is_local and storage.durability == "full":
            sync_version(None, made)
            sync_folder(uri, os.path.dirname(storage.root.uri))
    return made
