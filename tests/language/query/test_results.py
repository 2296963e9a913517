"""Rows of results and parameters: column names, binding of JSON values, choice of a query."""

from __future__ import annotations

import re
from typing import Any

import pytest

from language.query.library import CATALOG, compiled, load_cases
from omnigraph.language.query import (
    ParameterError,
    QueryNameRequired,
    UnknownQuery,
    WrongQueryKind,
    bind_params,
    compile_query,
    parse_queries,
    row_count,
)
from omnigraph.language.query.parse.literals import DateTimeLit, IntegerLit, ListLit
from omnigraph.model.errors import BadRequest

ROWS = load_cases("results")


def rows_with(key: str) -> list[Any]:
    return [pytest.param(row, id=f"query-{row['id']}") for row in ROWS if key in row]


def test_table_is_complete() -> None:
    assert [row["id"] for row in ROWS] == [f"J{number:02}" for number in range(1, 29)]
    assert all(sum(key in row for key in ("runs", "binds", "pick", "kinds")) == 1 for row in ROWS)


@pytest.mark.parametrize("row", rows_with("runs"))
def test_columns_are_known_before_the_query_runs(row: dict[str, Any]) -> None:
    for run in row["runs"]:
        query = compiled(run["body"], run["declaration"])
        assert [column.name for column in query.columns] == run["columns"]
    if "before" in row:
        assert compiled(row["before"]).kind == "mutation"


@pytest.mark.parametrize("row", rows_with("binds"))
def test_json_values_bind_by_their_declared_type(row: dict[str, Any]) -> None:
    [declaration] = parse_queries(
        f"query q({row['declaration']}) {{ match {{ $p: Person }} return {{ 1 }} }}"
    ).declarations
    for attempt in row["binds"]:
        options = {name: attempt.get(name, False) for name in ("javascript_safe", "ignores_undeclared")}
        if "error" in attempt:
            with pytest.raises(ParameterError, match=re.escape(attempt["error"])) as raised:
                bind_params(declaration.params, attempt["given"], **options)
            assert str(raised.value).startswith("param")
        else:
            bound = bind_params(declaration.params, attempt["given"], **options)
            assert {name: repr(bound[name]) for name in attempt["value"]} == attempt["value"]
            hash(bound)


@pytest.mark.parametrize("row", rows_with("pick"))
def test_query_is_picked_by_name(row: dict[str, Any]) -> None:
    pick = row["pick"]
    with pytest.raises((QueryNameRequired, UnknownQuery), match=re.escape(pick["error"])) as raised:
        compile_query(pick["source"], CATALOG, name=pick["name"])
    assert isinstance(raised.value, BadRequest)
    assert compile_query(pick["source"], CATALOG, name="two").name == "two"


@pytest.mark.parametrize("row", rows_with("kinds"))
def test_query_of_the_other_kind_is_refused_by_an_entry_point(row: dict[str, Any]) -> None:
    for attempt in row["kinds"]:
        with pytest.raises(WrongQueryKind):
            compile_query(attempt["source"], CATALOG).expect(attempt["entry"])


def test_javascript_safe_mode_takes_integral_floats() -> None:
    params = compiled("match { $p: Person } return { $p.name }", "$a: I64").params
    assert bind_params(params, {"a": 3.0}, javascript_safe=True)["a"] == IntegerLit(3)
    with pytest.raises(ParameterError, match="integer expected"):
        bind_params(params, {"a": 3.0})


def test_time_of_a_query_can_be_pinned() -> None:
    bound = bind_params((), {"__nanograph_now": "2026-01-01T00:00:00Z"})
    assert bound["__nanograph_now"] == DateTimeLit("2026-01-01T00:00:00Z")


def test_a_name_that_is_not_declared_is_refused_with_the_nearest_one() -> None:
    params = compiled("match { $p: Person } return { $p.name }", "$name: String?").params
    for key, words in (("nmae", "did you mean 'name'?"), ("$name", "the key is 'name'"), ("x", "declares: name")):
        with pytest.raises(ParameterError, match=f"declares no parameter '{re.escape(key)}'") as raised:
            bind_params(params, {key: "Ann"})
        assert words in (raised.value.hint or "")


def test_what_is_not_declared_can_be_ignored_where_a_protocol_says_so() -> None:
    bound = bind_params((), {"x": [1, "a", None, 0.5, True]}, ignores_undeclared=True)
    assert isinstance(bound["x"], ListLit)
    with pytest.raises(ParameterError, match="param 'x': a parameter cannot be object"):
        bind_params((), {"x": {}}, ignores_undeclared=True)


@pytest.mark.parametrize("key", ["$n", "nn"])
def test_missing_parameter_names_the_key_that_was_probably_meant(key: str) -> None:
    params = compiled("match { $p: Person } return { $p.name }", "$n: String").params
    with pytest.raises(ParameterError) as raised:
        bind_params(params, {key: "Ann"})
    assert "'n'" in (raised.value.hint or "")


def test_limit_parameter_is_a_count_or_null() -> None:
    query = compiled("match { $p: Person } return { $p.name } limit $n offset 2", "$n: I64?")
    limit = query.ir.limit  # type: ignore[union-attr]
    assert row_count(limit, bind_params(query.params, {"n": 3})) == 3
    assert row_count(limit, bind_params(query.params, {})) is None
    assert row_count(query.ir.offset, bind_params(query.params, {})) == 2  # type: ignore[union-attr]
    with pytest.raises(ParameterError, match="param 'n'"):
        row_count(limit, bind_params(query.params, {"n": -1}))
