"""The manual tells the truth: its examples compile, its errors fail, its codes are the published ones."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from omnigraph.language import CompileError
from omnigraph.language.query import compile_queries, format_query
from omnigraph.language.query.check.codes import CODES
from omnigraph.language.schema import compile_schema

MANUAL = (Path(__file__).parents[3] / "docs" / "query-language.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w+)( error)?\n(.*?)^```$", MANUAL, re.MULTILINE | re.DOTALL)
[SCHEMA] = [text for language, _, text in BLOCKS if language == "pg"]
EXAMPLES = [text for language, error, text in BLOCKS if language == "gq" and not error]
ERRORS = [text for language, error, text in BLOCKS if language == "gq" and error]


def first_line(text: str) -> str:
    return text.splitlines()[0]


@pytest.mark.parametrize("text", EXAMPLES, ids=first_line)
def test_example_compiles_without_warnings(text: str) -> None:
    for query in compile_queries(text, compile_schema(SCHEMA).catalog):
        assert query.warnings == ()


@pytest.mark.parametrize("text", ERRORS, ids=first_line)
def test_example_of_an_error_is_refused(text: str) -> None:
    with pytest.raises(CompileError):
        compile_queries(text, compile_schema(SCHEMA).catalog)


@pytest.mark.parametrize("text", EXAMPLES, ids=first_line)
def test_example_can_be_formatted(text: str) -> None:
    assert format_query(format_query(text)) == format_query(text)


def test_manual_lists_exactly_the_published_codes() -> None:
    listed = dict(re.findall(r"^\| (T\d+|D2) \| (.+) \|$", MANUAL, re.MULTILINE))
    assert listed == dict(CODES)


def test_manual_has_examples() -> None:
    assert len(EXAMPLES) >= 8
    assert len(ERRORS) >= 2
