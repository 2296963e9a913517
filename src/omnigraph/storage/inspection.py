"""Inspection: facts about the files of a graph that only `verify` asks for. Reads, never writes."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator

import pyarrow as pa

from omnigraph.language.schema import EdgeType, NodeType
from omnigraph.model.errors import Corrupt
from omnigraph.model.identifiers import TableKey
from omnigraph.storage import layout
from omnigraph.storage.lance import translated
from omnigraph.storage.manifest import MANIFEST_SCHEMA, LoadedManifest, TablePin
from omnigraph.storage.objects import ObjectStore
from omnigraph.storage.tables import Table, table_schema

DATA_STORAGE_VERSION = "2.2"


def manifest_faults(loaded: LoadedManifest) -> Iterator[str]:
    """Which rules of the format a version of `__manifest` breaks, apart from what its rows mean."""
    schema = loaded.handle.schema
    if not schema.equals(MANIFEST_SCHEMA):
        yield f"its columns are {', '.join(schema.names)}"
    elif schema.field("object_id").metadata != MANIFEST_SCHEMA.field("object_id").metadata:
        yield "object_id lacks the primary-key mark: two publishes of one row would not conflict"
    with translated(layout.MANIFEST):
        indexes = [str(index.name) for index in loaded.handle.describe_indices()]
        ids = loaded.handle.to_table(columns=["object_id"])["object_id"].to_pylist()
    if indexes:
        yield f"it has indexes: {', '.join(indexes)}"
    twice = [object_id for object_id, count in Counter(ids).items() if count > 1]
    if twice:
        yield f"{len(twice)} rows occur twice, such as '{twice[0]}'"


def table_faults(table: Table, entity: NodeType | EdgeType) -> Iterator[str]:
    """Which rules of the format a table breaks, apart from its rows."""
    declared, found = _plain(table_schema(entity)), _plain(table.schema)
    if declared != found:
        differing = sorted({column[0] for column in set(declared) ^ set(found)}) or ["their order"]
        yield f"its columns differ from the schema in {', '.join(differing)}"
    if not table.handle.has_stable_row_ids:
        yield "its rows have no stable ids"
    if table.handle.data_storage_version != DATA_STORAGE_VERSION:
        yield f"its file format is {table.handle.data_storage_version}, not {DATA_STORAGE_VERSION}"


def fork_pin(objects: ObjectStore, key: TableKey, location: str, lineage: str) -> TablePin:
    """The version that a lineage was cut at: a place to open it when no snapshot names it."""
    path = layout.branch_ref(location, lineage)
    found = objects.read(path)
    try:
        version = int(json.loads(found.data)["parentVersion"]) if found is not None else 0
    except (ValueError, KeyError, TypeError) as error:
        raise Corrupt(path, f"not a branch ref: {error}") from error
    return TablePin(key, location, version, lineage, 0)


def _plain(schema: pa.Schema) -> list[tuple[str, str, bool]]:
    """Names, types and nullability; a blob column is shown as the engine's own type."""
    return [(field.name, "blob" if _is_blob(field) else str(field.type), field.nullable) for field in schema]


def _is_blob(field: pa.Field) -> bool:
    return "blob" in str(field.type) or (field.metadata or {}).get(b"ARROW:extension:name") == b"lance.blob.v2"
