"""Checking of tests: comparisons, null tests, membership, and the property matches of a binding."""

from __future__ import annotations

from omnigraph.language.diagnostics import did_you_mean
from omnigraph.language.query.check.coerce import coerce_literal, compatible, element_of, literal_type, require_member
from omnigraph.language.query.check.scope import RefusalError, Scope
from omnigraph.language.query.check.values import Typed, check_text_call, check_value
from omnigraph.language.query.ir import (
    BOOL,
    DATETIME,
    NOW,
    Bound,
    CmpOp,
    Condition,
    Expr,
    Filter,
    InList,
    Literal,
    NullTest,
    Param,
    PropAccess,
)
from omnigraph.language.query.parse import (
    TRUE,
    Comparison,
    Constant,
    Extent,
    ListLit,
    Membership,
    Now,
    NullCheck,
    NullLit,
    Operand,
    Pair,
    StringLit,
    TextClause,
    Value,
    Var,
    literal_text,
)
from omnigraph.language.schema import NodeType
from omnigraph.model.types import PropType, Scalar

OPERATORS: dict[str, CmpOp] = {"=": "eq", "!=": "ne", ">": "gt", "<": "lt", ">=": "ge", "<=": "le"}


def check_comparison(scope: Scope, clause: Comparison) -> Filter:
    left, right = _side(scope, clause.left), _side(scope, clause.right)
    if left.is_null or right.is_null:
        _warn_null(scope, clause.at)
    if clause.sign == "contains":
        return _check_contains(clause, left, right)
    if clause.sign == "starts_with":
        _require_text(left, clause.left, clause.sign)
        _require_text(right, clause.right, clause.sign)
        return Filter(left.expr, "starts_with", right.expr)
    for typed, value in ((left, clause.left), (right, clause.right)):
        require_scalar(typed, value, f"'{clause.sign}'")
    _require_compatible(left, right, clause.at)
    return Filter(left.expr, OPERATORS[clause.sign], right.expr)


def check_null(scope: Scope, clause: NullCheck) -> NullTest:
    typed = check_value(scope, clause.value)
    if typed.kind in ("object", "rank"):
        raise RefusalError("T7", "a null test takes a property, a variable or a parameter", clause.value.at)
    return NullTest(typed.expr, clause.negated)


def check_membership(scope: Scope, clause: Membership) -> InList:
    value, members = _side(scope, clause.value), _side(scope, clause.members)
    require_scalar(value, clause.value, "'in'")
    require_member_type(value.type, members, clause.members.at, untyped=value.is_null)
    if value.is_null:
        _warn_null(scope, clause.at)
    return InList(value.expr, members.expr)


def check_text_clause(scope: Scope, clause: TextClause) -> Filter:
    return Filter(check_text_call(scope, clause.call), "eq", Literal(TRUE, BOOL))


def require_member_type(value: PropType, members: Typed, at: Extent, *, untyped: bool = False) -> None:
    """T7 unless `members` is a list whose elements can be compared with the value."""
    if members.is_null:
        return
    if not members.type.is_list or members.type.is_vector:
        raise RefusalError("T7", f"'in' takes a list on its right, not {members.type}", at, "write [a, b] or $list")
    empty = isinstance(members.expr, Literal) and members.expr.value == ListLit(())
    if not (untyped or empty or compatible(value, element_of(members.type))):
        raise RefusalError("T7", f"a {value} cannot be in {members.type}", at)


# --- sides ------------------------------------------------------------------------------------------------


def _side(scope: Scope, value: Value) -> Typed:
    typed = check_value(scope, value)
    if typed.kind == "node":
        shown = value.name if isinstance(value, Var) else "it"
        raise RefusalError(
            "T7", f"${shown} is a node; a comparison takes values", value.at, f"compare a property: ${shown}.name"
        )
    if typed.kind != "value":
        raise RefusalError("T7", "a comparison takes values; this can only be returned or sorted by", value.at)
    return typed


def require_scalar(typed: Typed, value: Value, what: str) -> None:
    """T7 for lists, vectors and Blobs."""
    if typed.type.is_list:
        hint = "use 'contains' to look into a list" if what != "'in'" else None
        raise RefusalError("T7", f"{what} takes scalars, not {typed.type}", value.at, hint)
    if typed.type.is_vector or typed.type.is_blob:
        raise RefusalError("T7", f"{what} takes scalars, not {typed.type}", value.at)


