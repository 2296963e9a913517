"""What the language can say beyond its first version, and that nothing said before means something else now."""

from __future__ import annotations

from typing import Any

import pytest

from language.query.library import CATALOG, compiled
from omnigraph.language import CompileError
from omnigraph.language.query import MutationIR, QueryIR, compile_query, is_insert_only, parse_queries
from omnigraph.language.query.ir import (
    ROW,
    Aggregate,
    AliasRef,
    Bm25,
    Distance,
    EntityObject,
    Expand,
    Filter,
    InList,
    InsertOp,
    Literal,
    Nearest,
    NullTest,
    OrderKey,
    PropAccess,
    UpdateOp,
    Variable,
)
from omnigraph.language.query.parse.literals import NULL, FloatLit, IntegerLit, ListLit
from omnigraph.language.schema import compile_schema


def read(body: str, declaration: str = "") -> QueryIR:
    ir = compiled(body, declaration).ir
    assert isinstance(ir, QueryIR)
    return ir


def write(body: str, declaration: str = "") -> MutationIR:
    ir = compiled(body, declaration).ir
    assert isinstance(ir, MutationIR)
    return ir


def first_of(ir: QueryIR, kind: type[Any]) -> Any:
    return next(op for op in ir.pipeline if isinstance(op, kind))


ACCEPTED = [
    ("", "match { $p: Person $p.age is null } return { $p.name }"),
    ("", "match { $p: Person $p.age is not null } return { $p.name }"),
    ("", "match { $p: Person $p.tags is null } return { $p.name }"),
    ("", 'match { $p: Person $p.name in ["a", "b"] } return { $p.name }'),
    ("", "match { $p: Person $p.age in [] } return { $p.name }"),
    ("$l: [I64]", "match { $p: Person $p.age in $l } return { $p.name }"),
    ("", "match { $p: Person $q: Person $q.name in $p.tags } return { $p.name }"),
    ("$x: I64", "match { $p: Person $x in [1, 2] } return { $p.name }"),
    ("$r: String?", "match { $p: Person or { $r is null $p.role = $r } } return { $p.name }"),
    ("", "match { $p: Person or { $p.age = 1 } } return { $p.name }"),
    ("", "match { $p: Person maybe { $p worksAt $c $c.size > 1 } $c is null } return { $p.name, $c.name, $c }"),
    ("", "match { $p: Person maybe { $p $w:knows $q } } return { $w.weight, $q.* }"),
    ("", "match { $p: Person maybe { $p knows $q } maybe { $q worksAt $c } } return { $c.name }"),
    ("", "match { $p: Person not { or { $p.age = 1 $p.age = 2 } } } return { $p.name }"),
    ("", "match { $p: Person not { maybe { $p knows $q } } } return { $p.name }"),
    ("", "match { $p: Person } return distinct { $p.role } order { $p.role desc }"),
    ("", "match { $p: Person } return { count(distinct $p.role) as n }"),
    ("", "match { $p: Person } return { $p.role, count(distinct $p) as n } order { n }"),
    ("$n: I32, $m: U64?", "match { $p: Person } return { $p.name } limit $n offset $m"),
    ("", "match { $p: Person } return { $p.name } offset 1 limit 2"),
    ("", "match { $p: Person } return { $p.name } offset 1"),
    ("", "match { $p: Person $p $w:knows $q } return { $p.*, $w.* as edge }"),
    ("", "match { $p: Person $p knows $q } return { $p.*, count($q) as n }"),
    ("", "match { $p: Person $p <knows>{2,} $q } return { $q.name }"),
    ("", "match { $p: Person $q: Person distance($p knows{1,3} $q) >= 2 } return { $p.name }"),
    ("", "match { $p: Person $q: Person } return { distance($p <knows>{1,} $q) as d } order { d, $p.name }"),
    ("", "match { $p: Person $q: Person } return { $p.name } order { distance($p knows{1,3} $q) desc }"),
    ("", "match { $p: Person $q: Person } return { min(distance($p knows{1,3} $q)) as d }"),
    ("", "match { $p: Person $c: Company } return { distance($c worksAt{1,1} $p) as d }"),
    ("", "match { $p: Person $p.score > -1.5 $p.age != -3 } return { -1 as x, null as y }"),
    ("", "match { $p: Person } return { min($p.born) as a, max($p.seen) as b }"),
    ("", "match { $p: Person } return { 18446744073709551615 as big, -9223372036854775808 as small }"),
    ("", "insert Person { name: \"a\", age: null, score: -1 }"),
    ("", "update Person set { age: null } where email is not null"),
    ("$l: [String]", "delete Person where name in $l"),
    ("", "match { $d: Doc } return { search($d.title, \"x\") as hit, bm25($d.title, \"x\") }"),
]  # fmt: skip


