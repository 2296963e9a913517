"""Pushed filters as predicates: the same meaning, or none at all. No session is needed for it."""

from __future__ import annotations

import datetime
from decimal import Decimal

import pyarrow as pa
import pytest
from pyspark.sql import datasource as pushed

from omnigraph.spark.boundary import boundary_schema, to_boundary
from omnigraph.spark.filters import predicate_of
from omnigraph.storage import All, AnyOf, Compare, IsNull, Not, OneOf, Predicate

TABLE = pa.schema(
    {
        "id": pa.string(),
        "n": pa.uint64(),
        "ok": pa.bool_(),
        "day": pa.date32(),
        "at": pa.date64(),
        "score": pa.float64(),
        "words": pa.list_(pa.string()),
    }
)
DAY = datetime.date(1970, 1, 3)
MOMENT = datetime.datetime(1970, 1, 1, 0, 0, 1, 5000, tzinfo=datetime.UTC)

CASES: list[tuple[str, pushed.Filter, Predicate | None]] = [
    ("equal", pushed.EqualTo(("id",), "it's"), Compare("id", "=", "it's")),
    ("greater", pushed.GreaterThan(("n",), Decimal(7)), Compare("n", ">", 7)),
    ("no whole number", pushed.GreaterThan(("n",), Decimal("7.5")), None),
    ("a truth is no number", pushed.EqualTo(("n",), True), None),
    ("a number is no text", pushed.EqualTo(("id",), 7), None),
    ("boolean", pushed.EqualTo(("ok",), True), Compare("ok", "=", True)),
    ("day", pushed.LessThanOrEqual(("day",), DAY), Compare("day", "<=", 2)),
    ("moment", pushed.LessThan(("at",), MOMENT), Compare("at", "<", 1005)),
    ("finer than stored", pushed.LessThan(("at",), MOMENT.replace(microsecond=5001)), None),
    ("in", pushed.In(("id",), ("a", "b")), OneOf("id", ("a", "b"))),
    ("in, one unfit", pushed.In(("id",), ("a", 3)), None),
    ("null", pushed.IsNull(("id",)), IsNull("id")),
    ("not null", pushed.IsNotNull(("id",)), Not(IsNull("id"))),
    ("null-safe", pushed.EqualNullSafe(("id",), "a"), Compare("id", "=", "a")),
    ("null-safe null", pushed.EqualNullSafe(("id",), None), IsNull("id")),
    ("not equal", pushed.Not(pushed.EqualTo(("id",), "a")), Compare("id", "!=", "a")),
    (
        "not null-safe equal",
        pushed.Not(pushed.EqualNullSafe(("id",), "a")),
        AnyOf((IsNull("id"), Compare("id", "!=", "a"))),
    ),
    ("not in", pushed.Not(pushed.In(("id",), ("a",))), All((Not(IsNull("id")), Not(OneOf("id", ("a",)))))),
    ("not prefix", pushed.Not(pushed.StringStartsWith(("id",), "a")), None),
    ("prefix", pushed.StringStartsWith(("id",), "ab"), All((Compare("id", ">=", "ab"), Compare("id", "<", "ac")))),
    (
        "prefix before the surrogates",
        pushed.StringStartsWith(("id",), "\ud7ff"),
        All((Compare("id", ">=", "\ud7ff"), Compare("id", "<", "\ue000"))),
    ),
    (
        "prefix that ends in the last character",
        pushed.StringStartsWith(("id",), "a\U0010ffff"),
        All((Compare("id", ">=", "a\U0010ffff"), Compare("id", "<", "b"))),
    ),
    ("prefix of last characters", pushed.StringStartsWith(("id",), "\U0010ffff"), None),
    ("floating point", pushed.GreaterThan(("score",), 1.0), None),
    ("list", pushed.EqualTo(("words",), ["a"]), None),
    ("contains", pushed.StringContains(("id",), "a"), None),
    ("nested", pushed.EqualTo(("id", "x"), "a"), None),
    ("no such column", pushed.EqualTo(("other",), "a"), None),
]


@pytest.mark.parametrize(("given", "expected"), [row[1:] for row in CASES], ids=[row[0] for row in CASES])
def test_a_filter_becomes_the_predicate_of_the_same_meaning_or_stays_with_spark(
    given: pushed.Filter, expected: Predicate | None
) -> None:
    assert predicate_of(given, TABLE) == expected


def test_batches_have_the_types_that_were_declared_at_the_border() -> None:
    schema = boundary_schema(
        pa.schema([*TABLE, pa.field("emb", pa.list_(pa.float32(), 2)), pa.field("moments", pa.list_(pa.date64()))])
    )
    assert schema.field("n").type == pa.decimal128(20, 0)
    assert schema.field("at").type == pa.timestamp("us", "UTC")
    values = {"n": [1], "at": [5], "emb": [[1.0, 2.0]], "moments": [[7]], "id": ["a"], "ok": [True], "day": [1]}
    table = pa.schema([*TABLE, pa.field("emb", pa.list_(pa.float32(), 2)), pa.field("moments", pa.list_(pa.date64()))])
    batch = pa.RecordBatch.from_pylist([{name: column[0] for name, column in values.items()}], table)
    assert to_boundary(batch, schema).schema == schema
