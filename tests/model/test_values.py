"""Values: dates, key texts, JSON out and in; and the rows of table D that are about single values."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from language.schema.tables import all_ids
from omnigraph.model.errors import InvalidValue
from omnigraph.model.types import PropType, Scalar
from omnigraph.model.values import (
    canonical_text,
    coerce_json,
    coerce_text,
    format_date,
    format_datetime,
    json_value,
    node_id,
    parse_date,
    parse_datetime,
    to_single,
)

S, B, I32, I64, U32, U64 = (PropType(Scalar(name)) for name in ("String", "Bool", "I32", "I64", "U32", "U64"))
F32, F64, DATE, DATETIME, BLOB = (PropType(Scalar(name)) for name in ("F32", "F64", "Date", "DateTime", "Blob"))
VECTOR3 = PropType(Scalar.VECTOR, dimension=3)
INTS = PropType(Scalar.I32, is_list=True)
ENUM = PropType(Scalar.STRING, enum_values=("x", "y"))


def optional(type_: PropType) -> PropType:
    return PropType(type_.scalar, True, type_.is_list, type_.dimension, type_.enum_values)


# --- dates ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "days"),
    [
        ("2026-01-02", 20455),
        ("1970-01-01", 0),
        ("1969-12-31", -1),
        ("2026-1-2", 20455),
        ("20260102", 20455),
        ("2026-01-02T23:59:59Z", 20455),
        ("2026-01-02T23:30:00-01:00", 20456),
        ("2026-01-02 00:30:00+01:00", 20454),
        ("0001-01-01", -719162),
        ("9999-12-31", 2932896),
        ("2000-02-29", 11016),
    ],
)
def test_a_date_has_these_spellings(text: str, days: int) -> None:
    assert parse_date(text) == days


@pytest.mark.parametrize(
    ("text", "ms"),
    [
        ("2026-01-02T03:04:05.678Z", 1767323045678),
        ("2026-01-02T03:04:05.6789Z", 1767323045678),
        ("2026-01-02T03:04:05", 1767323045000),
        ("2026-01-02 03:04:05", 1767323045000),
        ("2026-01-02T04:04:05.678+01:00", 1767323045678),
        ("2026-01-02T04:04:05.678+0100", 1767323045678),
        ("2026-01-02", 1767312000000),
        ("1969-12-31T23:59:59.999Z", -1),
        ("2026-01-02T03:04Z", 1767323040000),
    ],
)
def test_a_datetime_has_these_spellings(text: str, ms: int) -> None:
    assert parse_datetime(text) == ms


@pytest.mark.parametrize(
    "text",
    [
        "",
        "soon",
        "2026-13-01",
        "2026-02-29",
        "1900-02-29",
        "2026-00-10",
        "2026-01-02T24:00:00",
        "2026-01-02T03",
        "26-1-2",
        "2026-01-02T03:04:05+24:00",
        "2026-01-02T03:04:60",
        "2026/01/02",
        "٢٠٢٦-01-02",
        "2026-01-02x",
        "0000-12-31",
        "0001-01-01T00:00:00+00:01",
        "9999-12-31T23:59:59-00:01",
    ],
)
def test_anything_else_is_refused_by_name(text: str) -> None:
    with pytest.raises(InvalidValue, match="invalid date") as caught:
        parse_datetime(text)
    assert text in caught.value.value


@given(st.integers(-719162, 2932896))
def test_dates_survive_the_round_trip(days: int) -> None:
    assert parse_date(format_date(days)) == days


@given(st.integers(-719162 * 86_400_000, 2932897 * 86_400_000 - 1))
def test_datetimes_survive_the_round_trip(ms: int) -> None:
    assert parse_datetime(format_datetime(ms)) == ms


def test_dates_beyond_four_digits_of_year_are_plain_numbers() -> None:
    assert format_date(2932897) == "2932897"
    assert format_date(-719163) == "-719163"
    assert json_value(2932897, DATE) == 2932897
    assert json_value(-(2**63), DATETIME) == -(2**63)


# --- key texts --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "type_", "text"),
    [
        ("Ada", S, "Ada"),
        (True, B, "true"),
        (False, B, "false"),
        (-7, I32, "-7"),
        (2**64 - 1, U64, "18446744073709551615"),
        (20455, DATE, "20455"),
        (1767323045678, DATETIME, "1767323045678"),
        (1.0, F64, "1"),
        (-0.0, F64, "0"),
        (1e21, F64, "1000000000000000000000"),
        (1e-7, F64, "0.0000001"),
        (to_single(0.1), F32, "0.1"),
        (to_single(0.1), F64, "0.10000000149011612"),
        (to_single(16777216.0), F32, "16777216"),
        (1.5, F64, "1.5"),
        (to_single(3.4028234e38), F32, "340282350000000000000000000000000000000"),
        (100.0, F64, "100"),
    ],
)
def test_key_text(value: Any, type_: PropType, text: str) -> None:
    assert canonical_text(value, type_) == text


@given(st.floats(width=32, allow_nan=False, allow_infinity=False))
def test_key_text_of_a_single_reads_back_at_its_width(value: float) -> None:
    assert to_single(float(canonical_text(value, F32))) == value


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_key_text_of_a_double_reads_back_and_has_no_exponent(value: float) -> None:
    text = canonical_text(value, F64)
    assert float(text) == value
    assert "e" not in text


@pytest.mark.parametrize(("value", "type_"), [(math.nan, F64), (math.inf, F32), (None, S), ((1,), INTS), ("x", BLOB)])
def test_values_that_cannot_be_keys_are_refused(value: Any, type_: PropType) -> None:
    with pytest.raises(InvalidValue):
        canonical_text(value, type_)


def test_a_composite_id_is_a_compact_json_array() -> None:
    assert node_id(["Ada"]) == "Ada"
    assert node_id(["é", 'a"b\n', "7"]) == '["é","a\\"b\\n","7"]'


# --- JSON out ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "type_", "shown"),
    [
        (None, optional(S), None),
        ("x", S, "x"),
        (True, B, True),
        (to_single(0.1), F32, 0.10000000149011612),
        (math.nan, F64, "NaN"),
        (math.inf, F64, "Infinity"),
        (-math.inf, F32, "-Infinity"),
        (20455, DATE, "2026-01-02"),
        (1767323045678, DATETIME, "2026-01-02T03:04:05.678Z"),
        (-1, DATETIME, "1969-12-31T23:59:59.999Z"),
        ((1, None, 3), INTS, [1, None, 3]),
        ((1.0, math.nan, 0.5), VECTOR3, [1.0, None, 0.5]),
        (2**63, U64, 2**63),
        ((0,), PropType(Scalar.DATE, is_list=True), ["1970-01-01"]),
    ],
)
def test_json_of_a_stored_value(value: Any, type_: PropType, shown: Any) -> None:
    assert json_value(value, type_) == shown


def test_safe_integers_are_strings_beyond_what_javascript_reads() -> None:
    assert json_value(2**53 - 1, I64, safe_integers=True) == 2**53 - 1
    assert json_value(-(2**53), I64, safe_integers=True) == "-9007199254740992"


# --- JSON in ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "type_", "stored"),
    [
        ("x", S, "x"),
        ("x", ENUM, "x"),
        (False, B, False),
        (7, I32, 7),
        (-(2**63), I64, -(2**63)),
        (2**64 - 1, U64, 2**64 - 1),
        (1, F64, 1.0),
        (0.1, F32, to_single(0.1)),
        ("2026-01-02", DATE, 20455),
        (20455, DATE, 20455),
        ("2026-01-02", DATETIME, 1767312000000),
        (-5, DATETIME, -5),
        ([1, 2.5, -3], VECTOR3, (1.0, 2.5, -3.0)),
        ([], INTS, ()),
        ([1, 2], INTS, (1, 2)),
        (None, optional(INTS), None),
        ("base64:", BLOB, "base64:"),
        ("https://h/x", BLOB, "https://h/x"),
        (0.10000000149011612, F32, to_single(0.1)),
    ],
)
def test_strict_json_is_stored(value: Any, type_: PropType, stored: Any) -> None:
    assert coerce_json(value, type_, "P.p") == stored


@pytest.mark.parametrize(
    ("value", "type_", "says"),
    [
        (None, S, "non-nullable property 'p'"),
        (1, S, "a string"),
        ("z", ENUM, r"invalid enum value 'z' for P.p \(expected: x, y\)"),
        (1, B, "true or false"),
        ("7", I32, "an integer"),
        (True, I32, "an integer"),
        (2**31, I32, "exceeds Int32 range"),
        (-1, U64, "exceeds UInt64 range"),
        (2**64, U64, "exceeds UInt64 range"),
        (2**63, I64, "exceeds Int64 range"),
        (-1, U32, "exceeds UInt32 range"),
        ("1", F64, "a number"),
        (1e39, F32, "fits F32"),
        (10**400, F64, "fits F64"),
        (math.nan, F64, "finite"),
        ("soon", DATE, '"soon"'),
        (1.5, DATE, "integer number of days"),
        (2**31, DATE, "days"),
        (2**63, DATETIME, "milliseconds"),
        ({"a": 1}, BLOB, "base64"),
        ("x", INTS, "an array of I32"),
        ("\ud800", S, "surrogates"),
        ([1, None], INTS, r"P.p\[1\]"),
        ([1, "2"], INTS, r"P.p\[1\]"),
        ("abc", VECTOR3, "an array of 3"),
    ],
)
def test_strict_json_is_refused_with_a_reason(value: Any, type_: PropType, says: str) -> None:
    with pytest.raises(InvalidValue, match=says):
        coerce_json(value, type_, "P.p")


@pytest.mark.parametrize(
    ("text", "type_", "stored"),
    [
        ("-3", I32, -3),
        ("18446744073709551615", U64, 2**64 - 1),
        ("0.5", F64, 0.5),
        ("true", B, True),
        ("x", ENUM, "x"),
        ("2026-01-02", DATE, 20455),
        ("", S, ""),
    ],
)
def test_a_default_text_is_read_by_type(text: str, type_: PropType, stored: Any) -> None:
    assert coerce_text(text, type_, "@default") == stored


@pytest.mark.parametrize(
    ("text", "type_"), [("x", I32), ("1.5", I64), ("yes", B), ("z", ENUM), ("[]", INTS), ("1e400", F64), ("", DATE)]
)
def test_a_default_text_that_does_not_fit_is_refused(text: str, type_: PropType) -> None:
    with pytest.raises(InvalidValue):
        coerce_text(text, type_, "@default")


# --- table D, as far as it is about one value -------------------------------------------------------------


def _id(value: Any, type_: PropType) -> str:
    return node_id([canonical_text(coerce_json(value, type_, "P.k"), type_)])


def _refused(value: Any, type_: PropType) -> bool:
    with pytest.raises(InvalidValue):
        coerce_json(value, type_, "P.n")
    return True


_D_HERE = {
    "D01": lambda: _refused("z", optional(ENUM)),
    "D20": lambda: _refused(3000000000, optional(I32)),
    "D21": lambda: _refused("7", optional(I32)),
    "D22": lambda: _refused(7.0, optional(I32)),
    "D33": lambda: all(_refused(value, VECTOR3) for value in ([1, 2], [1, None, 2], [1, "2", 3])),
    "D34": lambda: _refused([1, None], INTS),
    "D35": lambda: coerce_json("base64:", optional(BLOB), "P.b") == "base64:",
    "D37": lambda: _id("2026-01-02", DATE) == "20455",
    "D38": lambda: _id("2026-01-02T03:04:05.678Z", DATETIME) == "1767323045678",
    "D39": lambda: [_id(v, F64) for v in (1.50, -0.0, 1e21)] == ["1.5", "0", "1000000000000000000000"],
    "D40": lambda: _id(True, B) == "true",
    "D41": lambda: (
        _id(2**64 - 1, U64) == str(2**64 - 1)
        and json_value(2**64 - 1, U64) == 2**64 - 1
        and json_value(2**64 - 1, U64, safe_integers=True) == str(2**64 - 1)
    ),
    "D42": lambda: node_id([canonical_text("A", S), canonical_text(7, I32)]) == '["A","7"]',
    "D43": lambda: (json_value(20455, DATE), json_value(20455, DATE, dates="raw")) == ("2026-01-02", 20455),
    "D44": lambda: json_value(2**53, I64) == 2**53 and json_value(2**53, I64, safe_integers=True) == "9007199254740992",
}
_REPLACED = {
    "D41": "numbers are exact unless the caller asks for JavaScript's range",
    "D44": "numbers are exact unless the caller asks for JavaScript's range",
}
_D_LATER = {
    **dict.fromkeys(
        (*(f"D{n:02}" for n in range(2, 20)), "D23", *(f"D{n}" for n in range(24, 33))),
        "later: write path (constraints, load modes, endpoints and cardinality need stored rows)",
    ),
    "D36": "later: write path (blob policy)",
}


@pytest.mark.parametrize("row", [pytest.param(row, id=f"schema-{row}") for row in _D_HERE])
def test_value_rule(row: str) -> None:
    assert _D_HERE[row]()


def test_every_row_of_the_table_is_here_or_explained() -> None:
    assert set(_D_HERE) | set(_D_LATER) == all_ids("D")
    assert set(_REPLACED) <= set(_D_HERE)
