"""Promises that hold for every text."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from language.query.fuzz_query import PROGRAMS, check_format, fuzz_once
from omnigraph.language import CompileError
from omnigraph.language.query import parse_queries
from omnigraph.language.query.parse.literals import FloatLit, IntegerLit, StringLit, literal_text
from omnigraph.language.query.parse.parser import parse
from omnigraph.language.query.parse.tokens import lex


@settings(max_examples=1500, derandomize=True, deadline=None)
@given(st.binary(max_size=120))
def test_no_text_raises_anything_but_a_compile_error(data: bytes) -> None:
    fuzz_once(data)


@settings(max_examples=300, derandomize=True, deadline=None)
@given(st.text(max_size=60))
def test_no_unicode_text_raises_anything_but_a_compile_error(text: str) -> None:
    for wrapped in (text, f'query q() {{ match {{ $p: Person $p.name = "{text}" }} return {{ 1 }} }}'):
        try:
            parse_queries(wrapped)
        except CompileError as error:
            error.render()


@settings(max_examples=300, derandomize=True, deadline=None)
@given(
    st.one_of(
        st.text(st.characters(exclude_categories=["Cs"]), max_size=20).map(StringLit),
        st.integers(-(2**63), 2**64 - 1).map(IntegerLit),
        st.floats(allow_nan=False, allow_infinity=False).map(FloatLit),
    )
)
def test_literal_reads_back_as_itself(literal: StringLit | IntegerLit | FloatLit) -> None:
    text = f"query q() {{ match {{ $p: P }} return {{ {literal_text(literal)} }} }}"
    [declaration] = parse(text).declarations
    assert declaration.body.items[0].value.value == literal  # type: ignore[union-attr]
    check_format(text)


COMMENTS = st.sampled_from(["// c\n", "/* c */", "/* a\n   b */", "\n// own\n", "\n\n// far\n\n", " // x // y\n"])


@settings(max_examples=400, derandomize=True, deadline=None)
@given(st.sampled_from(PROGRAMS), st.lists(st.tuples(st.integers(0, 400), COMMENTS), max_size=5))
def test_formatting_keeps_comments_wherever_they_stand(program: str, comments: list[tuple[int, str]]) -> None:
    try:
        parse(program)
    except CompileError:
        return
    starts = [token.start for token in lex(program).tokens]
    for place, comment in sorted(comments, key=lambda pair: starts[pair[0] % len(starts)], reverse=True):
        start = starts[place % len(starts)]
        program = program[:start] + comment + program[start:]
    check_format(program)


@pytest.mark.parametrize("opening", ["match { not { ", "match { or { ", "match { maybe { "])
def test_deep_nesting_is_refused_before_the_stack_is_full(opening: str) -> None:
    text = "query q() { " + opening + "not { " * 5000
    with pytest.raises(CompileError, match="nest deeper"):
        parse_queries(text)


@pytest.mark.parametrize("value", ["[" * 5000, "count(" * 5000, "search(" * 5000, "rrf(" * 5000])
def test_deep_values_are_refused_before_the_stack_is_full(value: str) -> None:
    with pytest.raises(CompileError, match="nest deeper"):
        parse_queries("query q() { match { $p: P } return { " + value)


def test_unpaired_surrogate_is_a_compile_error() -> None:
    with pytest.raises(CompileError, match="not valid Unicode"):
        parse_queries("query q() { \ud800 }")


@pytest.mark.parametrize("number", ["9" * 5000, "9" * 400 + ".0", "18446744073709551616", "-9223372036854775809"])
def test_number_beyond_every_type_is_a_compile_error(number: str) -> None:
    with pytest.raises(CompileError, match="range"):
        parse_queries(f"query q() {{ match {{ $p: P }} return {{ {number} }} }}")
