"""Value rules: what a row can break by itself, whoever writes it."""

from __future__ import annotations

import math
from typing import Any

import pyarrow as pa
import pytest

from omnigraph.language.schema import compile_schema
from omnigraph.storage.tables.columns import table_schema
from omnigraph.write.changes import Provenance, TableChange
from omnigraph.write.rules.value_rules import check_values

CATALOG = compile_schema(
    """
node N { i: I64?  f: F64?  g: F32?  s: String?  c: enum(a, b)?
  @range(i, -5..5)  @range(f, 0.5..)  @range(g, ..1.5)  @check(s, "^[a-z]+$")  @check(c, "a|b") }
edge E: N -> N { c: enum(a, b)? }
"""
).catalog


def found(type_name: str, **values: Any) -> list[str]:
    entity = CATALOG.node(type_name) or CATALOG.edge(type_name)
    assert entity is not None
    ends = {"src": "x", "dst": "x"} if entity.kind == "edge" else {}
    rows = pa.Table.from_pylist([{"id": "x", **ends, **values}], schema=table_schema(entity))
    change = TableChange(entity.table_key, "upsert", rows, provenance=Provenance("in.jsonl", (4,)))
    row_violations = list(check_values(entity, change))
    assert all((each.rows, each.violation.line, each.violation.entity_id) == ((0,), 4, "x") for each in row_violations)
    return [each.violation.message for each in row_violations]


@pytest.mark.parametrize(
    "values",
    [
        {"i": -5},
        {"i": 5},
        {"i": None},
        {"f": 0.5},
        {"f": math.inf},
        {"g": 1.5},
        {"g": -math.inf},
        {"s": "abc"},
        {"c": "a"},
    ],
    ids=str,
)
def test_values_at_the_bounds_and_null_satisfy_the_rules(values: dict[str, Any]) -> None:
    assert found("N", **values) == []


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"i": 6}, "@range violation on N.i: value 6 is not in -5..5"),
        ({"i": -6}, "@range violation on N.i: value -6 is not in -5..5"),
        ({"f": 0.25}, "@range violation on N.f: value 0.25 is not in 0.5.."),
        ({"f": math.nan}, "@range violation on N.f: value NaN is not in 0.5.."),
        ({"g": math.nan}, "@range violation on N.g: value NaN is not in ..1.5"),
        ({"g": 2.0}, "@range violation on N.g: value 2.0 is not in ..1.5"),
        ({"s": "aB"}, "@check violation on N.s: value 'aB' does not match \"^[a-z]+$\""),
        ({"s": ""}, "@check violation on N.s: value '' does not match \"^[a-z]+$\""),
        ({"c": "ab"}, "invalid enum value 'ab' for N.c (expected: a, b)"),
    ],
    ids=str,
)
def test_a_value_that_breaks_a_rule_is_named_with_the_rule(values: dict[str, Any], message: str) -> None:
    assert found("N", **values) == [message]


def test_enums_bind_edges_too() -> None:
    assert found("E", c="z") == ["invalid enum value 'z' for E.c (expected: a, b)"]


def test_every_broken_rule_of_a_row_is_reported() -> None:
    assert len(found("N", i=9, f=0.0, s="A", c="z")) == 5  # the enum and its pattern are two
