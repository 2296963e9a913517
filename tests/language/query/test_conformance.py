"""Every row of the language tables, as far as a compiler can decide it."""

from __future__ import annotations

from typing import Any

import pytest

from language.query.library import CATALOG, SECTIONS, compiled, language_cases, load_cases, source_of
from omnigraph.language import CompileError
from omnigraph.language.query import MutationIR, ParameterError, QueryIR, bind_params, compile_query
from omnigraph.language.query.check.codes import CODES

ROWS = [pytest.param(row, id=f"query-{row['id']}") for row in language_cases()]
ACCEPTED = [param for param in ROWS if param.values[0]["expected"]["kind"] != "error"]


@pytest.mark.parametrize("row", ROWS)
def test_row_is_decided_as_the_table_says(row: dict[str, Any]) -> None:
    expected = row["expected"]
    if expected["kind"] == "error" and expected["stage"] == "compile":
        with pytest.raises(CompileError) as raised:
            compile_query(source_of(row), CATALOG)
        assert "code" not in expected or raised.value.error_code == expected["code"]
        assert expected.get("contains", "") in raised.value.sentence()
        assert raised.value.first.position is not None
        return
    query = compile_query(source_of(row), CATALOG)
    if expected["kind"] == "error" and expected["stage"] == "bind":
        with pytest.raises(ParameterError, match=expected["contains"]):
            bind_params(query.params, row["params"])
        return
    bind_params(query.params, row["params"])
    hash(query)
    if query.kind == "mutation":
        assert isinstance(query.ir, MutationIR)
        assert expected["kind"] in ("affected", "error")
    else:
        assert isinstance(query.ir, QueryIR)
        assert expected["kind"] in ("bag", "seq")
        assert all(len(values) == len(query.columns) for values in expected["rows"])


@pytest.mark.parametrize("row", [param for param in ROWS if "then" in param.values[0]])
def test_follow_up_read_compiles(row: dict[str, Any]) -> None:
    query = compiled(row["then"]["body"]).expect("read")
    assert all(len(values) == len(query.columns) for values in row["then"]["expected"]["rows"])


@pytest.mark.parametrize(("section", "letter", "count"), [(name, *rest) for name, rest in SECTIONS.items()])
def test_table_is_complete(section: str, letter: str, count: int) -> None:
    assert [row["id"] for row in load_cases(section)] == [f"{letter}{number:02}" for number in range(1, count + 1)]
    assert {row["section"] for row in load_cases(section)} == {section}


def test_exactly_the_rows_that_growth_changed_are_marked_as_replaced() -> None:
    assert {row["id"] for row in language_cases() if "replaced" in row} == {"P07", "P10", "E20", "E24"}


def test_every_code_of_the_tables_is_published() -> None:
    codes = {row["expected"].get("code") for row in language_cases()} - {None, "parse_error"}
    assert codes <= set(CODES)


@pytest.mark.parametrize("row", ACCEPTED)
def test_nullability_of_columns_covers_the_expected_rows(row: dict[str, Any]) -> None:
    query = compile_query(source_of(row), CATALOG)
    for values in row["expected"].get("rows", []):
        for column, value in zip(query.columns, values, strict=True):
            assert value is not None or column.nullable, column.name
