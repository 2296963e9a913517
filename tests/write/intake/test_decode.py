"""Decoding: records of a type become rows of exactly its table, at column speed and with every reason."""

from __future__ import annotations

import hashlib
import json
import pickle
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from omnigraph.language.schema import compile_schema
from omnigraph.model.errors import InvalidValue
from omnigraph.model.identifiers import ulid_from
from omnigraph.model.types import PropType, Scalar
from omnigraph.model.values import canonical_text, coerce_json
from omnigraph.storage.tables.columns import table_schema
from omnigraph.write.intake.columns import to_column
from omnigraph.write.intake.decode import Decoded, decode, decode_plan
from omnigraph.write.intake.generated_ids import IdSource
from omnigraph.write.intake.records import RESERVED_NAMES, Record, RecordReader
from omnigraph.write.rules.canonical_text import canonical_column

CATALOG = compile_schema(
    """
node P { k: String @key  n: I32?  d: I32 @default(5)  s: enum(x, y)? }
node Q { t: String  b: Blob?  v: Vector(2)?  l: [Date]? }
node C { z: I32  a: String  m: DateTime?  @key(z, a) }
edge K: P -> P { w: F32? }
"""
).catalog
IDS = IdSource("load", "in.jsonl", 1_700_000_000_000)


def decoded(type_name: str, *members: dict[str, Any], patch: bool = False) -> Decoded:
    word = "type" if CATALOG.node(type_name) is not None else "edge"
    ends = {} if word == "type" else {"from": "a", "to": "b"}
    reader = RecordReader(CATALOG, "in.jsonl")
    records = []
    for number, data in enumerate(members):
        record = reader.parse_line(json.dumps({word: type_name, **ends, "data": data}), number + 1, number * 100)
        assert isinstance(record, Record)
        records.append(record)
    entity = CATALOG.node(type_name) or CATALOG.edge(type_name)
    assert entity is not None
    return decode(records, decode_plan(entity), IDS, patch=patch)


def said(result: Decoded) -> list[tuple[int | None, str, str | None]]:
    return [(each.line, each.rule, each.property) for each in result.violations]


def test_rows_have_exactly_the_columns_of_the_table() -> None:
    for type_name, data in (("P", {"k": "a"}), ("Q", {"t": "x"}), ("C", {"z": 1, "a": "A"}), ("K", {})):
        rows = decoded(type_name, data).rows
        entity = CATALOG.node(type_name) or CATALOG.edge(type_name)
        assert entity is not None
        assert rows.schema.equals(table_schema(entity), check_metadata=True)
        rows.validate()


def test_everything_that_is_wrong_with_a_record_is_said_and_the_others_are_kept() -> None:
    result = decoded("P", {"k": "a", "n": "7", "s": "z", "zz": 1}, {"k": "ok"}, {"n": 2**31}, {"k": None, "d": None})
    assert said(result) == [
        (1, "property", "zz"),
        (1, "type", "n"),
        (1, "enum", "s"),
        (3, "required", "k"),
        (3, "type", "n"),
        (4, "required", "d"),
        (4, "required", "k"),
    ]
    assert result.rows["id"].to_pylist() == ["ok"]
    assert result.lines.tolist() == [2]
    first = result.violations[1]
    assert (first.entity_id, first.value, first.file) == ("a", '"7"', "in.jsonl")


def test_a_default_fills_what_is_absent_and_not_what_is_null() -> None:
    result = decoded("P", {"k": "a"}, {"k": "b", "d": 9}, {"k": "c", "d": None})
    assert result.rows["d"].to_pylist() == [5, 9]
    assert said(result) == [(3, "required", "d")]


def test_missing_and_null_values_are_told_apart() -> None:
    missing, null = (decoded("Q", data).violations[0].message for data in ({}, {"t": None}))
    assert missing == "Q: missing value for non-nullable property 't'"
    assert null == "Q: null for non-nullable property 't'"


@pytest.mark.parametrize("name", sorted(RESERVED_NAMES))
def test_names_of_the_storage_engine_are_refused_in_data(name: str) -> None:
    [violation] = decoded("Q", {"t": "x", name: 1}).violations
    assert f"reserved name '{name}'" in violation.message


@pytest.mark.parametrize(("name", "word"), [("src", "from"), ("dst", "to")])
def test_endpoints_are_refused_in_the_data_of_an_edge(name: str, word: str) -> None:
    [violation] = decoded("K", {name: "a"}).violations
    assert f"as '{word}'" in violation.message


def test_a_composite_key_makes_an_array_of_its_members_in_byte_order() -> None:
    result = decoded("C", {"z": 7, "a": "A"}, {"z": -1, "a": 'é"'}, {"z": 1, "a": "A", "id": '["A","1"]'})
    assert result.rows["id"].to_pylist() == ['["A","7"]', '["é\\"","-1"]', '["A","1"]']
    assert not result.generated.any()


def test_generated_ids_come_from_the_load_and_the_place_of_the_record() -> None:
    result = decoded("Q", {"t": "x"}, {"t": "x", "id": "q"}, {"t": "x"})
    expected = [ulid_from(IDS.started_ms, hashlib.sha256(b"load\0in.jsonl\0%d" % at).digest()[:10]) for at in (0, 200)]
    assert result.rows["id"].to_pylist() == [expected[0], "q", expected[1]]
    assert result.generated.tolist() == [True, False, True]
    assert IdSource("other", "in.jsonl", IDS.started_ms).ids([0]).to_pylist() != expected[:1]
    assert IDS.ids([]).to_pylist() == []


