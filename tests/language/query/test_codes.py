"""Every published code is raised by a query that breaks its rule, at the place where it is broken."""

from __future__ import annotations

import pytest

from language.query.library import CATALOG, language_cases
from omnigraph.language import CompileError
from omnigraph.language.query import compile_queries, compile_query
from omnigraph.language.query.check.codes import CODES

D = "match { $d: Doc }"
P = "match { $p: Person }"
KNOWS = "match { $p: Person $p $w:knows $q }"

# code | the piece of text that is blamed | declaration | body
CASES = f"""
T1  | Persn              |                | match {{ $p: Persn }} return {{ 1 }}
T2  | wage               |                | match {{ $p: Person {{ wage: 1 }} }} return {{ 1 }}
T3  | null               |                | match {{ $p: Person {{ name: null }} }} return {{ 1 }}
T3  | [1.0, 2.0]         |                | insert Doc {{ slug: "a", title: "b", emb: [1.0, 2.0], body: [1.0, 2.0] }}
T3  | 16777217000000001  |                | insert Person {{ name: "a", score: 16777217000000001 }}
T3  | 3000000000         |                | insert Person {{ name: "a", age: 3000000000 }}
T3  | -1                 |                | insert Note {{ text: "a", rank: -1 }}
T3  | null               |                | insert Note {{ text: null }}
T3  | 5                  |                | insert Knows {{ from: 5, to: "b" }}
T4  | knwos              |                | match {{ $p: Person $p knwos $q }} return {{ 1 }}
T4  | in                 | $l: [String]   | match {{ $p: Person $p in $l }} return {{ 1 }}
T5  | $c                 |                | match {{ $c: Company $d: Doc $d wrote $c }} return {{ 1 }}
T5  | $c                 |                | match {{ $c: Company $c knows $c }} return {{ 1 }}
T6  | agee               |                | {P} return {{ $p.agee }}
T6  | $x.*               |                | {P} return {{ $x.* }}
T6  | $q                 |                | {P} return {{ distance($p knows{{1,2}} $q) }}
T7  | $b                 | $b: Blob       | match {{ $p: Person $p.name = $b }} return {{ 1 }}
T7  | $v                 | $v: Vector(2)  | match {{ $p: Person $v = 1 }} return {{ 1 }}
T7  | $p.tags            |                | match {{ $p: Person $p.tags in ["a"] }} return {{ 1 }}
T7  | [1]                |                | match {{ $p: Person $p.name in [1] }} return {{ 1 }}
T7  | $p.name            |                | match {{ $p: Person $p.name in $p.name }} return {{ 1 }}
T7  | $n                 | $n: String     | {P} return {{ $p.name }} limit $n
T7  | $n                 | $n: I64        | match {{ $p: Person {{ name: $n }} }} return {{ 1 }}
T7  | nearest($d.emb, "x") |              | match {{ $d: Doc nearest($d.emb, "x") < 1 }} return {{ 1 }}
T7  | count($d)          |                | match {{ $d: Doc count($d) > 1 }} return {{ 1 }}
T7  | "x"                |                | delete Person where age = "x"
T7  | tags               |                | delete Person where tags = "x"
T7  | $f                 | $f: I64        | insert Knows {{ from: $f, to: "x" }}
T8  | count($p)          |                | {P} return {{ count(count($p)) }}
T8  | $p.active          |                | {P} return {{ max($p.active) }}
T8  | $p                 |                | {P} return {{ avg($p) }}
T8  | $p.*               |                | {P} return {{ count($p.*) }}
T9  | now()              |                | {P} return {{ count($p) as n, now() }}
T9  | or {{ $x = 1 }}    | $x: I64        | match {{ $p: Person or {{ $x = 1 }} }} return {{ 1 }}
T9  | maybe {{ $q: Person }} |            | match {{ $p: Person maybe {{ $q: Person }} }} return {{ 1 }}
T10 | Persn              |                | insert Persn {{ name: "x" }}
T11 | wage               |                | update Person set {{ age: 1 }} where wage = 1
T11 | from               |                | delete Person where from = "x"
T12 | Doc                |                | insert Doc {{ slug: "x" }}
T13 | age: 2             |                | update Person set {{ age: 1, age: 2 }} where name = "x"
T14 | $n                 |                | {P} return {{ $p.name }} limit $n
T14 | $x                 |                | delete Person where name = $x
T15 | {{0,}}             |                | match {{ $p: Person $p knows{{0,}} $q }} return {{ 1 }}
T15 | $d.title           |                | {D} return {{ nearest($d.title, "x") }}
T15 | [1.0]              |                | {D} return {{ nearest($d.emb, [1.0]) }}
T15 | 5                  |                | {D} return {{ nearest($d.emb, 5) }}
T15 | $x.emb             |                | {D} return {{ nearest($x.emb, "x") }}
T16 | Knows              |                | update Knows set {{ weight: 1 }} where weight = 2
T17 | d                  |                | {D} return {{ nearest($d.emb, "x") as d }} order {{ d }}
T18 | k                  |                | {D} return {{ 1 as k, nearest($d.emb, "x") as d }} order {{ d, k }} limit 1
T19 | "two"              |                | match {{ $d: Doc fuzzy($d.title, "x", "two") }} return {{ 1 }}
T19 | $d.slug            |                | match {{ $d: Doc search($d.title, $d.slug) }} return {{ 1 }}
T20 | 3                  |                | match {{ $d: Doc match_text($d.title, 3) }} return {{ 1 }}
T21 | search($d.title, "x") |             | {D} return {{ rrf(search($d.title, "x"), bm25($d.title, "x")) }}
T21 | r      |    | {D} return {{ rrf(nearest($d.emb, "x"), bm25($d.title, "x")) as r }} order {{ r }}
T22 | worksAt            |                | match {{ $p: Person $p <worksAt> $c }} return {{ 1 }}
T23 | $w                 |                | match {{ $p: Person $p $w:knows $q $w knows $r }} return {{ 1 }}
T23 | $w: Person         |                | match {{ $p: Person $p $w:knows $q $w: Person }} return {{ 1 }}
T23 | $q                 |                | match {{ $p: Person $p $q:knows $q }} return {{ 1 }}
T23 | $w.since           |                | match {{ $p: Person $p $w:knows $q search($w.since, "x") }} return {{ 1 }}
T23 | $w                 |                | {KNOWS} return {{ count($w) }}
T24 | $d.payload         |                | {D} return {{ count($d.payload) }}
T24 | $d.payload         |                | match {{ $d: Doc $d.payload = "x" }} return {{ 1 }}
T90 | $p.name            |                | {P} return {{ $p.name, $p.name }}
T90 | count($p.name)     |                | {P} return {{ $p.name, count($p.name) }}
T91 | later              |                | {P} return {{ later as x, 1 as later }}
T92 | 1                  |                | {P} return {{ $p.name }} order {{ 1 }}
T92 | $p.tags            |                | {P} return {{ $p.name }} order {{ $p.tags }}
T92 | whole              |                | {P} return {{ $p.* as whole }} order {{ whole }}
T92 | $p.age             |                | {P} return {{ $p.name, count($p) as n }} order {{ $p.age }}
T92 | $p.age             |                | {P} return distinct {{ $p.name }} order {{ $p.age }}
T92 | bm25($d.title, "x") |               | {D} return {{ 1 }} order {{ $d.slug, bm25($d.title, "x") }}
T92 | d desc             |                | {D} return {{ nearest($d.emb, "x") as d }} order {{ d desc }} limit 1
T93 | bm25($e.title, "x") | | match {{ $d: Doc $d cites $e }} return {{ rrf(nearest($d.emb, ""), bm25($e.title, "x")) }}
D2  | delete Note where text = "a" |      | insert Note {{ text: "a" }} delete Note where text = "a"
"""
ROWS = [[cell.strip() for cell in line.split("|", 3)] for line in CASES.strip().splitlines()]


