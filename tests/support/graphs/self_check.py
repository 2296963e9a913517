"""The self-check of a writer: every rule of the storage format that can be read off a graph on a local disk."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import lance

from omnigraph.language.schema import compile_schema, schema_ir_from_json, schema_ir_hash
from omnigraph.storage import open_storage
from omnigraph.storage.manifest import GraphCommit
from omnigraph.storage.manifest.rows import MANIFEST_SCHEMA
from omnigraph.storage.manifest.state import ManifestState


def check_layout(uri: str) -> None:
    """Raises AssertionError with the rule that a graph breaks."""
    storage = open_storage(uri, read_only=True)
    _check_root(uri)
    _check_schema_files(uri)
    for branch in storage.manifest.branches():
        loaded = storage.manifest.load(branch)
        _check_manifest(loaded.handle)
        _check_chain(loaded.state, branch)
        for pin in loaded.state.pins():
            table = storage.tables.open(pin)
            assert table.count() == pin.row_count, f"row count of {pin}"
            assert table.handle.has_stable_row_ids, f"stable row ids of {pin}"
            assert table.handle.data_storage_version == "2.2", f"file format of {pin}"
            assert pin.lineage is None or branch != "main" or pin.lineage != branch, f"main never forks: {pin}"
            _check_columns(table.schema.names, pin.table_key.kind)


def _check_root(uri: str) -> None:
    names = set(os.listdir(uri))
    assert {"__manifest", "_schema.pg", "_schema.ir.json", "__schema_state.json"} <= names
    assert not any(name.endswith(".staging") for name in names)
    assert "__init_claim.json" not in names
    recovery = os.path.join(uri, "__recovery")
    assert not os.path.isdir(recovery) or os.listdir(recovery) == []


def _check_schema_files(uri: str) -> None:
    source, ir, state = (
        Path(uri, name).read_text(encoding="utf-8") for name in ("_schema.pg", "_schema.ir.json", "__schema_state.json")
    )
    recorded = json.loads(state)["schema_ir_hash"]
    assert schema_ir_hash(schema_ir_from_json(ir)) == recorded
    assert compile_schema(source, strict=False).ir_hash == recorded


def _check_manifest(handle: Any) -> None:
    dataset: lance.LanceDataset = handle
    assert dataset.schema.equals(MANIFEST_SCHEMA), "the manifest's fields"
    assert dataset.schema.field("object_id").metadata == MANIFEST_SCHEMA.field("object_id").metadata, "the key mark"
    assert (dataset.schema.metadata or {}).get(b"omnigraph:internal_schema_version") == b"4", "the stamp"
    assert dataset.describe_indices() == [], "no index on the manifest"
    ids = dataset.to_table(columns=["object_id"])["object_id"].to_pylist()
    assert len(ids) == len(set(ids)), "every object_id once"


def _check_chain(state: ManifestState, branch: str) -> None:
    """One chain by first parents, from the head to the genesis, through every commit of the branch; versions grow."""
    commits, walked = state.commits, []
    current: GraphCommit | None = state.head
    while current is not None:
        walked.append(current)
        current = commits[current.parent_id] if current.parent_id is not None else None
    assert len(walked) == len(commits), "a single chain"
    versions = [commit.version for commit in walked]
    assert versions == sorted(set(versions), reverse=True), "versions strictly increase"
    own = [commit for commit in walked if (commit.branch or "main") == branch]
    if own:
        assert state.heads[branch].head_commit_id == own[0].commit_id == walked[0].commit_id, "the head row"


def _check_columns(names: list[str], kind: str) -> None:
    fixed = ["id"] if kind == "node" else ["id", "src", "dst"]
    assert names[: len(fixed)] == fixed, "the fixed columns come first"
    rest = names[len(fixed) :]
    assert rest == sorted(rest, key=str.encode), "properties in byte order"