def _require_compatible(left: Typed, right: Typed, at: Extent) -> None:
    if left.is_null or right.is_null or compatible(left.type, right.type):
        return
    hint = None
    for one, other in ((left, right), (right, left)):
        literal = one.expr.value if isinstance(one.expr, Literal) else None
        if isinstance(literal, StringLit) and other.type.scalar in (Scalar.DATE, Scalar.DATETIME):
            hint = f"write {other.type.scalar.value.lower()}({literal_text(literal)})"
    raise RefusalError("T7", f"{left.type} and {right.type} cannot be compared", at, hint)


def _check_contains(clause: Comparison, left: Typed, right: Typed) -> Filter:
    if left.type.is_list and not left.type.is_vector:
        require_scalar(right, clause.right, "the right side of 'contains'")
        if not right.is_null and not compatible(element_of(left.type), right.type):
            raise RefusalError("T7", f"{left.type} cannot contain a {right.type}", clause.at)
        return Filter(left.expr, "contains", right.expr)
    _require_text(left, clause.left, clause.sign)
    _require_text(right, clause.right, clause.sign)
    return Filter(left.expr, "string_contains", right.expr)


def _require_text(typed: Typed, value: Value, sign: str) -> None:
    if typed.type.scalar is not Scalar.STRING or typed.type.is_list:
        wanted = "a list or a String on its left" if sign == "contains" else "Strings"
        raise RefusalError("T7", f"'{sign}' takes {wanted}; this is {typed.type}", value.at)


def _warn_null(scope: Scope, at: Extent) -> None:
    scope.session.report.warn(
        "a comparison with null is never true", at, "use 'is null' or 'is not null' to test for a missing value"
    )


# --- property matches -------------------------------------------------------------------------------------


def check_pair(scope: Scope, bound: Bound, declared: NodeType, pair: Pair) -> Condition:
    """`property: operand` in a binding: equality, or membership in a list property."""
    name = f"{declared.name}.{pair.name}"
    prop = declared.property(pair.name)
    if prop is None:
        hint = did_you_mean(pair.name, declared.by_name)
        raise RefusalError("T2", f"{declared.name} has no property '{pair.name}'", pair.name_at, hint)
    if prop.type.is_blob or prop.type.is_vector:
        raise RefusalError("T3", f"{name} is {prop.type} and cannot be matched", pair.at)
    operand = check_operand(scope, pair.value)
    wanted = element_of(prop.type) if prop.type.is_list else prop.type
    if isinstance(operand, Literal):
        _require_literal(scope, operand, prop.type, wanted, name, pair)
    elif not compatible(wanted, operand.type):
        raise RefusalError("T7", f"{_operand_text(operand)} does not fit {name}, which is {prop.type}", pair.value.at)
    access = PropAccess(bound.name, pair.name, prop.type, bound.entity)
    return Filter(access, "contains" if prop.type.is_list else "eq", operand)


def _require_literal(
    scope: Scope, operand: Literal, declared: PropType, wanted: PropType, name: str, pair: Pair
) -> None:
    value, at = operand.value, pair.value.at
    if isinstance(value, NullLit):
        if not declared.nullable:
            coerce_literal(value, declared, name, at)
        _warn_null(scope, at)
        return
    if not compatible(wanted, operand.type):
        hint = None
        if declared.is_list and isinstance(value, ListLit):
            hint = "match one element, or use 'contains' once per element"
        elif not declared.is_list and isinstance(value, ListLit):
            hint = f"write ${pair.name} in […] as a clause of its own"
        elif isinstance(value, StringLit) and wanted.scalar in (Scalar.DATE, Scalar.DATETIME):
            hint = f"write {wanted.scalar.value.lower()}({literal_text(value)})"
        raise RefusalError("T3", f"{literal_text(value)} does not fit {name}, which is {declared}", at, hint)
    if isinstance(value, StringLit):
        require_member(value.value, wanted, name, at)


def check_operand(scope: Scope, operand: Operand) -> Literal | Param:
    """A literal, a declared parameter (else T14), or the time of the query."""
    match operand:
        case Now():
            return Param(NOW, DATETIME)
        case Constant(value=value, at=at):
            return Literal(value, literal_type(value, at))
        case Var(name=name, at=at):
            param = scope.session.params.get(name)
            if param is None:
                hint = did_you_mean(name, scope.session.params) or "declare it: query name($" + name + ": String)"
                raise RefusalError("T14", f"${name} is not a parameter of this query", at, hint)
            return param


def _operand_text(operand: Expr) -> str:
    if isinstance(operand, Param):
        return "now()" if operand.name == NOW else f"parameter ${operand.name}, a {operand.type},"
    return "this value"
