"""Random queries: valid reads of the whole language without search, made from the schema so that most of them compile.

A query is kept in pieces, so that a failing one can be made smaller piece by piece.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random
from typing import Any

from query.differential.graphs import RandomGraph
from query.differential.patterns import PatternMaker, Var
from query.differential.values import NUMBERS

ORDERED = (*NUMBERS, "String", "Enum", "Date", "DateTime")


@dataclass(frozen=True)
class RandomQuery:
    """The pieces of a query, and its parameters."""

    clauses: tuple[str, ...]
    items: tuple[str, ...]
    params: dict[str, tuple[str, Any]] = field(default_factory=dict)
    """Declared type and value, by name."""
    distinct: bool = False
    order: tuple[str, ...] = ()
    limit: str = ""
    offset: str = ""

    @property
    def text(self) -> str:
        order = f" order {{ {', '.join(self.order)} }}" if self.order else ""
        counts = "".join(
            f" {word} {count}" for word, count in (("limit", self.limit), ("offset", self.offset)) if count
        )
        names = ", ".join(f"${name}: {kind}" for name, (kind, _) in self.params.items())
        distinct = "distinct " if self.distinct else ""
        match, items = " ".join(self.clauses), ", ".join(self.items)
        return f"query q({names}) {{ match {{ {match} }} return {distinct}{{ {items} }}{order}{counts} }}"

    @property
    def given(self) -> dict[str, Any]:
        return {name: value for name, (_, value) in self.params.items()}


def random_query(graph: RandomGraph, seed: int) -> RandomQuery:
    """The same query for the same graph and seed."""
    return _QueryMaker(graph, Random(f"query {graph.seed} {seed}")).query()


class _QueryMaker(PatternMaker):
    """Writes one query: a pattern, and what is returned of it in which order."""

    def query(self) -> RandomQuery:
        scope: list[Var] = []
        clauses = [self.start(scope)]
        steps = self.rng.choice([0, 1, 1, 2, 2, 3, 3, 4, 5])
        clauses.extend(self.clause(scope, depth=0) for _ in range(steps))
        return self.shaped(tuple(clauses), scope)

    # --- return, order, limit ---

    def shaped(self, clauses: tuple[str, ...], scope: list[Var]) -> RandomQuery:
        grouped = self.rng.random() < 0.3
        values = self.group_items(scope) if grouped else self.plain_items(scope)
        items = tuple(f"{value} as c{place}" for place, (value, _) in enumerate(values))
        distinct = self.rng.random() < 0.2
        columns = [f"c{place}" for place, (_, sortable) in enumerate(values) if sortable]
        order = self.order(scope, columns, only_columns=grouped or distinct) if self.rng.random() < 0.5 else ()
        limit, offset = "", ""
        if self.rng.random() < 0.3:
            limit = self.count([0, 1, 2, 5, 50])
        if self.rng.random() < 0.15:
            offset = self.count([0, 1, 3])
        return RandomQuery(clauses, items, self.params, distinct, order, limit, offset)

    def count(self, choices: list[int]) -> str:
        number = self.rng.choice(choices)
        if self.rng.random() < 0.3:
            null = self.rng.random() < 0.2
            return f"${self.declare('I64?' if null else 'I64', None if null else number)}"
        return str(number)

    def access(self, scope: list[Var], kinds: tuple[str, ...] | None = None) -> tuple[str, str] | None:
        """A property of a bound variable with its type."""
        fitting = [
            (f"${var.name}.{name}", kind)
            for var in scope
            for name, kind in var.entity.properties.items()
            if kinds is None or kind in kinds
        ]
        return self.rng.choice(fitting) if fitting else None

    def plain_items(self, scope: list[Var]) -> list[tuple[str, bool]]:
        """Values to return, and whether one can sort by them."""
        items: list[tuple[str, bool]] = []
        nodes = [var for var in scope if var.is_node]
        for _ in range(self.rng.choice([1, 2, 3, 4])):
            roll = self.rng.random()
            found = self.access(scope)
            if roll < 0.5 and found:
                items.append((found[0], not found[1].startswith(("[", "Vector"))))
            elif roll < 0.65 and nodes:
                items.append((f"${self.rng.choice(nodes).name}", True))
            elif roll < 0.73:
                items.append((f"${self.rng.choice(scope).name}.*", False))
            elif roll < 0.8 and (far := self.distance(nodes)):
                items.append((far, True))
            elif roll < 0.85 and items:
                items.append((f"c{self.rng.randrange(len(items))}", False))
            elif roll < 0.88:
                items.append((self.rng.choice(["now()", "null", "[1, 2]"]), False))
            else:
                kind = self.rng.choice(["I64", "String", "Bool", "F64", "Date", "DateTime"])
                items.append((self.operand(kind), True))
        return items

    def group_items(self, scope: list[Var]) -> list[tuple[str, bool]]:
        items: list[tuple[str, bool]] = []
        nodes = [var for var in scope if var.is_node]
        for _ in range(self.rng.choice([0, 1, 1, 2])):
            roll, found = self.rng.random(), self.access(scope)
            if roll < 0.6 and found:
                items.append((found[0], not found[1].startswith(("[", "Vector"))))
            elif roll < 0.75 and nodes:
                items.append((f"${self.rng.choice(nodes).name}", True))
            elif roll < 0.85:
                items.append((f"${self.rng.choice(scope).name}.*", False))
            elif far := self.distance(nodes):
                items.append((far, True))
        for _ in range(self.rng.choice([1, 1, 2, 3])):
            items.insert(self.rng.randrange(len(items) + 1), (self.aggregate(scope, nodes), True))
        return items

    def aggregate(self, scope: list[Var], nodes: list[Var]) -> str:
        function = self.rng.choice(["count", "count", "sum", "avg", "min", "max"])
        if function == "count":
            found = self.access(scope)
            argument = (
                f"${self.rng.choice(nodes).name}" if nodes and self.rng.random() < 0.4 else found[0] if found else None
            )
            if argument is not None:
                return f"count({self.rng.choice(['', 'distinct '])}{argument})"
        elif found := self.access(scope, NUMBERS if function in ("sum", "avg") else ORDERED):
            return f"{function}({found[0]})"
        elif far := self.distance(nodes):
            return f"{function}({far})"
        return f"count(${nodes[0].name})" if nodes else "count(1)"

    def order(self, scope: list[Var], columns: list[str], *, only_columns: bool) -> tuple[str, ...]:
        keys: dict[str, None] = {}
        for _ in range(self.rng.choice([1, 1, 2, 3])):
            sortable = self.access(scope, (*ORDERED, "Bool"))
            far = self.distance([var for var in scope if var.is_node])
            roll = self.rng.random()
            if columns and (only_columns or roll < 0.5):
                keys[self.rng.choice(columns)] = None
            elif sortable and not only_columns and roll < 0.9:
                keys[sortable[0]] = None
            elif far and not only_columns:
                keys[far] = None
        return tuple(f"{key}{self.rng.choice(['', ' asc', ' desc'])}" for key in keys)