def test_an_id_that_is_no_text_of_unicode_is_refused() -> None:
    assert said(decoded("Q", {"t": "x", "id": "\ud800"})) == [(1, "type", "id")]


def test_blobs_are_bytes_and_nothing_else() -> None:
    result = decoded(
        "Q", *({"t": "x", "b": blob} for blob in ("base64:eHl6", "base64:", None, "https://h/x", "base64:%", 7))
    )
    assert result.rows["b"].to_pylist() == [{"data": b"xyz", "uri": None}, {"data": b"", "uri": None}, None]
    assert [(line, rule) for line, rule, _ in said(result)] == [(4, "blob policy"), (5, "type"), (6, "type")]
    assert "blob policy" in result.violations[0].message


def test_a_patch_leaves_open_what_records_do_not_state_but_never_their_key() -> None:
    result = decoded("P", {"k": "a"}, {"k": "b", "d": 1, "n": None}, {"n": 1}, patch=True)
    assert {name: mask.tolist() for name, mask in result.absent.items()} == {
        "d": [True, False],
        "k": [False, False],
        "n": [True, False],
        "s": [True, True],
    }
    assert said(result) == [(3, "required", "k")]


def test_plans_and_results_travel_to_other_processes() -> None:
    plan = decode_plan(CATALOG.nodes[0])
    assert pickle.loads(pickle.dumps(plan)) == plan
    result = pickle.loads(pickle.dumps(decoded("P", {"k": "a"}, {})))
    assert result.rows["id"].to_pylist() == ["a"]
    assert len(result.violations) == 1


# --- columns against single values ------------------------------------------------------------------------

TYPES = [
    *(PropType(scalar, nullable=True) for scalar in Scalar if scalar not in (Scalar.BLOB, Scalar.VECTOR)),
    *(PropType(scalar, nullable=True, is_list=True) for scalar in (Scalar.STRING, Scalar.I64, Scalar.F32, Scalar.DATE)),
    PropType(Scalar.DATETIME, nullable=True, is_list=True),
    PropType(Scalar.VECTOR, nullable=True, dimension=2),
    PropType(Scalar.STRING, nullable=True, enum_values=("x", "y")),
]
DATES = st.one_of(
    st.dates().map(str),
    st.datetimes().map(lambda when: when.isoformat(timespec="milliseconds") + "Z"),
    st.datetimes().map(lambda when: when.isoformat(sep=" ", timespec="seconds") + "Z"),
    st.from_regex(r"[0-9]{4}-[0-9]{2}-[0-9]{2}(T[0-9]{2}:[0-9]{2}:[0-9]{2}Z)?", fullmatch=True),
)
SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**65), 2**65),
    st.integers(-5, 5),
    st.floats(allow_nan=False, allow_infinity=True),
    st.sampled_from(["", "x", "y", "é", "\ud800", "2026-01-02", "2026-1-2", "20260102", "2026-02-30", "0000-01-01"]),
    DATES,
)
VALUES = st.one_of(SCALARS, st.lists(SCALARS, max_size=3), st.lists(st.integers(0, 3), min_size=2, max_size=2))
COLUMNS = st.one_of(
    st.lists(VALUES, max_size=5),
    st.lists(st.one_of(st.none(), DATES), max_size=5),
    st.lists(st.one_of(st.none(), st.integers(-(2**31), 2**32)), max_size=5),
    st.lists(st.one_of(st.none(), st.floats(), st.integers()), max_size=5),
    st.lists(st.one_of(st.none(), st.lists(st.floats(-4, 4), min_size=2, max_size=2)), max_size=5),
    st.lists(st.one_of(st.none(), st.lists(DATES, max_size=3)), max_size=5),
)


@given(declared=st.sampled_from(TYPES), values=COLUMNS)
def test_a_column_is_what_its_values_are_one_by_one(declared: PropType, values: list[Any]) -> None:
    column, faults = to_column(values, declared, "T.p")
    stored = _numbers(column).to_pylist()
    for row, value in enumerate(values):
        expected, reason = _single(value, declared)
        assert (str(faults[row]) if row in faults else None) == reason
        assert str(stored[row]) == str(expected)  # as text: -0.0 is not 0.0, and 1 is not True


def _single(value: Any, declared: PropType) -> tuple[Any, str | None]:
    try:
        stored = coerce_json(value, declared, "T.p")
    except InvalidValue as error:
        return None, str(error)
    return (list(stored) if isinstance(stored, tuple) else stored), None


@given(
    declared=st.sampled_from([each for each in TYPES if not each.is_list and not each.is_vector]),
    values=COLUMNS,
)
def test_texts_of_a_column_are_the_texts_of_its_values(declared: PropType, values: list[Any]) -> None:
    column, _ = to_column(values, declared, "T.p")
    texts = canonical_column(column).to_pylist()
    assert texts == [None if v is None else canonical_text(v, declared) for v in _numbers(column).to_pylist()]


def _numbers(column: pa.Array) -> pa.Array:
    """Dates as the numbers that are stored."""
    kind = column.type
    if pa.types.is_list(kind) and pa.types.is_date(kind.value_type):
        return pa.ListArray.from_arrays(column.offsets, _numbers(column.values), mask=column.is_null())
    if pa.types.is_date32(kind):
        return column.view(pa.int32())
    return column.view(pa.int64()) if pa.types.is_date64(kind) else column
