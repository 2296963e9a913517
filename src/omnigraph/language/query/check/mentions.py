"""Mentions: the variables that a clause binds, and those that it uses."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator

from omnigraph.language.query.parse import (
    ANONYMOUS,
    AggregateCall,
    Binding,
    Bm25Call,
    Clause,
    Comparison,
    DistanceCall,
    Field,
    Maybe,
    Membership,
    NearestCall,
    Not,
    NullCheck,
    Or,
    RrfCall,
    Star,
    TextCall,
    TextClause,
    Traversal,
    Value,
    Var,
)


def bound_variables(clauses: Iterable[Clause]) -> frozenset[str]:
    """The variables that these clauses bind for their own block; those of a `maybe` are bound outside of it too."""
    names: set[str] = set()
    for clause in clauses:
        match clause:
            case Binding(variable=name):
                names.add(name)
            case Traversal():
                names.update(_traversed(clause))
            case Maybe(block=block):
                names |= bound_variables(block.clauses)
    names.discard(ANONYMOUS)
    return frozenset(names)


def mentioned_variables(clauses: Iterable[Clause], params: Container[str]) -> Iterator[str]:
    """The variables that these clauses use, in order, without nested `not` blocks.

    A bare `$x` in a value is a parameter if there is one of that name.
    """
    for clause in clauses:
        match clause:
            case Binding(variable=name):
                yield name
            case Traversal():
                yield from _traversed(clause)
            case Comparison(left=left, right=right) | Membership(value=left, members=right):
                yield from _in_value(left, params)
                yield from _in_value(right, params)
            case NullCheck(value=value):
                yield from _in_value(value, params)
            case TextClause(call=call):
                yield from _in_value(call, params)
            case Or(alternatives=alternatives):
                for block in alternatives:
                    yield from mentioned_variables(block.clauses, params)
            case Maybe(block=block):
                yield from mentioned_variables(block.clauses, params)
            case Not():
                pass


def _traversed(traversal: Traversal) -> Iterator[str]:
    yield traversal.left.name
    if traversal.edge is not None:
        yield traversal.edge.name
    yield traversal.right.name


def _in_value(value: Value, params: Container[str]) -> Iterator[str]:
    match value:
        case Field(variable=name) | Star(variable=name):
            yield name
        case Var(name=name):
            if name not in params:
                yield name
        case AggregateCall(argument=inner):
            yield from _in_value(inner, params)
        case TextCall(target=target, query=query) | Bm25Call(target=target, query=query):
            yield from _in_value(target, params)
            yield from _in_value(query, params)
        case NearestCall(target=field):
            yield field.variable
        case RrfCall(primary=primary, secondary=secondary):
            yield from _in_value(primary, params)
            yield from _in_value(secondary, params)
        case DistanceCall(path=path):
            yield from _traversed(path)
