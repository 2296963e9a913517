"""Lowering keeps the meaning: the pipelines, run by the oracle, give the rows of the conformance tables."""

from __future__ import annotations

import json
from typing import Any

import pytest

from language.query.library import CATALOG, compiled, language_cases, source_of
from language.query.oracle import Unanswerable, answer
from omnigraph.language.query import compile_query

READS = [row for row in language_cases() if row["expected"]["kind"] in ("bag", "seq")]
SEARCHES = {f"S{number:02}" for number in range(1, 28)}
"""Rows that need the analyser, vectors or ranks: the read engine runs them from the same file."""


@pytest.mark.parametrize("row", [pytest.param(r, id=f"query-{r['id']}") for r in READS if r["id"] not in SEARCHES])
def test_pipeline_gives_the_rows_of_the_table(row: dict[str, Any]) -> None:
    got = answer(compile_query(source_of(row), CATALOG), row["params"])
    expected = row["expected"]["rows"]
    if row["expected"]["kind"] == "bag":
        got, expected = sorted(got, key=json.dumps), sorted(expected, key=json.dumps)
    assert got == expected


@pytest.mark.parametrize("row", [pytest.param(r, id=f"query-{r['id']}") for r in READS if r["id"] in SEARCHES])
def test_search_is_left_to_the_engine(row: dict[str, Any]) -> None:
    with pytest.raises(Unanswerable):
        answer(compile_query(source_of(row), CATALOG), row["params"])


GROWTH: list[tuple[str, list[list[Any]]]] = [
    ("match { $p: Person $p.age is null } return { $p.name }", [["Cat"]]),
    ("match { $p: Person $p.role is not null } return { $p.name } order { $p.name } limit 2", [["Ann"], ["Bob"]]),
    ("match { $p: Person $p.age in [25, 41] } return { $p.name } order { $p.name }", [["Bob"], ["Eve"]]),
    (
        'match { $p: Person or { $p.age = 25 { $p worksAt $c $c.name = "Bolt" } } } return { $p } order { $p.name }',
        [["Bob"], ["Dan"]],
    ),
    (
        "match { $p: Person maybe { $p worksAt $c $c.size > 1 } } return { $p.name, $c.name as c } order { $p.name }",
        [["Ann", "Acme"], ["Bob", "Acme"], ["Cat", None], ["Dan", None], ["Eve", None]],
    ),
    ("match { $p: Person maybe { $p worksAt $c } $c is null } return { $p } order { $p.name }", [["Cat"], ["Eve"]]),
    ('match { $p: Person maybe { $p worksAt $c } $c: Company { name: "Bolt" } } return { $p }', [["Dan"]]),
    (
        "match { $p: Person } return distinct { $p.role } order { $p.role desc } limit 2 offset 1",
        [["guest"], ["admin"]],
    ),
    ("match { $p: Person $p knows $q } return { count(distinct $p) as n, count($p) as all }", [[4, 5]]),
    (
        'match { $a: Person { name: "Ann" } $b: Person } return { $b, distance($a knows{1,} $b) as d } order { b }',
        [["Ann", None], ["Bob", 1], ["Cat", 1], ["Dan", 2], ["Eve", None]],
    ),
    ('match { $a: Person { name: "Eve" } } return { distance($a knows{1,3} $a) as d }', [[1]]),
    (
        "match { $p: Person } return { min($p.born) as a, max($p.seen) as b }",
        [["1990-05-01", "2025-01-01T00:00:00.123Z"]],
    ),
    ('match { $p: Person not { $p knows $q } $q: Person { name: "Ann" } } return { $p, $q }', [["Cat", "Ann"]]),
]  # fmt: skip


@pytest.mark.parametrize(("body", "expected"), GROWTH)
def test_new_form_gives_the_rows_one_expects(body: str, expected: list[list[Any]]) -> None:
    assert answer(compiled(body)) == expected
