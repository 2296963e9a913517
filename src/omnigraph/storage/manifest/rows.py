"""The rows of `__manifest`: one frozen value per row kind, and the codec to and from Arrow.

A row on disk never changes in meaning, so it cannot change here. `encode` and `decode` are inverse to each other for
every row that OmniGraph writes; unknown row kinds are skipped on read and never written.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field
from typing import Any

import pyarrow as pa

from omnigraph.model.errors import Corrupt, Json
from omnigraph.model.format_version import INTERNAL_SCHEMA_VERSION
from omnigraph.model.identifiers import MAIN
from omnigraph.model.late_dataclass import dataclass
from omnigraph.storage import layout

STAMP_KEY = "omnigraph:internal_schema_version"
PRIMARY_KEY_MARK = {"lance-schema:unenforced-primary-key": "true"}

MANIFEST_SCHEMA = pa.schema(
    [
        # The mark makes Lance record inserted keys, so two publishes of one object_id conflict instead of both landing.
        pa.field("object_id", pa.string(), nullable=False, metadata=PRIMARY_KEY_MARK),
        pa.field("object_type", pa.string(), nullable=False),
        pa.field("location", pa.string()),
        pa.field("metadata", pa.string()),
        pa.field("base_objects", pa.list_(pa.field("item", pa.string()))),
        pa.field("table_key", pa.string(), nullable=False),
        pa.field("table_version", pa.uint64()),
        pa.field("table_branch", pa.string()),
        pa.field("row_count", pa.uint64()),
    ],
    metadata={STAMP_KEY: str(INTERNAL_SCHEMA_VERSION)},
)
READ_COLUMNS = [name for name in MANIFEST_SCHEMA.names if name != "base_objects"]
HEAD_PREFIX = "graph_head:"


@dataclass(frozen=True, slots=True, kw_only=True)
class TableRegistration:
    """`table`: this type has a table at this place."""

    table_key: str
    location: str

    @property
    def object_id(self) -> str:
        return self.table_key


@dataclass(frozen=True, slots=True, kw_only=True)
class TableVersion:
    """`table_version`: this version of a table is published."""

    table_key: str
    table_version: int
    table_branch: str | None  # the lineage that holds the bytes; None is the base lineage
    row_count: int
    manifest_path: str
    manifest_size: int | None = None
    e_tag: str | None = None
    naming_scheme: str | None = "V2"

    @property
    def object_id(self) -> str:
        return f"{self.table_key}${self.table_version:020d}"


@dataclass(frozen=True, slots=True, kw_only=True)
class TableTombstone:
    """`table_tombstone`: versions up to this number are hidden."""

    table_key: str
    table_version: int

    @property
    def object_id(self) -> str:
        return f"{self.table_key}$tombstone${self.table_version:020d}"


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphCommit:
    """`graph_commit`: one commit of the whole graph."""

    commit_id: str
    branch: str | None  # the graph branch it was published on; None is main
    version: int  # the version of __manifest that it was published as
    parent_id: str | None
    merged_parent_id: str | None
    actor_id: str | None
    created_at: int  # microseconds since the epoch
    py: Mapping[str, Json] = field(default_factory=dict, hash=False)  # what this implementation adds

    @property
    def object_id(self) -> str:
        return self.commit_id

    @property
    def order(self) -> tuple[int, int, str]:
        """Later commits of one branch are greater."""
        return (self.version, self.created_at, self.commit_id)


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphHead:
    """`graph_head`: the head of a branch; rewritten by every publish, so any two publishes collide here."""

    branch: str
    head_commit_id: str
    parent_commit_id: str | None
    extra: Mapping[str, Json] = field(default_factory=dict, hash=False)  # unknown members, kept when rewritten

    @property
    def object_id(self) -> str:
        return HEAD_PREFIX + self.branch


ManifestRow = TableRegistration | TableVersion | TableTombstone | GraphCommit | GraphHead


# --- encoding ---------------------------------------------------------------------------------------------


def encode(rows: Iterable[ManifestRow]) -> pa.Table:
    """The rows as one Arrow table of exactly the manifest's schema."""
    return pa.Table.from_pylist([_record(row) for row in rows], schema=MANIFEST_SCHEMA)


def _record(row: ManifestRow) -> dict[str, Any]:
    record: dict[str, Any] = dict.fromkeys(MANIFEST_SCHEMA.names)
    record |= {"object_id": row.object_id, "table_key": ""}
    match row:
        case TableRegistration():
            record |= {"object_type": "table", "location": row.location, "table_key": row.table_key}
        case TableVersion():
            record |= {
                "object_type": "table_version",
                "metadata": _compact(_version_metadata(row)),
                "table_key": row.table_key,
                "table_version": row.table_version,
                "table_branch": row.table_branch,
                "row_count": row.row_count,
            }
        case TableTombstone():
            record |= {
                "object_type": "table_tombstone",
                "table_key": row.table_key,
                "table_version": row.table_version,
            }
        case GraphCommit():
            record |= {
                "object_type": "graph_commit",
                "metadata": _compact(_commit_metadata(row)),
                "table_version": row.version,
                "table_branch": row.branch,
            }
        case GraphHead():
            record |= {"object_type": "graph_head", "metadata": _compact(_head_metadata(row))}
    return record


