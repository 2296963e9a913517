"""Bulk staging: data files that tasks write beside a table, and that one effect takes in.

A task writes into a folder of its own attempt, so whatever a lost attempt leaves behind lies in the staging area and
never in a table. The driver moves the files of the attempts that count and makes one effect of them.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from typing import Any, Literal

import pyarrow as pa

from omnigraph.model.format_version import DATA_STORAGE_VERSION
from omnigraph.model.identifiers import new_ulid
from omnigraph.model.late_dataclass import dataclass
from omnigraph.storage.bulk.area import StagingArea, StagingFiles
from omnigraph.storage.bulk.arrow_files import filesystem
from omnigraph.storage.bulk.shallow_clone import scratch_copy
from omnigraph.storage.failpoints import Point, reach
from omnigraph.storage.lance import (
    FragmentMetadata,
    LanceOperation,
    Transaction,
    files_of_operation,
    translated,
    write_fragments,
)
from omnigraph.storage.root import Root
from omnigraph.storage.tables import StagedEffect, Table, staged_effect

FRAGMENT_ROWS = 1024 * 1024
"""Rows per data file: one fragment each."""


@dataclass(frozen=True, slots=True)
class WrittenFragment:
    """A fragment with a file that one attempt of a task wrote; nothing refers to it yet."""

    folder: str
    """In the staging area."""
    paths: tuple[str, ...]
    """What was written in that folder: the file, and the folder of its blobs if there is one."""
    metadata: str
    rows: int


def write_bulk(
    files: StagingFiles, folder: str, schema: pa.Schema, rows: Iterator[pa.RecordBatch]
) -> list[WrittenFragment]:
    """Writes rows as data files of `schema` into a folder of the staging area. Runs in tasks."""
    uri = files.uri(folder)
    with translated(uri):
        written = write_fragments(
            pa.RecordBatchReader.from_batches(schema, rows),
            uri,
            schema=schema,
            mode="create",
            max_rows_per_file=FRAGMENT_ROWS,
            data_storage_version=DATA_STORAGE_VERSION,
            allow_external_blob_outside_bases=True,
            storage_options=files.root.lance_options,
        )
        return [_fragment(files.root, uri, folder, fragment) for fragment in written]


def _fragment(root: Root, uri: str, folder: str, fragment: Any) -> WrittenFragment:
    paths = data_paths(root, uri, fragment)
    return WrittenFragment(folder, paths, json.dumps(fragment.to_json()), int(fragment.physical_rows))


def data_paths(root: Root, uri: str, fragment: Any) -> tuple[str, ...]:
    """The files of a fragment below its dataset, and the folders of their blobs where there are any."""
    paths = []
    for file in fragment.files:
        path = f"data/{file._path}"
        paths.append(path)
        blobs = os.path.splitext(path)[0]
        if filesystem(root).get_file_info([f"{uri}/{blobs}".removeprefix("s3://")])[0].type.name == "Directory":
            paths.append(blobs)
    return tuple(paths)


def stage_bulk(
    area: StagingArea,
    table: Table,
    schema: pa.Schema,
    fragments: Sequence[WrittenFragment],
    kind: Literal["append", "overwrite"],
) -> StagedEffect:
    """Takes written fragments into a table: moved beside its own files, and named by one effect."""
    with translated(table.uri):
        ids = _field_ids(table, schema) if kind == "append" else None
        taken = [FragmentMetadata.from_json(_renumbered(each.metadata, ids)) for each in fragments]
    if fragments:
        with translated(table.uri):
            area.move([(each.folder, each.paths) for each in fragments], table.pin.path)
    if kind == "append":
        return staged_effect("append", table, Transaction(table.version, LanceOperation.Append(taken)))
    return staged_effect("overwrite", table, Transaction(table.version, LanceOperation.Overwrite(schema, taken)))


def stage_bulk_upsert(
    area: StagingArea, table: Table, schema: pa.Schema, rows: Iterator[pa.RecordBatch]
) -> StagedEffect:
    """Rows replace those of the same id and are added otherwise; streamed, each id once.

    The merge runs on a scratch copy. Its files are moved when they are whole, so a death in the middle of it leaves
    nothing in the table that nobody knows of.
    """
    folder = f"upsert/{new_ulid()}"
    with translated(table.uri):
        copy = scratch_copy(table, area.files, folder)
        transaction, _ = (
            copy.merge_insert("id")
            .when_matched_update_all()
            .when_not_matched_insert_all()
            .conflict_retries(0)
            .use_index(False)
            .execute_uncommitted(pa.RecordBatchReader.from_batches(schema, rows))
        )
        reach(Point.LOAD_UPSERT_WRITTEN)
        merged = transaction.operation
        added = [path for each in merged.new_fragments for path in data_paths(area.files.root, copy.uri, each)]
        changed = [str(each.deletion_file.path(each.id)) for each in merged.updated_fragments]
        area.move([(folder, added + changed)], table.pin.path)
        merged.updated_fragments = [_with_deletions(table, each) for each in merged.updated_fragments]
    return staged_effect("upsert", table, Transaction(table.version, merged))


def _with_deletions(table: Table, updated: Any) -> Any:
    """A fragment as the table knows it, with the deletion vector that it got in the scratch copy: the copy names the
    data files by another base."""
    own = table.handle.get_fragment(updated.id).metadata.to_json()
    own["deletion_file"] = updated.to_json()["deletion_file"]
    return FragmentMetadata.from_json(json.dumps(own))


def written_paths(effect: StagedEffect) -> frozenset[str]:
    """Everything that an effect adds to its table's folder."""
    return frozenset(files_of_operation(effect.transaction.operation) or ())


# --- field numbers ----------------------------------------------------------------------------------------


def _field_ids(table: Table, schema: pa.Schema) -> dict[int, int]:
    """From the numbers that a new file gives its fields, depth first, to those that the table has given them."""
    known = dict(_table_fields(table.handle.lance_schema.fields(), ""))
    return {number: known[path] for number, path in enumerate(_paths(schema, ""))}


def _table_fields(fields: Sequence[Any], above: str) -> Iterator[tuple[str, int]]:
    for each in fields:
        path = f"{above}/{each.name()}"
        yield path, int(each.id())
        yield from _table_fields(each.children(), path)


def _paths(fields: Any, above: str) -> Iterator[str]:
    for each in fields:
        path = f"{above}/{each.name}"
        yield path
        kind = each.type
        if pa.types.is_list(kind):
            yield from _paths([kind.value_field], path)
        elif pa.types.is_struct(kind):
            yield from _paths(list(kind), path)


def _renumbered(metadata: str, ids: dict[int, int] | None) -> str:
    if ids is None:
        return metadata
    document = json.loads(metadata)
    for file in document["files"]:
        file["fields"] = [ids[number] for number in file["fields"]]
    return json.dumps(document)
