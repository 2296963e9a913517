"""Arrow types: the schema of a table from the catalog, for every property type, as it comes back from disk."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from omnigraph.graph import Graph
from omnigraph.language.schema import compile_schema
from omnigraph.model.identifiers import TableKey
from omnigraph.model.types import PropType, Scalar
from omnigraph.storage import open_storage
from omnigraph.storage.manifest import TablePin
from omnigraph.storage.tables import stage_append
from omnigraph.storage.tables.columns import BLOB_MARK, BLOB_TYPE, arrow_field, arrow_type, table_schema

SCALARS = {
    Scalar.STRING: pa.string(),
    Scalar.BOOL: pa.bool_(),
    Scalar.I32: pa.int32(),
    Scalar.I64: pa.int64(),
    Scalar.U32: pa.uint32(),
    Scalar.U64: pa.uint64(),
    Scalar.F32: pa.float32(),
    Scalar.F64: pa.float64(),
    Scalar.DATE: pa.date32(),
    Scalar.DATETIME: pa.date64(),
}

EVERYTHING = """
interface Named { name: String }
node Doc implements Named {
    slug: String @key
    flag: Bool
    small: I32?
    large: I64
    count: U32?
    total: U64
    ratio: F32?
    score: F64
    day: Date?
    at: DateTime
    kind: enum(article, book)
    tags: [String]?
    days: [Date]
    file: Blob?
    scan: Blob
    vec: Vector(3)
    maybe: Vector(2)?
    at_x: I32?
    atZ: I32?
}
edge Cites: Doc -> Doc { weight: F32?  at: DateTime? }
"""


@pytest.mark.parametrize("scalar", SCALARS, ids=lambda scalar: scalar.value)
def test_every_scalar_and_its_list_has_the_type_of_the_format(scalar: Scalar) -> None:
    assert arrow_type(PropType(scalar)) == SCALARS[scalar]
    listed = arrow_type(PropType(scalar, is_list=True))
    assert listed == pa.list_(pa.field("item", SCALARS[scalar], nullable=True))


def test_every_scalar_of_the_language_has_a_type() -> None:
    assert SCALARS.keys() | {Scalar.BLOB, Scalar.VECTOR} == set(Scalar)


def test_an_enum_is_text() -> None:
    assert arrow_type(PropType(Scalar.STRING, enum_values=("a", "b"))) == pa.string()


def test_a_vector_is_a_fixed_size_list_of_nullable_items() -> None:
    vector = arrow_type(PropType(Scalar.VECTOR, dimension=3))
    assert vector.list_size == 3
    assert vector.value_field == pa.field("item", pa.float32(), nullable=True)


def test_a_blob_is_a_marked_struct_of_exactly_two_children() -> None:
    field = arrow_field("b", PropType(Scalar.BLOB, nullable=True))
    assert [(child.name, child.type, child.nullable) for child in field.type] == [
        ("data", pa.large_binary(), True),
        ("uri", pa.string(), True),
    ]
    assert field.metadata == {b"ARROW:extension:name": b"lance.blob.v2"}


@pytest.mark.parametrize("nullable", [True, False])
def test_a_question_mark_makes_a_field_nullable(nullable: bool) -> None:
    for scalar in SCALARS:
        assert arrow_field("x", PropType(scalar, nullable=nullable)).nullable is nullable


def test_nothing_but_blobs_carries_metadata() -> None:
    catalog = compile_schema(EVERYTHING).catalog
    for entity in catalog.entities:
        schema = table_schema(entity)
        assert schema.metadata is None
        assert {field.name for field in schema if field.metadata} <= {"file", "scan"}


def test_columns_are_the_fixed_ones_then_properties_in_byte_order() -> None:
    catalog = compile_schema(EVERYTHING).catalog
    doc, cites = catalog.table(TableKey("node", "Doc")), catalog.table(TableKey("edge", "Cites"))
    assert doc is not None
    assert cites is not None
    names = table_schema(doc).names
    assert names[:4] == ["id", "at", "atZ", "at_x"], "capital letters sort before the underscore"
    assert names[1:] == sorted(names[1:], key=str.encode)
    assert "name" in names, "properties of interfaces are columns"
    assert table_schema(cites).names == ["id", "src", "dst", "at", "weight"]
    for name in ("id", "src", "dst"):
        assert table_schema(cites).field(name).equals(pa.field(name, pa.string(), nullable=False))


def test_a_created_table_comes_back_with_the_same_schema_and_takes_a_row_of_every_type(tmp_path: Path) -> None:
    Graph.init(str(tmp_path / "g"), EVERYTHING, durability="os")
    storage = open_storage(str(tmp_path / "g"), durability="os")
    key = TableKey("node", "Doc")
    entity = compile_schema(EVERYTHING).catalog.table(key)
    assert entity is not None
    schema = table_schema(entity)
    table = storage.tables.open(TablePin(key, key.location, 1, None, 0))
    assert table.schema.names == schema.names
    for field in schema:
        stored = table.schema.field(field.name)
        assert stored.nullable == field.nullable
        if field.type != BLOB_TYPE:
            assert stored.equals(field)
    grown = storage.table_commits.commit(stage_append(table, _row(schema)))
    read = storage.tables.open(TablePin(key, key.location, grown.table_version, None, 1)).read().to_pylist()[0]
    assert read["total"] == 2**64 - 1
    assert read["days"] == _row(schema)["days"].to_pylist()[0]
    assert read["vec"] == [1.0, 2.0, 3.0]
    assert read["maybe"] is None
    assert read["file"] is None
    assert read["scan"]["size"] == 5


def _row(schema: pa.Schema) -> pa.Table:
    values = {
        "id": "d1",
        "slug": "d1",
        "name": "n",
        "flag": True,
        "large": -(2**63),
        "total": 2**64 - 1,
        "score": 0.5,
        "kind": "book",
        "vec": [1.0, 2.0, 3.0],
        "scan": {"data": b"bytes", "uri": None},
    }
    arrays = []
    for field in schema:
        if field.name == "at":
            arrays.append(pa.array([1_700_000_000_000], pa.int64()).cast(pa.date64()))
        elif field.name == "days":
            arrays.append(pa.array([[0, 19_000]], pa.list_(pa.int32())).cast(field.type))
        else:
            arrays.append(pa.array([values.get(field.name)], field.type))
    return pa.table(arrays, schema=schema)


def test_the_mark_is_what_lance_reads_as_its_blob_type(tmp_path: Path) -> None:
    assert BLOB_MARK == {"ARROW:extension:name": "lance.blob.v2"}
    Graph.init(str(tmp_path / "g"), EVERYTHING, durability="os")
    key = TableKey("node", "Doc")
    table = open_storage(str(tmp_path / "g")).tables.open(TablePin(key, key.location, 1, None, 0))
    assert "blob" in str(table.schema.field("file").type)
