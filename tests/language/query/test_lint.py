"""Rows of lint and descriptors, and the shape of the report."""

from __future__ import annotations

from typing import Any

import pytest

from language.query.library import CATALOG, compiled, load_cases
from omnigraph.language.query import describe_param, lint_queries

ROWS = load_cases("lint")
SOURCE = {"kind": "file", "path": "library.pg"}


def test_table_is_complete() -> None:
    assert [row["id"] for row in ROWS] == [f"L{number:02}" for number in range(1, 12)]


@pytest.mark.parametrize("row", [pytest.param(row, id=f"query-{row['id']}") for row in ROWS])
def test_lint_reports_what_the_table_says(row: dict[str, Any]) -> None:
    report = lint_queries(row["source"], CATALOG)
    out: Any = report.to_json(schema_source=SOURCE, query_path="q.gq")
    assert out["status"] == row["status"]
    assert (out["queries_processed"], out["errors"], out["warnings"]) == (
        row["processed"],
        row["errors"],
        row["warnings"],
    )
    assert [[f["code"], f.get("type_name"), f.get("property")] for f in out["findings"]] == row["findings"]
    by_name = {result["name"]: result for result in out["results"]}
    for name, status in row.get("results", {}).items():
        assert by_name[name]["status"] == status
        assert ("error" in by_name[name]) is (status == "error")
        assert ("operation" in by_name[name]) is (status == "ok")
    for name, count in row.get("query_warnings", {}).items():
        assert len(by_name[name]["warnings"]) == count
    if "operation" in row:
        assert by_name["q"]["operation"] == row["operation"]
    assert report.render().splitlines()[-1].startswith(f"{row['processed']} queries processed")


def test_absent_facts_are_left_out_of_the_report() -> None:
    report = lint_queries("query q() { match { $p: Person } return { $p.name } }", CATALOG)
    out: Any = report.to_json(schema_source=SOURCE, query_path="q.gq")
    assert list(out) == [
        "status", "schema_source", "query_path", "queries_processed", "errors", "warnings", "infos", "results",
        "findings",
    ]  # fmt: skip
    assert set(out["results"][0]) == {"name", "kind", "status", "operation"}


def test_updating_queries_are_named_in_order() -> None:
    text = """
    query b($s: I64, $n: String) { update Note set { rank: 1 } where text = $n }
    query a($n: String) { update Note set { rank: null } where text = $n }
    query c($n: String) { update Person set { age: 1, email: null, role: null, tags: [], score: 1, active: true,
                                              born: null } where name = $n }
    """
    report = lint_queries(text, CATALOG)
    assert [(f.code, f.type_name, f.property, f.query_names) for f in report.findings] == [
        ("L201", "Person", "seen", ("c",))
    ]


def test_second_query_of_a_name_is_an_error_of_that_query() -> None:
    text = "query q() { match { $p: Person } return { $p.name } }" * 2
    assert [result.status for result in lint_queries(text, CATALOG).results] == ["ok", "error"]


def test_parameters_are_described_in_the_words_of_catalogues() -> None:
    query = compiled("match { $p: Person } return { 1 }", "$a: [I32]?, $v: Vector(3), $d: DateTime, $u: U64")
    assert [describe_param(param) for param in query.params] == [
        {"name": "a", "kind": "list", "item_kind": "int", "nullable": True},
        {"name": "v", "kind": "vector", "vector_dim": 3, "nullable": False},
        {"name": "d", "kind": "datetime", "nullable": False},
        {"name": "u", "kind": "bigint", "nullable": False},
    ]
