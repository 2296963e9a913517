"""The rows of `__manifest`: exact forms, and decode(encode(x)) == x."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from omnigraph.model.errors import Corrupt
from omnigraph.storage.manifest.rows import (
    MANIFEST_SCHEMA,
    GraphCommit,
    GraphHead,
    ManifestRow,
    TableRegistration,
    TableTombstone,
    TableVersion,
    decode,
    encode,
)

VERSION = TableVersion(
    table_key="node:Person", table_version=7, table_branch=None, row_count=3, manifest_path="data/g/x.manifest"
)


def test_the_schema_is_the_formats_field_for_field() -> None:
    expected = [
        ("object_id", pa.string(), False),
        ("object_type", pa.string(), False),
        ("location", pa.string(), True),
        ("metadata", pa.string(), True),
        ("base_objects", pa.list_(pa.field("item", pa.string())), True),
        ("table_key", pa.string(), False),
        ("table_version", pa.uint64(), True),
        ("table_branch", pa.string(), True),
        ("row_count", pa.uint64(), True),
    ]
    assert [(field.name, field.type, field.nullable) for field in MANIFEST_SCHEMA] == expected
    assert MANIFEST_SCHEMA.field("object_id").metadata == {b"lance-schema:unenforced-primary-key": b"true"}
    assert MANIFEST_SCHEMA.metadata == {b"omnigraph:internal_schema_version": b"4"}


def test_object_ids_have_the_golden_forms() -> None:
    assert VERSION.object_id == "node:Person$00000000000000000007"
    tombstone = TableTombstone(table_key="node:Person", table_version=8)
    assert tombstone.object_id == "node:Person$tombstone$00000000000000000008"
    assert GraphHead(branch="main", head_commit_id="c", parent_commit_id=None).object_id == "graph_head:main"


def test_metadata_is_compact_json_in_the_formats_key_order() -> None:
    commit = GraphCommit(
        commit_id="01JZ",
        branch=None,
        version=4,
        parent_id="01JY",
        merged_parent_id="01JX",
        actor_id="act-alice",
        created_at=1751200000123456,
        py={"kind": "load"},
    )
    texts = encode([VERSION, commit, GraphHead(branch="b", head_commit_id="h", parent_commit_id="p")])["metadata"]
    assert texts.to_pylist() == [
        '{"manifest_path":"data/g/x.manifest","manifest_size":null,"e_tag":null,"naming_scheme":"V2"}',
        (
            '{"parent_commit_id":"01JY","merged_parent_commit_id":"01JX","actor_id":"act-alice",'
            '"created_at":1751200000123456,"py":{"kind":"load"}}'
        ),
        '{"head_commit_id":"h","parent_commit_id":"p"}',
    ]


def test_absent_members_are_omitted_and_the_table_key_of_a_commit_is_empty_not_null() -> None:
    genesis = GraphCommit(
        commit_id="g", branch=None, version=1, parent_id=None, merged_parent_id=None, actor_id=None, created_at=5
    )
    record = encode([genesis]).to_pylist()[0]
    assert record["metadata"] == '{"created_at":5}'
    assert record["table_key"] == ""
    assert record["base_objects"] is None


def test_unknown_members_of_a_head_survive_a_rewrite() -> None:
    table = encode([GraphHead(branch="main", head_commit_id="h", parent_commit_id=None)])
    text = '{"head_commit_id":"h","future":{"x":1}}'
    table = table.set_column(3, MANIFEST_SCHEMA.field("metadata"), pa.array([text]))
    (head,) = decode(table)
    assert encode([head])["metadata"].to_pylist() == [text]


def test_unknown_row_kinds_are_skipped() -> None:
    table = encode([VERSION])
    table = table.set_column(1, MANIFEST_SCHEMA.field("object_type"), pa.array(["from_the_future"]))
    assert list(decode(table)) == []


@pytest.mark.parametrize(
    ("row", "column"),
    [
        (VERSION, "table_version"),
        (VERSION, "row_count"),
        (VERSION, "metadata"),
        (TableRegistration(table_key="node:P", location="nodes/x"), "location"),
        (TableTombstone(table_key="node:P", table_version=1), "table_version"),
    ],
    ids=lambda value: value if isinstance(value, str) else type(value).__name__,
)
def test_a_missing_required_value_is_corruption(row: ManifestRow, column: str) -> None:
    table = encode([row])
    index = MANIFEST_SCHEMA.get_field_index(column)
    field = MANIFEST_SCHEMA.field(column)
    table = table.set_column(index, field, pa.nulls(1, field.type))
    with pytest.raises(Corrupt) as found:
        list(decode(table))
    assert row.object_id in str(found.value)


_TEXT = st.text(st.characters(exclude_categories=("Cs",)), min_size=1, max_size=20)
_NUMBER = st.integers(0, 2**63)
_MAYBE = st.none() | _TEXT
_KEYS = st.builds("{}:{}".format, st.sampled_from(["node", "edge"]), _TEXT)
_ROWS = st.one_of(
    st.builds(TableRegistration, table_key=_KEYS, location=_TEXT),
    st.builds(
        TableVersion,
        table_key=_KEYS,
        table_version=_NUMBER,
        table_branch=_MAYBE,
        row_count=_NUMBER,
        manifest_path=_TEXT,
        manifest_size=st.none() | _NUMBER,
        e_tag=_MAYBE,
        naming_scheme=st.sampled_from(["V1", "V2", None]),
    ),
    st.builds(TableTombstone, table_key=_KEYS, table_version=_NUMBER),
    st.builds(
        GraphCommit,
        commit_id=_TEXT,
        branch=_MAYBE,
        version=_NUMBER,
        parent_id=_MAYBE,
        merged_parent_id=_MAYBE,
        actor_id=_MAYBE,
        created_at=_NUMBER,
        py=st.dictionaries(_TEXT, _NUMBER | _TEXT | st.booleans(), max_size=3),
    ),
    st.builds(GraphHead, branch=_TEXT, head_commit_id=_TEXT, parent_commit_id=_MAYBE),
)


@given(st.lists(_ROWS, max_size=8))
def test_decoding_gives_back_what_was_encoded(rows: list[ManifestRow]) -> None:
    assert list(decode(encode(rows))) == rows