@pytest.mark.parametrize(("declaration", "body"), ACCEPTED)
def test_new_form_compiles(declaration: str, body: str) -> None:
    hash(compiled(body, declaration))


def test_null_test_reads_a_property_a_parameter_or_a_node() -> None:
    assert first_of(read("match { $p: Person $p.age is not null } return { 1 }"), NullTest).negated
    node = first_of(read("match { $p: Person maybe { $p knows $q } $q is null } return { 1 }"), NullTest)
    assert node == NullTest(Variable("q", "Person", nullable=True), negated=False)


def test_membership_keeps_list_and_value_apart() -> None:
    test = first_of(read("match { $p: Person $p.age in [1, 2] } return { 1 }"), InList)
    assert isinstance(test.value, PropAccess)
    assert test.members.value == ListLit((IntegerLit(1), IntegerLit(2)))


def test_variables_of_maybe_are_nullable_outside_and_required_inside() -> None:
    query = compiled("match { $p: Person maybe { $p worksAt $c } } return { $p.name, $c.name, $c, $c.* as o }")
    assert [column.nullable for column in query.columns] == [False, True, True, True]
    ir = query.ir
    assert isinstance(ir, QueryIR)
    assert [(bound.name, bound.nullable) for bound in ir.bindings] == [("c", True), ("p", False)]


def test_variables_of_or_stay_inside() -> None:
    with pytest.raises(CompileError, match="T6"):
        compiled("match { $p: Person or { $p knows $q } } return { $q.name }")


def test_unbounded_traversal_has_no_maximum() -> None:
    expand = first_of(read("match { $p: Person $p knows{2,} $q } return { 1 }"), Expand)
    assert (expand.min_hops, expand.max_hops) == (2, None)


def test_distance_knows_its_edge_and_ends() -> None:
    [item] = read("match { $p: Person $c: Company } return { distance($c worksAt{1,2} $p) }").return_exprs
    assert item.expr == Distance("c", "p", "WorksAt", "in", "Company", "Person", 1, 2)
    assert item.name == "distance"


def test_distance_is_a_read_of_its_edge_type() -> None:
    reads = compiled("match { $p: Person $q: Person } return { distance($p knows{1,2} $q) }").operation.reads
    assert [(ref.kind, ref.type_name) for ref in reads] == [("node", "Person"), ("edge", "Knows")]


def test_distance_needs_bounds() -> None:
    with pytest.raises(CompileError) as raised:
        compiled("match { $p: Person $q: Person } return { distance($p knows $q) }")
    assert raised.value.error_code == "parse_error"
    assert "knows{1,}" in (raised.value.hint or "")


def test_whole_entity_leaves_blobs_out_and_is_an_object() -> None:
    query = compiled("match { $d: Doc } return { $d.* }")
    [item] = query.ir.return_exprs  # type: ignore[union-attr]
    assert isinstance(item.expr, EntityObject)
    assert [name for name, _ in item.expr.properties] == ["body", "emb", "slug", "title"]
    assert (query.columns[0].name, query.columns[0].kind) == ("d", "object")


def test_count_distinct_is_marked() -> None:
    [item] = read("match { $p: Person } return { count(distinct $p.role) }").return_exprs
    assert isinstance(item.expr, Aggregate)
    assert item.expr.distinct


def test_only_count_is_distinct() -> None:
    with pytest.raises(CompileError, match="sum takes no 'distinct'"):
        compiled("match { $p: Person } return { sum(distinct $p.age) }")


