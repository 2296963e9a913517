"""Predicates: the filter text of every type, and the promise that a scan is SQL's three-valued logic, index or not."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable
from typing import Any

import lance
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from omnigraph.model.errors import Internal
from omnigraph.model.identifiers import TableKey
from omnigraph.model.types import INTEGER_BOUNDS, PropType, Scalar
from omnigraph.storage import All, AnyOf, Compare, Contains, IsNull, Not, OneOf, Predicate
from omnigraph.storage.lance.session import SharedHandle
from omnigraph.storage.manifest import TablePin
from omnigraph.storage.predicates import Operator, Value, identifier, one_of, to_sql
from omnigraph.storage.tables import Table
from omnigraph.storage.tables.columns import arrow_type

SCALARS = [scalar for scalar in Scalar if scalar not in (Scalar.BLOB, Scalar.VECTOR)]
SCHEMA = pa.schema([pa.field(scalar.value, arrow_type(PropType(scalar)), nullable=True) for scalar in SCALARS])
PIN = TablePin(TableKey("node", "Any"), "nodes/any", 1, None, 0)
Row = dict[str, Any]


def table_of(rows: list[Row], *, indexed: bool = False) -> Table:
    """A table in memory. Dates and times are given as day and millisecond numbers, as predicates have them."""
    arrays = []
    for field in SCHEMA:
        plain = {pa.date32(): pa.int32(), pa.date64(): pa.int64()}.get(field.type, field.type)
        arrays.append(pa.array([row[field.name] for row in rows], plain).cast(field.type))
    table = pa.table(
        [pa.array(range(len(rows)), pa.int64()), *arrays], schema=SCHEMA.insert(0, pa.field("row", pa.int64()))
    )
    dataset = lance.write_dataset(table, "memory://", data_storage_version="2.2", enable_stable_row_ids=True)
    if indexed and rows:
        for name in SCHEMA.names:
            dataset.create_scalar_index(name, "BTREE")
    return Table(PIN, SharedHandle(dataset), "memory://", lambda: "genesis")


# --- the model: SQL's logic in Python ---------------------------------------------------------------------


def _order(value: Value) -> Any:
    """Lance orders floats: NaN is equal to itself and above infinity, and the two zeros are equal."""
    if isinstance(value, float):
        return (1, 0.0) if math.isnan(value) else (0, value)
    return value.encode() if isinstance(value, str) else value


_COMPARE: dict[Operator, Callable[[Any, Any], bool]] = {
    "=": lambda left, right: left == right,
    "!=": lambda left, right: left != right,
    "<": lambda left, right: left < right,
    "<=": lambda left, right: left <= right,
    ">": lambda left, right: left > right,
    ">=": lambda left, right: left >= right,
}


def holds(predicate: Predicate, row: Row) -> bool | None:
    match predicate:
        case Compare(column, operator, value):
            return None if row[column] is None else _COMPARE[operator](_order(row[column]), _order(value))
        case OneOf(_, ()):
            return False
        case OneOf(column, values):
            return None if row[column] is None else _order(row[column]) in [_order(value) for value in values]
        case Contains(column, text):
            return None if row[column] is None else text in row[column]
        case IsNull(column):
            return row[column] is None
        case All(parts):
            return _all([holds(part, row) for part in parts])
        case AnyOf(parts):
            inverse = _all([_negated(holds(part, row)) for part in parts])
            return _negated(inverse)
        case Not(part):
            return _negated(holds(part, row))


def _negated(truth: bool | None) -> bool | None:
    return None if truth is None else not truth


def _all(truths: list[bool | None]) -> bool | None:
    return False if False in truths else None if None in truths else True


# --- generators -------------------------------------------------------------------------------------------


def _f32(value: float) -> float:
    return float(struct.unpack("f", struct.pack("f", value))[0])


def _one_nan(value: float) -> float:
    """Nothing stores a NaN with a sign, and no literal can name it."""
    return math.nan if math.isnan(value) else value


def values_of(scalar: Scalar) -> st.SearchStrategy[Any]:
    match scalar:
        case Scalar.STRING:
            text = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=6)
            return (
                st.sampled_from(["", "it's", "''", "\\", "\\'", '"', "`x`", "%_", "$1", "a\nb", "é", "😀", "--", "/*"])
                | text
            )
        case Scalar.BOOL:
            return st.booleans()
        case Scalar.F32:
            return st.sampled_from([0.0, -0.0, 1.5, math.inf, -math.inf, math.nan]) | st.floats(width=32).map(_one_nan)
        case Scalar.F64:
            return st.sampled_from([0.0, -0.0, 0.1, math.inf, -math.inf, math.nan, 5e-324]) | st.floats().map(_one_nan)
        case Scalar.DATE:
            return st.integers(-800_000, 3_000_000) | st.sampled_from([0, -1, 19_000])
        case Scalar.DATETIME:
            return st.integers(-(10**14), 10**14) | st.sampled_from([0, -1, 1, 86_400_000])
        case _:
            low, high = INTEGER_BOUNDS[scalar]
            return st.sampled_from([low, high, 0, 1]) | st.integers(low, high)


ROWS = st.lists(
    st.fixed_dictionaries({scalar.value: st.none() | values_of(scalar) for scalar in SCALARS}), min_size=1, max_size=8
)
OPERATORS: st.SearchStrategy[Operator] = st.sampled_from(["=", "!=", "<", "<=", ">", ">="])


@st.composite
def leaves(draw: st.DrawFn, rows: list[Row]) -> Predicate:
    """Compares mostly with values that are in the rows, so that both outcomes are common."""
    scalar = draw(st.sampled_from(SCALARS))
    column = scalar.value
    present = [row[column] for row in rows if row[column] is not None]
    value = (st.sampled_from(present) | values_of(scalar)) if present else values_of(scalar)
    match draw(st.sampled_from(["compare", "compare", "one_of", "contains", "null"])):
        case "compare":
            return Compare(column, draw(OPERATORS), draw(value))
        case "one_of":
            return OneOf(column, tuple(draw(st.lists(value, max_size=3))))
        case "contains":
            texts = [row["String"][part:] for row in rows if row["String"] for part in range(3)]
            known = st.sampled_from(texts) if texts else st.nothing()
            return Contains("String", draw(known | values_of(Scalar.STRING)))
        case _:
            return IsNull(column)


@st.composite
def cases(draw: st.DrawFn) -> tuple[list[Row], list[Predicate], bool]:
    rows = draw(ROWS)
    predicate = st.recursive(
        leaves(rows),
        lambda inner: st.one_of(
            inner.map(Not),
            st.lists(inner, max_size=3).map(lambda parts: All(tuple(parts))),
            st.lists(inner, max_size=3).map(lambda parts: AnyOf(tuple(parts))),
        ),
        max_leaves=5,
    )
    return rows, draw(st.lists(predicate, min_size=1, max_size=6)), draw(st.booleans())


@given(cases())
@settings(max_examples=180)
def test_a_scan_is_three_valued_logic_with_and_without_indexes(case: tuple[list[Row], list[Predicate], bool]) -> None:
    rows, predicates, indexed = case
    table = table_of(rows, indexed=indexed)
    for predicate in predicates:
        expected = [number for number, row in enumerate(rows) if holds(predicate, row) is True]
        for use_index in {True, indexed}:
            found = table.read(["row"], predicate, use_index=use_index)["row"].to_pylist()
            assert sorted(found) == expected, to_sql(predicate, table.schema)
        assert table.count(predicate) == len(expected)


# --- single facts -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("scalar", SCALARS, ids=lambda scalar: scalar.value)
def test_the_extreme_values_of_every_type_are_found_again(scalar: Scalar) -> None:
    extremes: dict[Scalar, list[Value]] = {
        Scalar.STRING: ["it's", "back\\slash", 'double "quotes"', "日本 😀", "`tick`", " ", ""],
        Scalar.BOOL: [True, False],
        Scalar.F32: [_f32(0.1), _f32(3.4e38), _f32(1e-45), math.inf, -math.inf, math.nan],
        Scalar.F64: [0.1, 1.7e308, 5e-324, 1e22, math.inf, -math.inf, math.nan],
        Scalar.DATE: [-719_162, 0, 2_932_896],
        Scalar.DATETIME: [-62_135_596_800_000, -1, 0, 253_402_300_799_999],
    }
    values = extremes.get(scalar) or list(INTEGER_BOUNDS[scalar])
    rows = [dict.fromkeys(SCHEMA.names) | {scalar.value: value} for value in values]
    for indexed in (False, True):
        table = table_of(rows, indexed=indexed)
        for number, value in enumerate(values):
            for predicate in (Compare(scalar.value, "=", value), OneOf(scalar.value, (value,))):
                assert table.read(["row"], predicate)["row"].to_pylist() == [number]


def test_a_value_of_a_32_bit_float_column_is_compared_in_that_width() -> None:
    table = table_of([dict.fromkeys(SCHEMA.names) | {"F32": 0.1}])
    assert table.count(Compare("F32", "=", 0.1)) == 1


@pytest.mark.parametrize("column", ["F32", "F64"])
def test_a_whole_number_can_be_compared_with_a_float_column(column: str) -> None:
    table = table_of([dict.fromkeys(SCHEMA.names) | {column: 2.0}])
    assert table.count(Compare(column, "=", 2)) == 1
    assert table.count(Compare(column, ">", 1)) == 1


@pytest.mark.parametrize(
    ("predicate", "sql"),
    [
        (Compare("String", "=", "it's"), "`String` = 'it''s'"),
        (Compare("Bool", "!=", True), "`Bool` != true"),
        (Compare("Date", ">", 3), "`Date` > cast(3 as date)"),
        (OneOf("String", ()), "false"),
        (one_of("U64", [1, 2]), "`U64` IN (1, 2)"),
        (IsNull("F64"), "`F64` IS NULL"),
        (All(()), "true"),
        (AnyOf(()), "false"),
        (Not(IsNull("F64")), "(NOT (`F64` IS NULL))"),
        (All((IsNull("I32"), AnyOf((IsNull("I64"),)))), "(`I32` IS NULL AND (`I64` IS NULL))"),
        (Compare("I64", "=", -(2**63)), "`I64` = cast('-9223372036854775808' as bigint)"),
    ],
)
def test_the_filter_text_is_what_it_says(predicate: Predicate, sql: str) -> None:
    assert to_sql(predicate, SCHEMA) == sql


def test_row_columns_can_be_filtered_too() -> None:
    table = table_of([dict.fromkeys(SCHEMA.names) for _ in range(3)])
    ids = table.read(["_rowid"])["_rowid"].to_pylist()
    assert table.read(["row"], OneOf("_rowid", (ids[2], ids[0])))["row"].to_pylist() == [0, 2]


def test_a_name_that_cannot_be_quoted_is_refused() -> None:
    with pytest.raises(Internal):
        identifier("a`b")


def test_ten_thousand_ids_fit_into_one_filter() -> None:
    table = table_of([dict.fromkeys(SCHEMA.names) | {"String": f"k{number}"} for number in range(50)])
    assert table.count(one_of("String", [f"k{number}" for number in range(25, 10_025)])) == 25