@pytest.mark.parametrize(("code", "blamed", "declaration", "body"), ROWS)
def test_broken_rule_is_reported_with_its_code_and_place(code: str, blamed: str, declaration: str, body: str) -> None:
    text = f"query q({declaration}) {{ {body} }}"
    with pytest.raises(CompileError) as raised:
        compile_query(text, CATALOG)
    first = raised.value.first
    assert (first.code, len(raised.value.diagnostics)) == (code, 1), raised.value.render()
    assert first.span is not None
    assert text.encode()[first.span.start : first.span.end].decode() == blamed


def test_every_code_has_a_case() -> None:
    assert {row[0] for row in ROWS} == set(CODES)


def test_every_code_of_the_conformance_tables_is_known() -> None:
    named = {row["expected"]["code"] for row in language_cases() if "code" in row["expected"]} - {"parse_error"}
    assert named <= set(CODES)


@pytest.mark.parametrize(
    ("body", "hint"),
    [
        ("match { $p: Persn } return { 1 }", "did you mean 'Person'?"),
        ("match { $p: Person } return { $p.agee }", "did you mean 'age'?"),
        ("match { $p: Person $p knwos $q } return { 1 }", "did you mean 'knows'?"),
        ("match { $p: Person } retrun { 1 }", "did you mean 'return'?"),
        ("mtach { $p: Person } return { 1 }", "did you mean 'match'?"),
        ("match { $p: Person } return { cuont($p) }", "did you mean 'count'?"),
        ("match { $p: Person } return { $p.id }", "the id is $p itself"),
        ("match { $p: Person $p.born > \"2020-01-01\" } return { 1 }", 'write date("2020-01-01")'),
        ("insert Persn { name: \"x\" }", "did you mean 'Person'?"),
        ("match { $p: Knows } return { 1 }", "Knows is an edge type; traverse it: $a knows $b"),
        ("match { $p: Person $p knows{2} $q } return { 1 }", "write {2,2} for exactly 2 hops"),
    ],
)  # fmt: skip
def test_refusal_offers_the_way_out(body: str, hint: str) -> None:
    with pytest.raises(CompileError) as raised:
        compile_query(f"query q() {{ {body} }}", CATALOG)
    assert raised.value.hint == hint


