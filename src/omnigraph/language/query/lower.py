"""Lowering: checked clauses become a pipeline in which every op finds its variables bound.

Within a run of clauses: first scans and expansions, one connected component after the other; then conditions; then
`or` and `not` blocks. A `maybe` block ends the run, because what follows it may use variables that it left NULL.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from omnigraph.language.query.check import (
    CheckedBinding,
    CheckedBlock,
    CheckedMaybe,
    CheckedNot,
    CheckedOr,
    CheckedTraversal,
)
from omnigraph.language.query.ir import (
    AntiJoin,
    Bound,
    Condition,
    Direction,
    Expand,
    Filter,
    InList,
    LeftJoin,
    NodeScan,
    NullTest,
    Op,
    OrJoin,
    Variable,
)

_FLIPPED: dict[Direction, Direction] = {"out": "in", "in": "out", "both": "both"}
FreshName = Callable[[str], str]


def lower_block(block: CheckedBlock, bound: frozenset[str], fresh: FreshName) -> tuple[Op, ...]:
    """The pipeline of one block, given the variables that are bound outside of it."""
    ops: list[Op] = []
    run = _Run(set(bound), fresh)
    for clause in block:
        if isinstance(clause, CheckedMaybe):
            ops += run.emit()
            inner = lower_block(clause.inner, frozenset(run.bound), fresh)
            ops.append(LeftJoin(inner, clause.exports))
            run = _Run(run.bound | {export.name for export in clause.exports}, fresh)
        else:
            run.add(clause)
    return (*ops, *run.emit())


@dataclass
class _Run:
    """Clauses between two `maybe` blocks."""

    bound: set[str]
    fresh: FreshName
    nodes: dict[str, Bound] = field(default_factory=dict)
    """Every node variable of the run, in order of appearance."""
    declared: list[str] = field(default_factory=list)
    """The variables with a binding clause, in order."""
    tests: dict[str, list[Condition]] = field(default_factory=dict)
    """Property matches, by variable; they travel with the op that introduces it."""
    traversals: list[CheckedTraversal] = field(default_factory=list)
    conditions: list[Condition] = field(default_factory=list)
    blocks: list[CheckedNot | CheckedOr] = field(default_factory=list)

    def add(self, clause: CheckedBinding | CheckedTraversal | Condition | CheckedNot | CheckedOr) -> None:
        match clause:
            case CheckedBinding(bound=variable, filters=filters):
                self._add_binding(variable, filters)
            case CheckedTraversal(left=left, right=right):
                self.nodes.setdefault(left.name, left)
                self.nodes.setdefault(right.name, right)
                self.traversals.append(clause)
            case Filter() | NullTest() | InList():
                self.conditions.append(clause)
            case CheckedNot() | CheckedOr():
                self.blocks.append(clause)

    def _add_binding(self, variable: Bound, filters: tuple[Condition, ...]) -> None:
        if variable.name in self.bound:
            if variable.nullable:
                known = Variable(variable.name, variable.type_name, nullable=True)
                self.conditions.append(NullTest(known, negated=True))
            self.conditions.extend(filters)
            return
        self.nodes.setdefault(variable.name, variable)
        if variable.name not in self.declared:
            self.declared.append(variable.name)
        self.tests.setdefault(variable.name, []).extend(filters)

    def emit(self) -> list[Op]:
        ops: list[Op] = []
        for component in self._components():
            ops += self._lower_component(component)
        ops += self.conditions
        for clause in self.blocks:
            ops.append(self._lower_inner(clause))
        return ops

    def _lower_inner(self, clause: CheckedNot | CheckedOr) -> Op:
        outside = frozenset(self.bound)
        if isinstance(clause, CheckedNot):
            return AntiJoin(clause.outer_var, lower_block(clause.inner, outside, self.fresh))
        return OrJoin(tuple(lower_block(inner, outside, self.fresh) for inner in clause.alternatives))

    # --- components ---

    def _components(self) -> list[tuple[str, ...]]:
        """Variables joined by traversals, each group and the groups in order of appearance."""
        group = {name: name for name in self.nodes}

        def root(name: str) -> str:
            while group[name] != name:
                name = group[name]
            return name

        for traversal in self.traversals:
            one, other = root(traversal.left.name), root(traversal.right.name)
            if one != other:
                group[other] = one
        members: dict[str, list[str]] = {}
        for name in self.nodes:
            members.setdefault(root(name), []).append(name)
        return [tuple(names) for names in members.values()]

    def _lower_component(self, names: tuple[str, ...]) -> Iterable[Op]:
        ops: list[Op] = []
        pending = [t for t in self.traversals if t.left.name in names]
        if not any(name in self.bound for name in names):
            first = next((name for name in self.declared if name in names), None)
            start = self.nodes[first or pending[0].left.name]
            ops.append(NodeScan(start.name, start.type_name, self._take_tests(start.name)))
            self.bound.add(start.name)
        while pending:
            ready = next(t for t in pending if t.left.name in self.bound or t.right.name in self.bound)
            pending.remove(ready)
            ops += self._lower_traversal(ready)
        return ops

    def _take_tests(self, name: str) -> tuple[Condition, ...]:
        return tuple(self.tests.pop(name, ()))

    def _lower_traversal(self, traversal: CheckedTraversal) -> Iterable[Op]:
        left, right, direction = traversal.left, traversal.right, traversal.direction
        if left.name not in self.bound:
            left, right, direction = right, left, _FLIPPED[direction]
        target = right.name
        closes = target in self.bound
        if closes:
            target = self.fresh("closing")
        self.bound.add(target)
        edge = traversal.edge_binding
        expand = Expand(
            src_var=left.name,
            dst_var=target,
            edge_type=traversal.edge_type,
            direction=direction,
            src_type=left.type_name,
            dst_type=right.type_name,
            min_hops=traversal.min_hops,
            max_hops=traversal.max_hops,
            dst_filters=() if closes else self._take_tests(target),
            edge_binding=edge.name if edge is not None else None,
        )
        if edge is not None:
            self.bound.add(edge.name)
        if not closes:
            return (expand,)
        known = Variable(right.name, right.type_name, right.nullable)
        return expand, Filter(Variable(target, right.type_name), "eq", known)
