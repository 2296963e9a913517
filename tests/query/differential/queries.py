"""Random queries: valid reads of the whole language without search, made from the schema so that most of them compile.

A query is kept in pieces, so that a failing one can be made smaller piece by piece.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random
from typing import Any

from query.differential.graphs import Entity, RandomGraph
from query.differential.values import NUMBERS, asked, declared, literal

COMPARE = ["=", "!=", "!=", "<", "<=", "<=", ">", ">=", ">="]
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


@dataclass(frozen=True)
class Var:
    """A variable in scope."""

    name: str
    entity: Entity

    @property
    def is_node(self) -> bool:
        return self.entity.ends is None


def random_query(graph: RandomGraph, seed: int) -> RandomQuery:
    """The same query for the same graph and seed."""
    return _Maker(graph, Random(f"query {graph.seed} {seed}")).query()


class _Maker:
    """Writes one query; knows which variables are in scope and which parameters were declared."""

    def __init__(self, graph: RandomGraph, rng: Random) -> None:
        self.graph, self.rng = graph, rng
        self.params: dict[str, tuple[str, Any]] = {}
        self.names = iter([f"v{number}" for number in range(100)])

    def query(self) -> RandomQuery:
        scope: list[Var] = []
        clauses = [self.start(scope)]
        steps = self.rng.choice([0, 1, 1, 2, 2, 3, 3, 4, 5])
        clauses.extend(self.clause(scope, depth=0) for _ in range(steps))
        return self.shaped(tuple(clauses), scope)

    # --- match ---

    def start(self, scope: list[Var]) -> str:
        if self.rng.random() < 0.12:
            edge = self.rng.choice(self.graph.edges)
            return self.traversal(scope, edge, None, None)
        return self.binding(scope)

    def clause(self, scope: list[Var], depth: int) -> str:
        roll = self.rng.random()
        nodes = [var for var in scope if var.is_node]
        if roll < 0.34 and nodes:
            return self.from_bound(scope, nodes)
        if roll < 0.42 and len(nodes) >= 1:
            return self.closing(scope, nodes)
        if roll < 0.47 and len(nodes) < 3:
            return self.binding(scope)
        if roll < 0.51 and nodes:
            return self.rebinding(self.rng.choice(nodes))
        if roll < 0.67 or depth >= 2:
            return self.test(scope)
        return self.block(scope, depth)

    def binding(self, scope: list[Var]) -> str:
        var = Var(next(self.names), self.rng.choice(self.graph.nodes))
        scope.append(var)
        return f"${var.name}: {var.entity.name}{self.pairs(var, 0.2)}"

    def rebinding(self, var: Var) -> str:
        return f"${var.name}: {var.entity.name}{self.pairs(var, 0.8)}"

    def pairs(self, var: Var, chance: float) -> str:
        """Property matches, on lists a test of membership."""
        matchable = {name: kind for name, kind in var.entity.properties.items() if kind != "Vector(2)"}
        if not matchable or self.rng.random() > chance:
            return ""
        chosen = self.rng.sample(sorted(matchable), self.rng.choice([1, 1, 2]) if len(matchable) > 1 else 1)
        return (
            " { "
            + ", ".join(
                f"{name}: {self.operand(matchable[name].strip('[]'), (var, name), pair=True)}" for name in chosen
            )
            + " }"
        )

    def from_bound(self, scope: list[Var], nodes: list[Var]) -> str:
        """A traversal from a bound variable to a new one."""
        var = self.rng.choice(nodes)
        fitting = [edge for edge in self.graph.edges if edge.ends and var.entity.name in edge.ends]
        if not fitting:
            return self.test(scope)
        edge = self.rng.choice(fitting)
        assert edge.ends is not None
        if edge.ends[0] == edge.ends[1]:
            return self.traversal(scope, edge, *self.rng.choice([(var, None), (None, var)]))
        if self.rng.random() < 0.5:
            return self.traversal(scope, edge, var, None)  # between different types either spelling works
        return self.traversal(scope, edge, *((var, None) if edge.ends[0] == var.entity.name else (None, var)))

    def closing(self, scope: list[Var], nodes: list[Var]) -> str:
        """A traversal whose ends are both bound, perhaps to the same variable."""
        pairs = [
            (edge, left, right)
            for edge in self.graph.edges
            for left in nodes
            for right in nodes
            if edge.ends == (left.entity.name, right.entity.name)
        ]
        return self.traversal(scope, *self.rng.choice(pairs)) if pairs else self.test(scope)

    def traversal(self, scope: list[Var], edge: Entity, left: Var | None, right: Var | None) -> str:
        assert edge.ends is not None
        same = edge.ends[0] == edge.ends[1]
        word, named = (f"<{edge.word}>" if same and self.rng.random() < 0.25 else edge.word), ""
        roll = self.rng.random()
        if roll < 0.25:
            named = f"${next(self.names)}:"
        elif roll < 0.55:
            word += self.rng.choice(["{1,1}", "{1,2}", "{1,3}", "{2,2}", "{2,3}", "{2,4}", "{3,3}", "{1,}", "{2,}"])
        ends = edge.ends
        if left is not None and right is None and not same and left.entity.name == edge.ends[1]:
            ends = (edge.ends[1], edge.ends[0])  # spelled backwards
        anonymous = self.rng.random() < 0.15 and (left is not None or right is not None)
        texts = []
        for var, type_name in ((left, ends[0]), (right, ends[1])):
            if var is None and anonymous:
                texts.append("$_")
                continue
            if var is None:
                var = Var(next(self.names), self.graph.entity(type_name))
                scope.append(var)
            texts.append(f"${var.name}")
        if named:
            scope.append(Var(named[1:-1], edge))
        return f"{texts[0]} {named}{word} {texts[1]}"

    # --- tests ---

    def test(self, scope: list[Var]) -> str:
        var = self.rng.choice(scope)
        properties = {name: kind for name, kind in var.entity.properties.items() if kind != "Vector(2)"}
        roll = self.rng.random()
        if not properties or roll < 0.04:
            return self.constant_test(scope)
        name = self.rng.choice(sorted(properties))
        kind, access = properties[name], f"${var.name}.{name}"
        if roll < 0.16:
            return f"{access} is {self.rng.choice(['', 'not '])}null"
        if kind.startswith("["):
            return f"{access} contains {self.operand(kind[1:-1], (var, name))}"
        if roll < 0.28:
            return self.membership(scope, access, kind)
        if kind in ("String", "Enum") and roll < 0.45:
            word = self.rng.choice(["contains", "starts_with"])
            return f"{access} {word} {self.operand(kind, (var, name))}"
        if roll < 0.62 and (other := self.partner(scope, kind)):
            return f"{access} {self.rng.choice(COMPARE)} {other}"
        sides = [access, self.operand(kind, (var, name))]
        if self.rng.random() < 0.15:
            sides.reverse()
        if sides[0].startswith("$") and "." not in sides[0] and sides[1].startswith("$") and "." not in sides[1]:
            return self.constant_test(scope)
        return f"{sides[0]} {self.rng.choice(COMPARE)} {sides[1]}"

    def constant_test(self, scope: list[Var]) -> str:
        nodes = [var for var in scope if var.is_node]
        roll = self.rng.random()
        if nodes and roll < 0.4:
            return f"${self.rng.choice(nodes).name} is {self.rng.choice(['', 'not '])}null"
        if roll < 0.7 and (far := self.distance(nodes)):
            return f"{far} {self.rng.choice(COMPARE)} {self.rng.choice([1, 2, 3])}"
        return f"{self.operand('I64')} {self.rng.choice(COMPARE)} {self.rng.choice([0, 1, 3])}"

    def membership(self, scope: list[Var], access: str, kind: str) -> str:
        roll = self.rng.random()
        listed = [
            f"${var.name}.{name}"
            for var in scope
            for name, other in var.entity.properties.items()
            if other == f"[{kind}]"
        ]
        if listed and roll < 0.3:
            return f"{access} in {self.rng.choice(listed)}"
        values = [asked(self.rng, kind)[1] for _ in range(self.rng.choice([0, 1, 2, 3]))]
        if roll < 0.6:
            fits = (
                [value for value in values if isinstance(value, int) == (kind[0] in "IU")]
                if kind in NUMBERS
                else values
            )
            if kind in ("I32", "U32", "U64"):
                fits = [value for value in fits if 0 <= value < 2**31]
            return f"{access} in ${self.declare(f'[{declared(kind)}]', fits)}"
        return f"{access} in [{', '.join(literal(value, kind) for value in values)}]"

    def partner(self, scope: list[Var], kind: str) -> str | None:
        """Another property that can be compared with this type."""
        fitting = [
            f"${var.name}.{name}"
            for var in scope
            for name, other in var.entity.properties.items()
            if other == kind or (kind in NUMBERS and other in NUMBERS) or {kind, other} == {"String", "Enum"}
        ]
        return self.rng.choice(fitting) if fitting else None

    def operand(self, kind: str, of: tuple[Var, str] | None = None, *, pair: bool = False) -> str:
        """A literal, a parameter (perhaps NULL) or the time of the query; often a value that the property has."""
        if kind == "DateTime" and self.rng.random() < 0.1:
            return "now()"
        own, value = asked(self.rng, kind)
        known = self.graph.values_of(of[0].entity.name, of[1]) if of is not None else []
        if known and self.rng.random() < 0.7:
            own, value = kind, self.rng.choice(known)
        if pair and own == "Enum" and value not in ("blue", "green", "red"):
            value = "red"
        if self.rng.random() < 0.25:
            missing = self.rng.random() < 0.2
            name = self.declare(declared(own) + "?", None) if missing else self.declare(declared(own), value)
            return f"${name}"
        return literal(value, own)

    def declare(self, kind: str, value: Any) -> str:
        name = f"x{len(self.params)}"
        self.params[name] = (kind, value)
        return name

    def distance(self, nodes: list[Var]) -> str | None:
        pairs = [
            (left, edge, right)
            for edge in self.graph.edges
            for left in nodes
            for right in nodes
            if edge.ends == (left.entity.name, right.entity.name)
        ]
        if not pairs:
            return None
        left, edge, right = self.rng.choice(pairs)
        same = edge.ends is not None and edge.ends[0] == edge.ends[1]
        word = f"<{edge.word}>" if same and self.rng.random() < 0.3 else edge.word
        bounds = self.rng.choice(["{1,1}", "{1,3}", "{2,3}", "{1,}"])
        return f"distance(${left.name} {word}{bounds} ${right.name})"

    # --- blocks ---

    def block(self, scope: list[Var], depth: int) -> str:
        word = self.rng.choice(["not", "not", "or", "maybe", "maybe"])
        if word == "or":
            alternatives = []
            for _ in range(self.rng.choice([1, 2, 3])):
                clauses = self.inner(list(scope), depth)
                alternatives.append(clauses[0] if len(clauses) == 1 and ":" not in clauses[0] else _braced(clauses))
            return f"or {{ {' '.join(alternatives)} }}"
        inside = list(scope)
        text = f"{word} {_braced(self.inner(inside, depth))}"
        if word == "maybe":
            scope[:] = inside
        return text

    def inner(self, scope: list[Var], depth: int) -> list[str]:
        return [self.clause(scope, depth + 1) for _ in range(self.rng.choice([1, 1, 2, 3]))]

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


def _braced(clauses: list[str]) -> str:
    return f"{{ {' '.join(clauses)} }}"
