"""Canaries for changes of columns: what the library does not document and an upgrade may change."""

from __future__ import annotations

import json
import os
from pathlib import Path

import lance
import numpy as np
import pyarrow as pa
from lance import FragmentMetadata, LanceDataset, LanceOperation, Transaction
from lance.schema import LanceSchema

from omnigraph.storage.lance import numbered_paths, renumbered_schema
from omnigraph.storage.tables import written_row_versions

BLOB = pa.struct([pa.field("data", pa.large_binary()), pa.field("uri", pa.string())])


def dataset(path: Path) -> lance.LanceDataset:
    rows = pa.table({"id": ["1", "2", "3"], "b": pa.array([1, None, 3], pa.int32()), "d": ["x", "y", "z"]})
    lance.write_dataset(rows.slice(0, 2), path, enable_stable_row_ids=True, data_storage_version="2.2")
    made = lance.write_dataset(rows.slice(2), path, mode="append")
    made.create_scalar_index("b", "BTREE")
    made.delete("id = '2'")
    return lance.dataset(path)


def test_a_schema_pickles_as_one_message_for_each_field_and_is_made_of_them_again(tmp_path: Path) -> None:
    schema = dataset(tmp_path / "t").lance_schema
    make, (metadata, *messages) = schema.__reduce__()
    assert make(metadata, *messages).to_pyarrow() == schema.to_pyarrow()
    assert len(messages) == len(list(numbered_paths(schema.fields())))
    assert LanceSchema._from_protos(metadata, *messages).to_pyarrow() == schema.to_pyarrow()


def test_a_projection_renames_reorders_adds_and_requires_columns_without_a_file(tmp_path: Path) -> None:
    before = dataset(tmp_path / "t")
    files = set(os.listdir(tmp_path / "t" / "data"))
    blob = pa.field("blob", BLOB, metadata={"ARROW:extension:name": "lance.blob.v2"})
    target = pa.schema(
        [
            pa.field("id", pa.string()),
            pa.field("a", pa.list_(pa.field("item", pa.int32()))),
            pa.field("b2", pa.int32()),
            blob,
            pa.field("e", pa.string(), nullable=False),
            pa.field("v", pa.list_(pa.field("item", pa.float32()), 3)),
        ]
    )
    schema = renumbered_schema(before, target, {"id": "id", "b2": "b", "e": "d"})
    transaction = Transaction(before.version, LanceOperation.Project(schema))
    after = LanceDataset.commit(before, transaction, max_retries=0)
    assert after.schema.names == target.names
    assert set(os.listdir(tmp_path / "t" / "data")) == files
    assert after.to_table(columns=["id", "a", "b2", "e", "v"]).to_pylist() == [
        {"id": "1", "a": None, "b2": 1, "e": "x", "v": None},
        {"id": "3", "a": None, "b2": 3, "e": "z", "v": None},
    ]
    assert [index.field_names for index in after.describe_indices()] == [["b2"]], "the index follows its column"
    assert after.to_table(filter="b2 = 3", columns=["id"]).to_pylist() == [{"id": "3"}]
    assert before.to_table(columns=["_rowid"])["_rowid"] == after.to_table(columns=["_rowid"])["_rowid"]


def test_a_file_of_new_columns_joins_a_fragment_and_its_rows_count_as_updated(tmp_path: Path) -> None:
    before = dataset(tmp_path / "t")
    target = pa.schema([pa.field("id", pa.string()), pa.field("b", pa.int64()), pa.field("d", pa.string())])
    schema = renumbered_schema(before, target, {"id": "id", "d": "d"})
    number = dict(numbered_paths(schema.fields()))["/b"]
    assert number == before.max_field_id + 1
    fragments = []
    for fragment in before.get_fragments():
        wide = pa.schema([pa.field("wide", pa.int64())])
        written, _ = fragment.merge_columns(
            lambda batch, wide=wide: pa.record_batch([batch.column("b").cast(pa.int64())], schema=wide), columns=["b"]
        )
        fresh = written.to_json()["files"][-1] | {"fields": [number]}
        own = before.get_fragment(written.id).metadata.to_json()
        own["files"].append(fresh)
        own["last_updated_at_version_meta"] = {
            "inline": list(written_row_versions(np.full(own["physical_rows"], before.version + 1)))
        }
        fragments.append(FragmentMetadata.from_json(json.dumps(own)))
    operation = LanceOperation.Merge(fragments, schema)
    LanceDataset.commit(before, Transaction(before.version, operation), max_retries=0)
    after = lance.dataset(tmp_path / "t")
    columns = ["id", "b", "_row_last_updated_at_version", "_row_created_at_version"]
    assert after.schema.field("b").type == pa.int64()
    assert [tuple(row.values()) for row in after.to_table(columns=columns).to_pylist()] == [
        ("1", 1, before.version + 1, 1),
        ("3", 3, before.version + 1, 2),
    ]
    assert after.describe_indices() == [], "the index of a column under another number is gone"
