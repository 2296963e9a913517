"""Mentions: which variables and which properties the parts of a query speak of."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from omnigraph.language.query import (
    Aggregate,
    AntiJoin,
    Bm25,
    Condition,
    Distance,
    EntityObject,
    Expand,
    Expr,
    Filter,
    Fuzzy,
    InList,
    LeftJoin,
    MatchText,
    Nearest,
    NodeScan,
    NullTest,
    Op,
    OrJoin,
    PropAccess,
    QueryIR,
    Rrf,
    Search,
    Variable,
)


def variables_of(part: Expr | Condition) -> frozenset[str]:
    """The variables whose entities an expression or a condition looks at."""
    return frozenset(_variables(part))


def _variables(part: Expr | Condition) -> Iterator[str]:
    match part:
        case PropAccess(variable=name) | Variable(name=name) | EntityObject(variable=name):
            yield name
        case Aggregate(arg=arg):
            yield from _variables(arg)
        case (
            Nearest(field=field) | Search(field=field) | MatchText(field=field) | Fuzzy(field=field) | Bm25(field=field)
        ):
            yield field.variable
        case Rrf(primary=primary, secondary=secondary):
            yield from _variables(primary)
            yield from _variables(secondary)
        case Distance(src_var=source, dst_var=target):
            yield source
            yield target
        case Filter(left=left, right=right):
            yield from _variables(left)
            yield from _variables(right)
        case NullTest(value=value):
            yield from _variables(value)
        case InList(value=value, members=members):
            yield from _variables(value)
            yield from _variables(members)
        case _:
            return


def expressions_of(ops: Iterable[Op]) -> Iterator[Expr]:
    """Every expression that conditions in these ops hold, inner blocks included."""
    for op in ops:
        match op:
            case NodeScan(filters=filters) | Expand(dst_filters=filters):
                for condition in filters:
                    yield from _sides(condition)
            case AntiJoin(inner=inner) | LeftJoin(inner=inner):
                yield from expressions_of(inner)
            case OrJoin(alternatives=alternatives):
                for inner in alternatives:
                    yield from expressions_of(inner)
            case Filter() | NullTest() | InList():
                yield from _sides(op)


def _sides(condition: Condition) -> tuple[Expr, ...]:
    match condition:
        case Filter(left=left, right=right):
            return left, right
        case NullTest(value=value):
            return (value,)
        case InList(value=value, members=members):
            return value, members


def is_row_count(expr: Expr) -> bool:
    """An aggregate that only counts rows: of a node that is never NULL."""
    return (
        isinstance(expr, Aggregate)
        and expr.func == "count"
        and not expr.distinct
        and isinstance(expr.arg, Variable)
        and not expr.arg.nullable
    )


def variables_of_output(query: QueryIR) -> frozenset[str]:
    """The variables that the final rows must still have: for columns, sort keys and ties."""
    needed: set[str] = set()
    for item in query.return_exprs:
        if not is_row_count(item.expr):
            needed |= variables_of(item.expr)
    for key in query.order_by:
        needed |= variables_of(key.expr)
    if query.order_by and not query.grouped and not query.distinct:
        needed |= set(query.tie_break)
    return frozenset(needed)
