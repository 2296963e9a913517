"""Shrinking: a failing query without everything that it does not need to fail."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from query.differential.queries import RandomQuery


def shrink(query: RandomQuery, fails: Callable[[RandomQuery], bool]) -> RandomQuery:
    """The smallest query found by leaving out pieces, one at a time, as long as it still fails."""
    smaller = True
    while smaller:
        smaller = False
        for candidate in _smaller(query):
            if fails(candidate):
                query, smaller = candidate, True
                break
    return query


def _smaller(query: RandomQuery) -> Iterator[RandomQuery]:
    if query.limit:
        yield replace(query, limit="")
    if query.offset:
        yield replace(query, offset="")
    if query.distinct:
        yield replace(query, distinct=False)
    for place in range(len(query.order)):
        yield replace(query, order=_without(query.order, place))
    for place in reversed(range(len(query.clauses))):
        if len(query.clauses) > 1:
            yield replace(query, clauses=_without(query.clauses, place))
    for place in range(len(query.items)):
        if len(query.items) > 1:
            yield replace(query, items=_without(query.items, place))
    for place, clause in enumerate(query.clauses):
        for part in _opened(clause):
            yield replace(query, clauses=(*query.clauses[:place], part, *query.clauses[place + 1 :]))
    for name in query.params:
        if f"${name}" not in replace(query, params={}).text.replace(",", " ").replace("}", " ").split():
            yield replace(query, params={other: given for other, given in query.params.items() if other != name})


def _opened(clause: str) -> Iterator[str]:
    """A block as its inside, a binding without its matches."""
    if "{" in clause and not clause.rstrip().endswith("$"):
        head, _, rest = clause.partition("{")
        if head.strip() in ("not", "or", "maybe"):
            yield rest.rpartition("}")[0].strip()
        elif ":" in head:
            yield head.strip()


def _without(pieces: tuple[str, ...], place: int) -> tuple[str, ...]:
    return (*pieces[:place], *pieces[place + 1 :])
