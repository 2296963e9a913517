"""Table W: where this compiler is stricter or kinder than the other one; and that accepted texts still open."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from language.schema.tables import all_ids
from omnigraph.language import CompileError
from omnigraph.language.schema import RangeRule, compile_schema, plan_migration

_EDGE = "node P { n: String } edge K: P -> P "

# id, schema, what it is now, and what an accepted text of this form still is without strictness.
_ROWS = (
    ("W01", "node P { n: I32 @range(n, ..10) }", "accepted", "accepted"),
    ("W02", _EDGE + "@card(5)", "parse", "accepted"),
    ("W03", "node P { n: I32 @range @check }", "parse", "accepted"),
    ("W04", "nodeP{n:String}", "syntax", "accepted"),
    ("W05", "node A { a: Stringb: I32 }", "syntax", "accepted"),
    ("W06", "node A { true_x: String @index(true_x) }", "accepted", "accepted"),
    ("W07", "node A { t: [String] @unique(t) }", "parse", "accepted"),
    ("W07b", "node A { t: Vector(2) @unique(t) }", "parse", "accepted"),
    ("W08", "node A { t: [String] @index(t) }", "parse", "accepted"),
    ("W09", "node A { t: [I32] @range(t, 0..1) }", "parse", "accepted"),
    ("W10", 'node A { t: [String] @check(t, "x") }', "parse", "accepted"),
    ("W11", 'node A { c: String @check(c, "(") }', "parse", "accepted"),
    ("W12", "node A { n: I32 @range(n, 10..1) }", "parse", "accepted"),
    ("W13", "node A { a: String @uniqe }", "warning", "accepted"),
    ("W14", "node A { id: String }", "parse", "accepted"),
    ("W14b", _EDGE + "{ src: String }", "parse", "accepted"),
    ("W14c", _EDGE + "{ dst: String }", "parse", "accepted"),
    ("W15", _EDGE + "{ from: String }", "parse", "accepted"),
    ("W15b", _EDGE + "{ to: String }", "parse", "accepted"),
    ("W16", "node P { n: String n: I32 }", "parse", "parse"),
    ("W18", "node A { a: String @key(a, a) }", "warning", "accepted"),
    ("W18b", "interface I {} node A implements I, I {}", "warning", "accepted"),
    ("W19", 'interface I { x: String @description("") }', "parse", "accepted"),
)


def re2(pattern: str) -> str | None:
    """The engine that writes will use, for the tests only."""
    try:
        pc.match_substring_regex(pa.array(["x"]), pattern)
    except pa.ArrowInvalid as error:
        return str(error)
    return None


def outcome(text: str, *, strict: bool) -> str:
    try:
        compiled = compile_schema(text, check_pattern=re2, strict=strict)
    except CompileError as error:
        return error.first.stage
    return "warning" if compiled.warnings else "accepted"


@pytest.mark.parametrize(("text", "now", "then"), [pytest.param(*row[1:], id=f"schema-{row[0]}") for row in _ROWS])
def test_deviation_holds_for_new_text_and_not_for_accepted_text(text: str, now: str, then: str) -> None:
    assert outcome(text, strict=True) == now
    assert outcome(text, strict=False) == then


@pytest.mark.parametrize(
    "swap", [pytest.param("node P { a: I32 @rename_from(b) b: I32 @rename_from(a) }", id="schema-W17")]
)
def test_a_swap_of_names_warns(swap: str) -> None:
    accepted = compile_schema("node P { a: I32 b: I32 }").ir
    made = plan_migration(accepted, compile_schema(swap))
    assert made.steps == ()
    assert [warning.code for warning in made.warnings] == ["IgnoredRenameSwap", "IgnoredRenameSwap"]


def test_every_row_of_the_table_is_here() -> None:
    assert {row[0][:3] for row in _ROWS} | {"W17"} == all_ids("W")


def test_an_open_minimum_is_a_maximum_now_and_was_a_minimum() -> None:
    text = "node P { n: I32 @range(n, ..10) }"
    assert compile_schema(text).catalog.node_types["P"].ranges == (RangeRule("n", None, 10),)
    assert compile_schema(text, strict=False).catalog.node_types["P"].ranges == (RangeRule("n", 10, None),)


def test_words_that_ran_together_are_read_apart_in_accepted_text() -> None:
    relaxed = compile_schema("nodeA{a:DateTimeb:I32}edgeK:A->A", strict=False)
    assert relaxed.ir == compile_schema("node A { a: DateTime b: I32 } edge K: A -> A").ir


def test_a_pattern_is_judged_by_the_given_checker_and_by_no_one_else() -> None:
    text = 'node A { c: String @check(c, "(") }'
    seen: list[str] = []

    def refuse(pattern: str) -> str | None:
        seen.append(pattern)
        return "no"

    assert compile_schema(text).catalog.node_types["A"].checks[0].pattern == "("
    with pytest.raises(CompileError, match="invalid pattern: no"):
        compile_schema(text, check_pattern=refuse)
    assert seen == ["("]


def test_a_misspelt_annotation_is_kept_and_named() -> None:
    compiled = compile_schema("node A { a: String @uniqe }")
    (warning,) = compiled.warnings
    assert (warning.severity, warning.hint) == ("warning", "did you mean 'unique'?")
    assert compiled.catalog.node_types["A"].unique == ()
