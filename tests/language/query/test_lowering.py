"""Rows of lowering: the pipeline of a match, printed one op per line."""

from __future__ import annotations

from typing import Any

import pytest

from language.query.library import compiled, load_cases
from omnigraph.language.query import QueryIR
from omnigraph.language.query.ir import (
    AntiJoin,
    Condition,
    Expand,
    Expr,
    Filter,
    InList,
    LeftJoin,
    Literal,
    NodeScan,
    NullTest,
    Op,
    OrJoin,
    Param,
    PropAccess,
    Search,
    Variable,
)
from omnigraph.language.query.parse.literals import literal_text

ROWS = load_cases("lowering")


def shown_name(name: str) -> str:
    return "(hidden)" if name.startswith("__") else name


def shown_expr(expr: Expr) -> str:
    match expr:
        case PropAccess(variable=variable, property=name):
            return f"{shown_name(variable)}.{name}"
        case Variable(name=name):
            return shown_name(name)
        case Param(name=name):
            return f"${name}"
        case Literal(value=value):
            return literal_text(value)
        case Search(field=field, query=query):
            return f"search({shown_expr(field)}, {shown_expr(query)})"
    return type(expr).__name__


def shown_condition(condition: Condition) -> str:
    match condition:
        case Filter(left=left, op=op, right=right):
            return f"{shown_expr(left)} {op} {shown_expr(right)}"
        case NullTest(value=value, negated=negated):
            return f"{shown_expr(value)} is {'not ' if negated else ''}null"
        case InList(value=value, members=members):
            return f"{shown_expr(value)} in {shown_expr(members)}"


def shown(op: Op) -> str:
    match op:
        case NodeScan(variable=variable, type_name=type_name, filters=filters):
            return f"NodeScan {shown_name(variable)} {type_name}" + bracketed(filters)
        case Expand():
            edge = f" as {op.edge_binding}" if op.edge_binding else ""
            upper = "" if op.max_hops is None else op.max_hops
            ends = f"{shown_name(op.src_var)}->{shown_name(op.dst_var)}"
            path = f"{op.edge_type} {op.direction} {op.dst_type} {op.min_hops}..{upper}"
            return f"Expand {ends} {path}{edge}{bracketed(op.dst_filters)}"
        case AntiJoin(outer_var=outer, inner=inner):
            return f"AntiJoin {outer} {braced(inner)}"
        case OrJoin(alternatives=alternatives):
            return f"Or {' '.join(braced(inner) for inner in alternatives)}"
        case LeftJoin(inner=inner, exports=exports):
            return f"LeftJoin {','.join(e.name for e in exports)} {braced(inner)}"
        case _:
            return f"Filter {shown_condition(op)}"


def bracketed(filters: tuple[Condition, ...]) -> str:
    return f" [{', '.join(shown_condition(f) for f in filters)}]" if filters else ""


def braced(ops: tuple[Op, ...]) -> str:
    return f"{{ {'; '.join(shown(op) for op in ops)} }}"


def pipeline_of(match: str, returned: str = "1", declaration: str = "") -> list[str]:
    ir = compiled(f"match {{ {match} }} return {{ {returned} }}", declaration).ir
    assert isinstance(ir, QueryIR)
    return [shown(op) for op in ir.pipeline]


def test_table_is_complete() -> None:
    assert [row["id"] for row in ROWS] == [f"I{number:02}" for number in range(1, 11)]


@pytest.mark.parametrize("row", [pytest.param(row, id=f"query-{row['id']}") for row in ROWS])
def test_match_lowers_to_the_pipeline_of_the_table(row: dict[str, Any]) -> None:
    assert pipeline_of(row["match"], row["return"], row["declaration"]) == row["pipeline"]


def test_match_of_traversals_alone_begins_with_a_scan_of_the_left_end() -> None:
    assert pipeline_of("$a knows $b") == ["NodeScan a Person", "Expand a->b Knows out Person 1..1"]


def test_second_binding_of_a_variable_adds_its_tests_to_the_first() -> None:
    assert pipeline_of('$p: Person { name: "Ann" } $p: Person { age: 30 }') == [
        'NodeScan p Person [p.name eq "Ann", p.age eq 30]'
    ]


def test_binding_of_an_outer_variable_inside_not_is_a_test() -> None:
    assert pipeline_of("$p: Person not { $p: Person { age: 30 } }") == [
        "NodeScan p Person",
        "AntiJoin p { Filter p.age eq 30 }",
    ]


def test_each_anonymous_node_has_a_name_of_its_own() -> None:
    ir = compiled("match { $p: Person $p knows $_ $p worksAt $_ } return { $p.name }").ir
    assert isinstance(ir, QueryIR)
    names = [op.dst_var for op in ir.pipeline if isinstance(op, Expand)]
    assert len(set(names)) == 2
    assert set(ir.tie_break) == {"p", *names}


def test_closing_variable_of_a_cycle_does_not_break_ties() -> None:
    ir = compiled("match { $a: Person $a $w:knows $b $b knows $a } return { $a.name }").ir
    assert isinstance(ir, QueryIR)
    assert ir.tie_break == ("a", "b", "w")


def test_unconnected_parts_are_scanned_one_after_the_other() -> None:
    assert pipeline_of("$p: Person $c: Company $p knows $q $c.size > 1") == [
        "NodeScan p Person",
        "Expand p->q Knows out Person 1..1",
        "NodeScan c Company",
        "Filter c.size gt 1",
    ]


def test_inner_variable_is_not_captured_by_an_outer_one_that_is_bound_later() -> None:
    ir = compiled("match { $p: Person not { $p knows $q } $q: Person } return { $q.name }").ir
    assert isinstance(ir, QueryIR)
    [anti] = [op for op in ir.pipeline if isinstance(op, AntiJoin)]
    [expand] = anti.inner
    assert isinstance(expand, Expand)
    assert expand.dst_var.startswith("__")


def test_maybe_block_ends_the_run_before_it() -> None:
    assert pipeline_of('$p: Person maybe { $p worksAt $c } $c: Company { name: "Acme" } $p.age > 1') == [
        "NodeScan p Person",
        "LeftJoin c { Expand p->c WorksAt out Company 1..1 }",
        "Filter c is not null",
        'Filter c.name eq "Acme"',
        "Filter p.age gt 1",
    ]


def test_or_keeps_its_alternatives_apart() -> None:
    assert pipeline_of('$p: Person or { $p.age = 1 { $p knows $q $q.name in ["a"] } }') == [
        "NodeScan p Person",
        'Or { Filter p.age eq 1 } { Expand p->q Knows out Person 1..1; Filter q.name in ["a"] }',
    ]
