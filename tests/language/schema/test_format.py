"""The formatter: one layout, nothing lost, and nothing to do the second time."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from language.schema.fuzz_schema import check_text, fuzz_once
from language.schema.generated import schemas
from language.schema.tables import rows
from omnigraph.language import CompileError
from omnigraph.language.diagnostics import SourceText
from omnigraph.language.schema import compile_schema, format_schema
from omnigraph.language.schema.parser import parse_schema
from omnigraph.language.schema.report import Report

_UNTIDY = """// licence

/* what it is */ node   A@description("x") implements N{ // head
  // first
  a:String@key // trailing


  b : enum( z , a )? /* one */ /* two */
  @range(c,-1.50..)  c:F64 @default( 3 ) d /*inner*/ : [ I32 ] ?
  // last
}// after
interface N{}
edge K:A->A
edge L : A -> A @card(0..1)@pii("x",o="y"){}
// end"""

_TIDY = """// licence

/* what it is */
node A @description("x") implements N { // head
    // first
    a: String @key // trailing

    b: enum(z, a)? /* one */ /* two */
    @range(c, -1.5..)
    c: F64 @default(3)
    /*inner*/
    d: [I32]?
    // last
} // after

interface N {}

edge K: A -> A
edge L: A -> A @card(0..1) @pii("x", o="y")
// end
"""


def test_the_canonical_layout() -> None:
    assert format_schema(_UNTIDY) == _TIDY
    assert format_schema(_TIDY) == _TIDY
    assert compile_schema(_UNTIDY).ir == compile_schema(_TIDY).ir


def test_an_empty_text_stays_empty() -> None:
    assert format_schema(" \n ") == ""
    assert format_schema("\n// only\n") == "// only\n"


def test_bounds_keep_their_kind_and_have_no_exponent() -> None:
    text = "node A { n: F64 @range(n, -0.0..100000000000000000000000.0) m: I64 @range(m, ..7) }"
    formatted = format_schema(text)
    assert "@range(n, -0.0..100000000000000000000000.0)" in formatted
    assert compile_schema(formatted).ir_hash == compile_schema(text).ir_hash


def test_a_text_that_cannot_be_read_is_not_formatted() -> None:
    with pytest.raises(CompileError) as caught:
        format_schema("node a {}", file="x.pg")
    assert caught.value.first.file == "x.pg"


@pytest.mark.parametrize("table", ["L", "T", "A", "I", "E"])
def test_formatting_every_accepted_row_keeps_its_meaning(table: str) -> None:
    for row in rows(table):
        check_text(row["schema"])


def _shape(text: str) -> list[object]:
    """The tree without places."""
    parsed = parse_schema(Report(SourceText(text)))
    return [
        (
            type(declaration).__name__,
            declaration.name.text,
            [(p.name.text, p.type.type, [a.stored() for a in p.annotations]) for p in declaration.properties],
            [c.text for c in parsed.comments],
        )
        for declaration in parsed.declarations
    ]


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(schemas())
def test_parsing_the_formatted_text_gives_the_same_tree_and_the_same_comments(text: str) -> None:
    formatted = format_schema(text)
    before, after = _shape(text), _shape(formatted)
    assert [item[:3] for item in before] == [item[:3] for item in after]  # type: ignore[index]
    assert sorted(before[0][3]) == sorted(after[0][3])  # type: ignore[index]
    assert format_schema(formatted) == formatted
    assert compile_schema(formatted).ir_hash == compile_schema(text).ir_hash


@settings(max_examples=250, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.binary(max_size=60))
def test_no_bytes_raise_anything_but_a_compile_error(data: bytes) -> None:
    fuzz_once(data)
