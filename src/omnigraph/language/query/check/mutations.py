"""Checking of mutations: targets, assignments, predicates, and the rule that a query builds or removes, never both."""

from __future__ import annotations

from omnigraph.language.diagnostics import did_you_mean
from omnigraph.language.query.check.coerce import coerce_literal, compatible
from omnigraph.language.query.check.scope import RefusalError, Scope
from omnigraph.language.query.check.tests import OPERATORS, check_operand, require_member_type
from omnigraph.language.query.check.values import Typed
from omnigraph.language.query.ir import (
    NOW,
    ROW,
    STRING,
    Assignment,
    Condition,
    DeleteOp,
    Filter,
    InList,
    InsertOp,
    Literal,
    MutOp,
    NullTest,
    Param,
    PropAccess,
    UpdateOp,
)
from omnigraph.language.query.parse import (
    Delete,
    Insert,
    NullLit,
    Pair,
    QueryDeclaration,
    Statement,
    Test,
    Update,
    Writing,
)
from omnigraph.language.schema import EdgeType, NodeType
from omnigraph.model.types import PropType, Scalar

ENDPOINTS = ("from", "to")


def check_mutation(scope: Scope, declaration: QueryDeclaration, writing: Writing) -> tuple[MutOp, ...]:
    """Every statement; refused ones are reported and left out."""
    try:
        _require_one_kind(declaration, writing)
    except RefusalError as refusal:
        scope.session.report.refuse(refusal)
    ops: list[MutOp] = []
    for statement in writing.statements:
        try:
            ops.append(_check_statement(scope, statement))
        except RefusalError as refusal:
            scope.session.report.refuse(refusal)
    return tuple(ops)


def _require_one_kind(declaration: QueryDeclaration, writing: Writing) -> None:
    deletes = [s for s in writing.statements if isinstance(s, Delete)]
    if deletes and len(deletes) < len(writing.statements):
        raise RefusalError(
            "D2",
            f"mutation '{declaration.name}' on the same query mixes inserts/updates and deletes; "
            "split into separate mutations: (1) inserts and updates, then (2) deletes",
            deletes[0].at,
            stage="plan",
        )


def _check_statement(scope: Scope, statement: Statement) -> MutOp:
    target = _target(scope, statement)
    match statement:
        case Insert():
            return _check_insert(scope, target, statement)
        case Update():
            if isinstance(target, EdgeType):
                raise RefusalError(
                    "T16", f"{target.name} is an edge type; edges cannot be updated", statement.type_at,
                    "delete the edge and insert it again",
                )  # fmt: skip
            return _check_update(scope, target, statement)
        case Delete():
            return DeleteOp(target.kind, target.name, _check_predicate(scope, target, statement.test))


def _target(scope: Scope, statement: Statement) -> NodeType | EdgeType:
    catalog = scope.session.catalog
    name = statement.type_name
    target = catalog.node(name) or catalog.edge(name)
    if target is None:
        hint = did_you_mean(name, [*catalog.node_types, *catalog.edge_types])
        raise RefusalError("T10", f"no type is called '{name}'", statement.type_at, hint)
    return target


# --- insert and update ------------------------------------------------------------------------------------


def _check_insert(scope: Scope, target: NodeType | EdgeType, statement: Insert) -> InsertOp:
    assignments = _check_assignments(scope, target, statement.assignments)
    given = {pair.name for pair in statement.assignments}
    missing = [name for name in ENDPOINTS if target.kind == "edge" and name not in given]
    for prop in target.properties:
        embedded = prop.embed is not None and prop.embed.source in given
        if not (prop.name in given or prop.type.nullable or prop.default is not None or embedded):
            missing.append(prop.name)
    if missing:
        raise RefusalError(
            "T12",
            f"missing required {', '.join(f'{target.name}.{name}' for name in missing)}",
            statement.type_at,
            f"assign {missing[0]}",
        )
    return InsertOp(target.kind, target.name, assignments)


