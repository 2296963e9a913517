"""Diagnostics: every mistake in one run, at its place, with the way out."""

from __future__ import annotations

import difflib

import pytest

from omnigraph.language import CompileError, Diagnostic, did_you_mean
from omnigraph.language.schema import compile_schema


def faults(text: str) -> list[Diagnostic]:
    with pytest.raises(CompileError) as caught:
        compile_schema(text, file="s.pg")
    return [d for d in caught.value.diagnostics if d.severity == "error"]


def places(text: str) -> list[tuple[int, int]]:
    return [(d.position.line, d.position.column) for d in faults(text) if d.position]


def test_several_syntax_errors_are_reported_in_one_run() -> None:
    text = "node a {}\nnode B { x: int }\nedge K B -> B\nnode C { y: String, }\nnode D {}"
    assert places(text) == [(1, 6), (2, 13), (3, 8), (4, 19)]


def test_several_rule_errors_are_reported_in_one_run() -> None:
    text = "node A { a: String? @key b: Vector(0) @range(a, 0..1) }\nedge K: A -> Q"
    found = faults(text)
    assert [d.stage for d in found] == ["parse", "parse", "parse", "catalog"]
    assert {d.file for d in found} == {"s.pg"}


def test_a_missing_brace_does_not_swallow_the_next_declaration() -> None:
    (fault,) = faults("node A { a: String\nnode B { b: String }")
    assert fault.message == "expected '}', found 'node'"
    assert fault.position is not None
    assert fault.position.line == 2


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ("nod A {}", "expected 'interface', 'node' or 'edge', found 'nod'", "did you mean 'node'?"),
        ("nodeA {}", "expected 'interface', 'node' or 'edge', found 'nodeA'", "put a space after the keyword"),
        ("# x", "expected 'interface', 'node' or 'edge', found '#'", "comments start with //"),
        ("node A { a: Strin }", "unknown type 'Strin'", "did you mean 'String'?"),
        ("node A { a: int }", "unknown type 'int'", "did you mean 'I64'?"),
        ("node A { a: String @rename_from(User) }", "expected a value or a name, found 'User'", 'quote it: "User"'),
        ("node A { a: I32 @default(-1) }", "expected a value or a name, found '-'", "quote negative numbers"),
        ("node A { a: String, }", "expected a property or '}', found ','", "properties are not separated by commas"),
        ("node A {", "expected a property, a constraint or '}', found the end of the text", None),
        ('node A @description("x {}', "this string is never closed", 'close it with "'),
        ("node A { name: String @key(nme) }", "@key: node 'A' has no property 'nme'", "did you mean 'name'?"),
        (
            "node Per {} edge K: Per -> Pr",
            "edge 'K' names node type 'Pr', which is not declared",
            "did you mean 'Per'?",
        ),
        ("interface Named {} node A implements Name {}", "unknown interface 'Name'", "did you mean 'Named'?"),
        ("node A { n: I32 @range(n, 9..1) }", "@range minimum 9 is above its maximum 1", "did you mean 1..9?"),
        ("node A { n: I32 @default(x) }", "@default on property 'A.n': got \"x\", expected a number (I32)", None),
        ("node A { n: I32 @default }", "@default takes exactly one value", "@default(0)"),
        ("node A { n: [I32] @default(1) }", "@default on property 'A.n': [I32] has no literal form", None),
        (
            "node A @default(1) {}",
            "@default belongs to a property, not to node 'A'",
            "put it after the type of a property: name: String @default",
        ),
    ],
)
def test_an_error_says_what_was_expected_and_what_to_do(text: str, message: str, hint: str | None) -> None:
    first = faults(text)[0]
    assert (first.message, first.hint) == (message, hint)


def test_offsets_count_bytes_and_columns_count_characters() -> None:
    (fault,) = faults('node A @description("é") { a: nope }')
    assert fault.span is not None
    assert fault.position is not None
    assert (fault.span.start, fault.position.column) == (31, 31)


def test_an_error_points_into_its_line() -> None:
    with pytest.raises(CompileError) as caught:
        compile_schema("node A {\n    a: Strin\n}", file="s.pg")
    assert caught.value.render().splitlines() == [
        "parse error: unknown type 'Strin'",
        "  --> s.pg:2:8",
        "  2 |     a: Strin",
        "             ^^^^^  did you mean 'String'?",
    ]


def test_a_text_that_is_not_unicode_is_refused_with_a_place() -> None:
    (fault,) = faults("node A {} // \ud800")
    assert fault.position is not None
    assert fault.position.column == 14


def test_ids_of_names_never_collide_silently(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("omnigraph.language.schema.lower.fnv1a32", lambda text: 7)
    found = faults("node A {} node B {}")
    assert [d.stage for d in found] == ["catalog"]


def test_a_text_that_is_no_schema_at_all_gets_a_bounded_number_of_errors() -> None:
    assert len(faults("node a {}\n" * 5000)) == 100


def test_of_very_many_names_only_the_likeliest_are_compared_in_full(monkeypatch: pytest.MonkeyPatch) -> None:
    """Names that are long and alike cost milliseconds each: ten thousand of them would be half a minute."""
    compared, compare = list[str](), difflib.SequenceMatcher.ratio

    def counted(matcher: difflib.SequenceMatcher[str]) -> float:
        compared.append(str(matcher.a))
        return compare(matcher)

    monkeypatch.setattr(difflib.SequenceMatcher, "ratio", counted)
    names = [f"agents/run-{number:05}" for number in range(3000)]
    assert did_you_mean("agents/rum-01234", [*names, "Drafts"]) == "did you mean 'agents/run-01234'?"
    assert len(set(compared)) <= 100
    assert did_you_mean("DRAFTS", [*names, "drafts"]) == "did you mean 'drafts'?"
