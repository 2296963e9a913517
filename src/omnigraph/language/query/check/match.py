"""Checking of `match`: clauses from top to bottom, each seeing what the ones before it have bound."""

from __future__ import annotations

from omnigraph.language.diagnostics import did_you_mean
from omnigraph.language.query.check.checked_clauses import (
    CheckedBinding,
    CheckedBlock,
    CheckedClause,
    CheckedMaybe,
    CheckedNot,
    CheckedOr,
    CheckedTraversal,
)
from omnigraph.language.query.check.mentions import bound_variables, mentioned_variables
from omnigraph.language.query.check.scope import RefusalError, Scope
from omnigraph.language.query.check.tests import (
    check_comparison,
    check_membership,
    check_null,
    check_pair,
    check_text_clause,
)
from omnigraph.language.query.check.traversals import resolve_path
from omnigraph.language.query.ir import Bound, Condition
from omnigraph.language.query.parse import (
    ANONYMOUS,
    Binding,
    Block,
    Clause,
    Comparison,
    Extent,
    Maybe,
    Membership,
    Not,
    NullCheck,
    Or,
    TextClause,
    Traversal,
)
from omnigraph.language.schema import NodeType


def check_block(scope: Scope, block: Block) -> CheckedBlock:
    """Every clause of a block. A refused clause is reported, and its variables are not complained about again."""
    checked: list[CheckedClause] = []
    for clause in block.clauses:
        try:
            checked.append(_check_clause(scope, clause))
        except RefusalError as refusal:
            scope.session.report.refuse(refusal)
            scope.session.broken |= {name for name in bound_variables((clause,)) if scope.find(name) is None}
    return tuple(checked)


def _check_clause(scope: Scope, clause: Clause) -> CheckedClause:
    match clause:
        case Binding():
            return _check_binding(scope, clause)
        case Traversal():
            return _check_traversal(scope, clause)
        case Comparison():
            return check_comparison(scope, clause)
        case NullCheck():
            return check_null(scope, clause)
        case Membership():
            return check_membership(scope, clause)
        case TextClause():
            return check_text_clause(scope, clause)
        case Not():
            return _check_not(scope, clause)
        case Or():
            return _check_or(scope, clause)
        case Maybe():
            return _check_maybe(scope, clause)


def _check_binding(scope: Scope, binding: Binding) -> CheckedBinding:
    if binding.variable == ANONYMOUS:
        raise RefusalError(None, "$_ cannot be bound to a type", binding.at, "give the node a variable of its own")
    declared = _node_type(scope, binding)
    bound = scope.find(binding.variable)
    if bound is None:
        bound = scope.introduce(binding.variable, "node", declared.name, binding.at)
    elif bound.entity == "edge":
        raise RefusalError("T23", f"${binding.variable} is an edge and cannot be bound as a node", binding.at)
    elif bound.type_name != declared.name:
        raise RefusalError(
            None, f"${binding.variable} is already bound to another type, {bound.type_name}", binding.type_at
        )
    scope.session.node_reads.add(declared.name)
    filters: list[Condition] = []
    for pair in binding.pairs:
        try:
            filters.append(check_pair(scope, bound, declared, pair))
        except RefusalError as refusal:
            scope.session.report.refuse(refusal)
    return CheckedBinding(bound, tuple(filters))


def _node_type(scope: Scope, binding: Binding) -> NodeType:
    catalog = scope.session.catalog
    declared = catalog.node(binding.type_name)
    if declared is not None:
        return declared
    hint = did_you_mean(binding.type_name, catalog.node_types)
    if any(interface.name == binding.type_name for interface in catalog.interfaces):
        hint = "an interface cannot be bound; bind a node type that implements it"
    elif catalog.edge(binding.type_name) is not None:
        word = binding.type_name[0].lower() + binding.type_name[1:]
        hint = f"{binding.type_name} is an edge type; traverse it: $a {word} $b"
    raise RefusalError("T1", f"no node type is called '{binding.type_name}'", binding.type_at, hint)


def _check_traversal(scope: Scope, traversal: Traversal) -> CheckedTraversal:
    edge_var = traversal.edge
    if edge_var is not None and traversal.hops is not None:
        raise RefusalError("T23", "a traversal with bounds has no single edge to name", edge_var.at)
    if edge_var is not None and edge_var.name != ANONYMOUS:
        taken = edge_var.name in (traversal.left.name, traversal.right.name)
        if taken or scope.find(edge_var.name) is not None:
            raise RefusalError(
                "T23", f"an edge variable needs a name of its own; ${edge_var.name} is already used", edge_var.at
            )
    path = resolve_path(scope, traversal)
    left = path.left or scope.introduce(traversal.left.name, "node", path.left_type, traversal.left.at)
    right = path.right
    if right is None and traversal.right.name == traversal.left.name != ANONYMOUS:
        if path.left_type != path.right_type:
            raise RefusalError("T5", f"${traversal.left.name} cannot be both ends of {path.edge.name}", traversal.at)
        right = left
    right = right or scope.introduce(traversal.right.name, "node", path.right_type, traversal.right.at)
    edge_binding: Bound | None = None
    if edge_var is not None and edge_var.name != ANONYMOUS:
        edge_binding = scope.introduce(edge_var.name, "edge", path.edge.name, edge_var.at)
    scope.session.node_reads |= {path.edge.from_type, path.edge.to_type}
    scope.session.edge_reads.add(path.edge.name)
    return CheckedTraversal(left, right, path.edge.name, path.direction, path.min_hops, path.max_hops, edge_binding)


# --- blocks -----------------------------------------------------------------------------------------------


def _check_not(scope: Scope, clause: Not) -> CheckedNot:
    outer = _outer_variable(scope, (clause.block,), "not", clause.at)
    inner = Scope(scope.session, bound_variables(clause.block.clauses), scope)
    return CheckedNot(outer, check_block(inner, clause.block))


def _check_or(scope: Scope, clause: Or) -> CheckedOr:
    _outer_variable(scope, clause.alternatives, "or", clause.at)
    alternatives: list[CheckedBlock] = []
    for block in clause.alternatives:
        inner = Scope(scope.session, bound_variables(block.clauses), scope)
        alternatives.append(check_block(inner, block))
    return CheckedOr(tuple(alternatives))


def _check_maybe(scope: Scope, clause: Maybe) -> CheckedMaybe:
    _outer_variable(scope, (clause.block,), "maybe", clause.at)
    inner = Scope(scope.session, scope.declares, _Transparent(scope))
    checked = check_block(inner, clause.block)
    return CheckedMaybe(checked, scope.adopt(inner))


class _Transparent(Scope):
    """The outside as a `maybe` block sees it.

    What the block binds belongs to the outside, so its names are never taken for inner ones that need another name.
    """

    def __init__(self, scope: Scope) -> None:
        super().__init__(scope.session, frozenset(), scope.parent)
        self.own = scope.own


def _outer_variable(scope: Scope, blocks: tuple[Block, ...], word: str, at: Extent) -> str:
    """The first variable from outside that the blocks use, by its name in the IR; T9 if there is none."""
    unknown = False
    for block in blocks:
        for name in mentioned_variables(block.clauses, scope.session.params):
            bound = scope.find(name)
            if bound is not None:
                return bound.name
            unknown = unknown or name in scope.session.broken
    if unknown:
        raise RefusalError("T9", "", at, silent=True)
    raise RefusalError(
        "T9",
        f"this '{word}' block uses no variable from outside",
        at,
        "move it after the clause that binds its variable",
    )
