"""Traversals: which edge type a word means, which way it runs, and whether its ends fit."""

from __future__ import annotations

from omnigraph.language.diagnostics import did_you_mean
from omnigraph.language.query.check.scope import RefusalError, Scope
from omnigraph.language.query.ir import Bound, Direction
from omnigraph.language.query.parse import ANONYMOUS, Hops, Traversal, Var
from omnigraph.language.schema import EdgeType
from omnigraph.model.late_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Path:
    """A resolved traversal; an end that is not bound yet is None."""

    edge: EdgeType
    direction: Direction
    left: Bound | None
    right: Bound | None
    min_hops: int
    max_hops: int | None

    @property
    def left_type(self) -> str:
        return self.edge.to_type if self.direction == "in" else self.edge.from_type

    @property
    def right_type(self) -> str:
        return self.edge.from_type if self.direction == "in" else self.edge.to_type


def resolve_path(scope: Scope, traversal: Traversal) -> Path:
    """Look the edge up, check bounds and ends; binds nothing."""
    edge = _edge_type(scope, traversal)
    minimum, maximum = _bounds(traversal.hops)
    if traversal.undirected and edge.from_type != edge.to_type:
        raise RefusalError(
            "T22",
            f"<{traversal.word}> needs equal types on both ends; {edge.name} runs {edge.from_type} -> {edge.to_type}",
            traversal.word_at,
            f"write {traversal.word} without the angle brackets",
        )
    left, right = _end(scope, traversal.left), _end(scope, traversal.right)
    direction = _direction(edge, traversal, left, right)
    path = Path(edge, direction, left, right, minimum, maximum)
    _require_fit(edge, left, path.left_type, traversal.left)
    _require_fit(edge, right, path.right_type, traversal.right)
    return path


def _edge_type(scope: Scope, traversal: Traversal) -> EdgeType:
    catalog = scope.session.catalog
    edge = catalog.edge_word(traversal.word)
    if edge is None:
        words = [name[0].lower() + name[1:] for name in catalog.edge_types]
        hint = did_you_mean(traversal.word, words)
        if traversal.word in ("contains", "starts_with", "in"):
            hint = f"'{traversal.word}' after a bare variable is an edge; put a property or a literal on the left"
        raise RefusalError("T4", f"no edge type is called '{traversal.word}'", traversal.word_at, hint)
    return edge


def _bounds(hops: Hops | None) -> tuple[int, int | None]:
    if hops is None:
        return 1, 1
    if hops.minimum == 0:
        raise RefusalError("T15", "a traversal has at least 1 hop", hops.at, "begin the bounds with 1")
    if hops.maximum is not None and hops.maximum < hops.minimum:
        raise RefusalError(
            "T15",
            f"the bounds {{{hops.minimum},{hops.maximum}}} are inverted",
            hops.at,
            f"write {{{hops.maximum},{hops.minimum}}}",
        )
    return hops.minimum, hops.maximum


def _end(scope: Scope, var: Var) -> Bound | None:
    if var.name == ANONYMOUS:
        return None
    bound = scope.find(var.name)
    if bound is not None and bound.entity == "edge":
        raise RefusalError("T23", f"${var.name} is an edge and cannot be an end of a traversal", var.at)
    if bound is None and var.name in scope.session.broken:
        raise RefusalError(None, "", var.at, silent=True)
    return bound


def _direction(edge: EdgeType, traversal: Traversal, left: Bound | None, right: Bound | None) -> Direction:
    """The left variable decides if it is bound, else the right one, else the edge runs as it is written."""
    if traversal.undirected:
        return "both"
    if left is not None:
        if left.type_name == edge.from_type:
            return "out"
        return "in" if left.type_name == edge.to_type else _refuse_end(edge, left, traversal.left)
    if right is not None:
        if right.type_name == edge.to_type:
            return "out"
        return "in" if right.type_name == edge.from_type else _refuse_end(edge, right, traversal.right)
    return "out"


def _require_fit(edge: EdgeType, bound: Bound | None, wanted: str, var: Var) -> None:
    if bound is not None and bound.type_name != wanted:
        _refuse_end(edge, bound, var)


def _refuse_end(edge: EdgeType, bound: Bound, var: Var) -> Direction:
    raise RefusalError(
        "T5",
        f"${var.name} is a {bound.type_name}, but {edge.name} runs {edge.from_type} -> {edge.to_type}",
        var.at,
    )
