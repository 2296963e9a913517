"""Random patterns: the clauses of `match`, written so that every variable is bound before it is used."""

from __future__ import annotations

import re
from dataclasses import dataclass
from random import Random
from typing import Any

from query.differential.graphs import Entity, RandomGraph
from query.differential.values import NUMBERS, asked, declared, literal

COMPARE = ["=", "!=", "!=", "<", "<=", "<=", ">", ">=", ">="]


@dataclass(frozen=True)
class Var:
    """A variable in scope."""

    name: str
    entity: Entity

    @property
    def is_node(self) -> bool:
        return self.entity.ends is None


@dataclass(frozen=True)
class Piece:
    """Clauses that were written once and may be written again under other names."""

    clauses: tuple[str, ...]
    outer: tuple[Var, ...]
    """What was in scope before them."""
    made: tuple[Var, ...]
    """What they added."""


class PatternMaker:
    """Writes clauses; the caller keeps the variables in scope, it keeps the parameters that were declared."""

    def __init__(self, graph: RandomGraph, rng: Random) -> None:
        self.graph, self.rng = graph, rng
        self.params: dict[str, tuple[str, Any]] = {}
        self.names = iter([f"v{number}" for number in range(400)])
        self.pieces: list[Piece] = []

    # --- match ---

    def start(self, scope: list[Var]) -> str:
        if self.rng.random() < 0.12:
            edge = self.rng.choice(self.graph.edges)
            return self.traversal(scope, edge, None, None)
        return self.binding(scope)

    def clause(self, scope: list[Var], depth: int) -> str:
        roll = self.rng.random()
        nodes = [var for var in scope if var.is_node]
        if self.rng.random() < 0.08 and (same := self.again(scope)):
            return " ".join(same)
        if roll < 0.34 and nodes:
            before = tuple(scope)
            text = self.from_bound(scope, nodes)
            self.pieces.append(Piece((text,), before, tuple(scope[len(before) :])))
            return text
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
        if self.rng.random() < 0.3 and (same := self.again(scope)):
            return same
        before = tuple(scope)
        clauses = [self.clause(scope, depth + 1) for _ in range(self.rng.choice([1, 1, 2, 3]))]
        self.pieces.append(Piece(tuple(clauses), before, tuple(scope[len(before) :])))
        return clauses

    def again(self, scope: list[Var]) -> list[str] | None:
        """Clauses as before: what they bind under new names, what they look at perhaps another of the same type."""
        if not self.pieces:
            return None
        piece = self.rng.choice(self.pieces)
        text = "\n".join(piece.clauses)
        names: dict[str, str] = {}
        for name in sorted(set(re.findall(r"\$(v\d+)", text))):
            outer = next((var for var in piece.outer if var.name == name), None)
            if outer is None:
                names[name] = next(self.names)
                continue
            fitting = [var.name for var in scope if var.entity.name == outer.entity.name]
            if not fitting:
                return None
            names[name] = name if name in fitting and self.rng.random() < 0.6 else self.rng.choice(fitting)
        scope += [Var(names[var.name], var.entity) for var in piece.made]
        return re.sub(r"\$(v\d+)", lambda found: f"${names[found[1]]}", text).split("\n")


def _braced(clauses: list[str]) -> str:
    return f"{{ {' '.join(clauses)} }}"