def _check_update(scope: Scope, target: NodeType, statement: Update) -> UpdateOp:
    for pair in statement.assignments:
        if target.key is not None and pair.name in target.key:
            raise RefusalError(
                None,
                f"{target.name}.{pair.name} cannot be updated: @key is immutable",
                pair.at,
                "delete the node and insert it again",
            )
    assignments = _check_assignments(scope, target, statement.assignments)
    return UpdateOp(target.name, assignments, _check_predicate(scope, target, statement.test))


def _check_assignments(scope: Scope, target: NodeType | EdgeType, pairs: tuple[Pair, ...]) -> tuple[Assignment, ...]:
    assignments: list[Assignment] = []
    seen: set[str] = set()
    for pair in pairs:
        try:
            kind = _property_type(target, pair)
            _require_once(seen, target, pair)
            assignments.append(_check_assignment(scope, target, pair, kind))
        except RefusalError as refusal:
            scope.session.report.refuse(refusal)
    return tuple(assignments)


def _require_once(seen: set[str], target: NodeType | EdgeType, pair: Pair) -> None:
    if pair.name in seen:
        raise RefusalError("T13", f"{target.name}.{pair.name} is assigned twice", pair.at)
    seen.add(pair.name)


def _property_type(target: NodeType | EdgeType, found: Pair | Test) -> PropType:
    name = found.name if isinstance(found, Pair) else found.property
    if isinstance(target, EdgeType) and name in ENDPOINTS:
        return STRING
    prop = target.property(name)
    if prop is None:
        known = [*target.by_name, *(ENDPOINTS if target.kind == "edge" else ())]
        raise RefusalError("T11", f"{target.name} has no property '{name}'", found.name_at, did_you_mean(name, known))
    return prop.type


def _check_assignment(scope: Scope, target: NodeType | EdgeType, pair: Pair, kind: PropType) -> Assignment:
    name, at = f"{target.name}.{pair.name}", pair.value.at
    value = check_operand(scope, pair.value)
    if isinstance(value, Literal):
        return Assignment(pair.name, Literal(coerce_literal(value.value, kind, name, at), kind), kind)
    fits = compatible(kind, value.type)
    if kind.is_blob and not value.type.is_list and value.type.scalar is Scalar.STRING:
        fits = True
    if not fits:
        shown = "now()" if value.name == NOW else f"parameter ${value.name}"
        raise RefusalError("T7", f"{shown} is {value.type}, but {name} is {kind}", at)
    return Assignment(pair.name, value, kind)


# --- where ------------------------------------------------------------------------------------------------


def _check_predicate(scope: Scope, target: NodeType | EdgeType, test: Test) -> Condition:
    kind = _property_type(target, test)
    name = f"{target.name}.{test.property}"
    if kind.is_blob:
        raise RefusalError("T11", f"{name} is a Blob and cannot be tested", test.name_at)
    access = PropAccess(ROW, test.property, kind, target.kind)
    if test.value is None:
        return NullTest(access, negated=test.sign == "is not null")
    if kind.is_list or kind.is_vector:
        raise RefusalError("T7", f"{name} is {kind}; 'where' compares scalars", test.name_at)
    value = check_operand(scope, test.value)
    if isinstance(value, Literal) and isinstance(value.value, NullLit):
        hint = f"write {test.property} is null"
        scope.session.report.warn("a comparison with null is never true", test.at, hint)
    if test.sign == "in":
        require_member_type(kind, Typed(value, value.type), test.value.at)
        return InList(access, value)
    is_null = isinstance(value, Literal) and isinstance(value.value, NullLit)
    if not is_null and not compatible(kind, value.type):
        shown = f"parameter ${value.name}" if isinstance(value, Param) and value.name != NOW else "this value"
        raise RefusalError("T7", f"{shown} is {value.type}, but {name} is {kind}", test.value.at)
    return Filter(access, OPERATORS[test.sign], value)