def test_sort_keys_of_grouped_and_distinct_queries_are_columns() -> None:
    grouped = read("match { $p: Person $p knows $f } return { $p.name as who, count($f) as n } order { $p.name }")
    assert grouped.order_by == (OrderKey(AliasRef("who", 0), descending=False),)
    distinct = read("match { $p: Person } return distinct { $p.age } order { $p.age desc }")
    assert distinct.order_by == (OrderKey(AliasRef("p.age", 0), descending=True),)


def test_ranks_put_the_best_first() -> None:
    assert read('match { $d: Doc } return { 1 } order { bm25($d.title, "x") }').order_by[0].descending
    assert not read('match { $d: Doc } return { 1 } order { bm25($d.title, "x") asc }').order_by[0].descending
    assert not read('match { $d: Doc } return { 1 } order { nearest($d.emb, "x") } limit 1').order_by[0].descending


def test_rank_behind_an_alias_stands_in_the_order_itself() -> None:
    ir = read('match { $d: Doc } return { nearest($d.emb, "x") as d, d as e } order { e } limit 1')
    assert isinstance(ir.rank, Nearest)
    assert isinstance(read('match { $d: Doc } return { bm25($d.title, "x") as s } order { s }').rank, Bm25)


def test_assigned_literals_have_the_type_of_their_property() -> None:
    [op] = write('insert Person { name: "a", score: 3, age: 2.0, email: null }').ops
    assert isinstance(op, InsertOp)
    values = {a.property: a.value.value for a in op.assignments if isinstance(a.value, Literal)}
    assert (values["score"], values["age"], values["email"]) == (FloatLit(3.0), IntegerLit(2), NULL)


def test_predicates_are_conditions_on_the_row() -> None:
    [op] = write("update Person set { age: 1 } where score >= 2").ops
    assert isinstance(op, UpdateOp)
    assert isinstance(op.predicate, Filter)
    assert op.predicate.left == PropAccess(ROW, "score", CATALOG.node_types["Person"].by_name["score"].type)


def test_insert_only_mutations_are_known() -> None:
    assert is_insert_only(write('insert Note { text: "a" } insert Knows { from: "a", to: "b" }'))
    assert not is_insert_only(write('insert Note { text: "a" } update Note set { rank: 1 } where text = "a"'))
    assert not is_insert_only(write('delete Note where text = "a"'))


@pytest.mark.parametrize(
    ("declaration", "body"),
    [
        ("", "match { $p: Person $p.age = null } return { 1 }"),
        ("", "match { $p: Person { age: null } } return { 1 }"),
        ("", "match { $p: Person null in [1] } return { 1 }"),
        ("", "delete Person where age = null"),
    ],
)
def test_comparison_with_null_is_warned_about(declaration: str, body: str) -> None:
    [warning] = compiled(body, declaration).warnings
    assert "never true" in warning.message


def test_edge_types_named_like_new_words_are_still_traversed() -> None:
    catalog = compile_schema("node N { k: String @key } edge In: N -> N edge Or: N -> N edge Is: N -> N").catalog
    text = "query q() { match { $a: N $a in $b $a or{1,2} $c $a is $d or { $a in $b } } return { $b } }"
    ir = compile_query(text, catalog).ir
    assert isinstance(ir, QueryIR)
    assert [op.edge_type for op in ir.pipeline if isinstance(op, Expand)] == ["In", "Or", "Is"]


def test_alias_called_null_is_still_an_alias() -> None:
    ir = read("match { $p: Person } return { $p.name as null, null as x } order { null }")
    assert ir.return_exprs[1].expr == AliasRef("null", 0)
    assert ir.order_by == (OrderKey(AliasRef("null", 0), descending=False),)


def test_source_lists_its_declarations_without_a_catalog() -> None:
    source = parse_queries(
        'query a($x: String?) @description("d") @instruction("i") { match { $p: Anything } return { 1 } }\n'
        'query b() { insert Thing { x: 1 } }'
    )  # fmt: skip
    assert source.names == ("a", "b")
    assert [d.kind for d in source.declarations] == ["read", "mutation"]
    assert (source.by_name["a"].description, source.by_name["a"].instruction) == ("d", "i")
    assert str(source.by_name["a"].params[0].type) == "String?"
    assert parse_queries("// nothing").declarations == ()