def test_all_mistakes_of_a_text_are_reported_at_once() -> None:
    text = """
    query a() { match { $p: Ghost $p knows $q $p.age > 1 $x: Person { wage: 1, age: "x" } }
                return { $q.name, $x.nope } }
    query b() { insert Person { name: "x", age: "y", wage: 1 } }
    """
    with pytest.raises(CompileError) as raised:
        compile_queries(text, CATALOG)
    assert [d.code for d in raised.value.diagnostics] == ["T1", "T2", "T3", "T6", "T3", "T11"]


def test_column_whose_item_is_refused_is_not_complained_about_again() -> None:
    text = "query q() { match { $p: Person } return { sum($p.name) as s, s as t } order { s } }"
    with pytest.raises(CompileError) as raised:
        compile_query(text, CATALOG)
    assert [d.code for d in raised.value.diagnostics] == ["T8"]


def test_syntax_errors_of_several_queries_are_reported_at_once() -> None:
    text = "query a() { match { } }\nquery b() { match { $p: Person } return { $p. } }\nquery c() { 'x' }"
    with pytest.raises(CompileError) as raised:
        compile_queries(text, CATALOG)
    assert [d.position.line for d in raised.value.diagnostics if d.position] == [1, 2, 3]


def test_unclosed_string_is_reported_at_its_opening() -> None:
    text = 'query a() {\n  match { $p: Person { name: "Ann } }\n  return { $p.name }\n}\n'
    with pytest.raises(CompileError) as raised:
        compile_query(text, CATALOG)
    position = raised.value.first.position
    assert position is not None
    assert (position.line, position.column) == (2, 30)


def test_offsets_are_bytes_and_columns_are_characters() -> None:
    with pytest.raises(CompileError) as raised:
        compile_query('query q() { match { $p: Person $p.name = "é" $p.agee > 1 } return { 1 } }', CATALOG)
    first = raised.value.first
    assert first.span is not None
    assert first.position is not None
    assert first.span.start == first.position.column


@pytest.mark.parametrize("text", ["queryfoo() { }", "query q() { match { $p: P } return { 1 } limit10 }"])
def test_keyword_needs_a_border(text: str) -> None:
    with pytest.raises(CompileError) as raised:
        compile_query(text, CATALOG)
    assert raised.value.error_code == "parse_error"


@pytest.mark.parametrize(
    "name", ["date", "limit", "order", "query", "now", "in", "is", "or", "maybe", "distinct", "null"]
)
def test_words_are_keywords_by_position_only(name: str) -> None:
    query = compile_query(f"query {name}(${name}: I64) {{ match {{ $p: Person }} return {{ ${name} as {name} }} order {{ {name} }} }}", CATALOG)  # noqa: E501  # fmt: skip
    assert query.name == name
    assert query.columns[0].name == name