def _version_metadata(row: TableVersion) -> dict[str, Json]:
    return {
        "manifest_path": row.manifest_path,
        "manifest_size": row.manifest_size,
        "e_tag": row.e_tag,
        "naming_scheme": row.naming_scheme,
    }


def _commit_metadata(row: GraphCommit) -> dict[str, Json]:
    members: dict[str, Json] = {
        "parent_commit_id": row.parent_id,
        "merged_parent_commit_id": row.merged_parent_id,
        "actor_id": row.actor_id,
        "created_at": row.created_at,
        "py": dict(row.py) or None,
    }
    return {name: value for name, value in members.items() if value is not None}


def _head_metadata(row: GraphHead) -> dict[str, Json]:
    members: dict[str, Json] = {"head_commit_id": row.head_commit_id, "parent_commit_id": row.parent_commit_id}
    return {name: value for name, value in members.items() if value is not None} | dict(row.extra)


def _compact(members: dict[str, Json]) -> str:
    return json.dumps(members, separators=(",", ":"), ensure_ascii=False)


# --- decoding ---------------------------------------------------------------------------------------------


def decode(table: pa.Table) -> Iterator[ManifestRow]:
    """The rows of an Arrow table with at least the columns of `READ_COLUMNS`."""
    columns = [table[name].to_pylist() for name in READ_COLUMNS]
    for values in zip(*columns, strict=True):
        row = _row_of(dict(zip(READ_COLUMNS, values, strict=True)))
        if row is not None:
            yield row


def _row_of(record: dict[str, Any]) -> ManifestRow | None:
    match record["object_type"]:
        case "table":
            return TableRegistration(table_key=record["table_key"], location=_need(record, "location"))
        case "table_version":
            return _version_of(record)
        case "table_tombstone":
            return TableTombstone(table_key=record["table_key"], table_version=_need(record, "table_version"))
        case "graph_commit":
            return _commit_of(record)
        case "graph_head":
            return _head_of(record)
        case _:
            return None


def _version_of(record: dict[str, Any]) -> TableVersion:
    metadata = _members(record)
    return TableVersion(
        table_key=record["table_key"],
        table_version=_need(record, "table_version"),
        table_branch=record["table_branch"],
        row_count=_need(record, "row_count"),
        manifest_path=str(metadata.get("manifest_path", "")),
        manifest_size=metadata.get("manifest_size"),
        e_tag=metadata.get("e_tag"),
        naming_scheme=metadata.get("naming_scheme"),
    )


def _commit_of(record: dict[str, Any]) -> GraphCommit:
    metadata = _members(record)
    created_at = metadata.get("created_at")
    if not isinstance(created_at, int):
        raise Corrupt(layout.MANIFEST, f"graph commit {record['object_id']} has no created_at")
    return GraphCommit(
        commit_id=record["object_id"],
        branch=record["table_branch"],
        version=_need(record, "table_version"),
        parent_id=metadata.get("parent_commit_id"),
        merged_parent_id=metadata.get("merged_parent_commit_id"),
        actor_id=metadata.get("actor_id"),
        created_at=created_at,
        py=metadata.get("py") or {},
    )


def _head_of(record: dict[str, Any]) -> GraphHead:
    metadata = _members(record)
    head = metadata.pop("head_commit_id", None)
    if not isinstance(head, str):
        raise Corrupt(layout.MANIFEST, f"{record['object_id']} has no head_commit_id")
    parent = metadata.pop("parent_commit_id", None)
    branch = record["object_id"].removeprefix(HEAD_PREFIX) or MAIN
    return GraphHead(branch=branch, head_commit_id=head, parent_commit_id=parent, extra=metadata)


def _members(record: dict[str, Any]) -> dict[str, Any]:
    text = _need(record, "metadata")
    try:
        members = json.loads(text)
    except ValueError as error:
        raise Corrupt(layout.MANIFEST, f"metadata of {record['object_id']} is not JSON") from error
    if not isinstance(members, dict):
        raise Corrupt(layout.MANIFEST, f"metadata of {record['object_id']} is not an object")
    return members


def _need(record: dict[str, Any], column: str) -> Any:
    value = record[column]
    if value is None:
        raise Corrupt(layout.MANIFEST, f"row {record['object_id']!r} has no {column}")
    return value
