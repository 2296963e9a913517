"""Checking of values: parameters, variables, properties, literals, text functions and ranks, each with its type."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal as OneOf

from omnigraph.language.diagnostics import did_you_mean
from omnigraph.language.query.check.coerce import is_number_list, literal_type
from omnigraph.language.query.check.scope import RefusalError, Scope
from omnigraph.language.query.check.traversals import resolve_path
from omnigraph.language.query.ir import (
    BOOL,
    DATETIME,
    FLOAT,
    INTEGER,
    NOW,
    STRING,
    Bm25,
    Distance,
    EntityObject,
    Expr,
    Fuzzy,
    Literal,
    MatchText,
    Nearest,
    Param,
    PropAccess,
    Rrf,
    Search,
    Variable,
)
from omnigraph.language.query.parse import (
    AggregateCall,
    Bm25Call,
    Constant,
    DistanceCall,
    Field,
    IntegerLit,
    NearestCall,
    Now,
    NullLit,
    RrfCall,
    Star,
    StringLit,
    TextCall,
    Value,
    Var,
    Word,
)
from omnigraph.model.late_dataclass import dataclass
from omnigraph.model.types import PropType, Scalar


@dataclass(frozen=True, slots=True)
class Typed:
    """A checked value. `node` is a bare node variable (its id), `object` a whole entity, `rank` a search score."""

    expr: Expr
    type: PropType
    kind: OneOf["value", "node", "object", "rank"] = "value"

    @property
    def is_null(self) -> bool:
        return isinstance(self.expr, Literal) and isinstance(self.expr.value, NullLit)


def check_value(scope: Scope, value: Value) -> Typed:
    """Any value but a word or an aggregate, which only `return` and `order` understand."""
    match value:
        case Now():
            return Typed(Param(NOW, DATETIME), DATETIME)
        case Constant(value=literal, at=at):
            kind = literal_type(literal, at)
            return Typed(Literal(literal, kind), kind)
        case Var():
            return _check_variable(scope, value)
        case Field():
            access = check_field(scope, value)
            return Typed(access, access.type)
        case Star():
            return _check_star(scope, value)
        case TextCall():
            return Typed(check_text_call(scope, value), BOOL)
        case NearestCall():
            nearest = check_nearest(scope, value)
            return Typed(nearest, replace(FLOAT, nullable=True), "rank")
        case Bm25Call():
            return Typed(check_bm25(scope, value), replace(FLOAT, nullable=True), "rank")
        case RrfCall():
            return Typed(check_rrf(scope, value), replace(FLOAT, nullable=True), "rank")
        case DistanceCall():
            return Typed(_check_distance(scope, value), replace(INTEGER, nullable=True))
        case Word(name=name, at=at):
            raise RefusalError("T7", f"'{name}' is not a value here", at, f'write "{name}" for text, or ${name}')
        case AggregateCall(function=function, at=at):
            raise RefusalError("T7", f"{function}(…) can only be returned", at, "aggregate in 'return'")


def _check_variable(scope: Scope, var: Var) -> Typed:
    param = scope.session.params.get(var.name)
    if param is not None:
        return Typed(param, param.type)
    bound = scope.required(var.name, var.at, None)
    if bound.entity == "edge":
        raise RefusalError(
            "T23", f"${var.name} is an edge and cannot be used as a value", var.at, f"use a property, or ${var.name}.*"
        )
    return Typed(
        Variable(bound.name, bound.type_name, bound.nullable), replace(STRING, nullable=bound.nullable), "node"
    )


def check_field(scope: Scope, field: Field) -> PropAccess:
    """`$v.p`: T6 when there is no such thing, T24 for a Blob."""
    bound = scope.required(field.variable, field.at, "T6")
    catalog = scope.session.catalog
    declared = catalog.node(bound.type_name) if bound.entity == "node" else catalog.edge(bound.type_name)
    if declared is None:
        raise RefusalError("T6", f"type {bound.type_name} is not declared", field.at)
    prop = declared.property(field.name)
    if prop is None:
        hint = did_you_mean(field.name, declared.by_name)
        if field.name == "id" and bound.entity == "node":
            hint = f"the id is ${field.variable} itself"
        elif field.name in ("id", "src", "dst", "from", "to") and bound.entity == "edge":
            hint = f"${field.variable}.* gives the whole edge with id, from and to"
        raise RefusalError("T6", f"{bound.type_name} has no property '{field.name}'", field.name_at, hint)
    if prop.type.is_blob:
        raise RefusalError("T24", f"{bound.type_name}.{field.name} is a Blob and cannot be read by a query", field.at)
    kind = replace(prop.type, nullable=prop.type.nullable or bound.nullable)
    return PropAccess(bound.name, field.name, kind, bound.entity)


def _check_star(scope: Scope, star: Star) -> Typed:
    bound = scope.required(star.variable, star.at, "T6")
    catalog = scope.session.catalog
    declared = catalog.node(bound.type_name) if bound.entity == "node" else catalog.edge(bound.type_name)
    properties = tuple((p.name, p.type) for p in declared.properties if not p.type.is_blob) if declared else ()
    whole = EntityObject(bound.name, bound.entity, bound.type_name, properties, bound.nullable)
    return Typed(whole, replace(STRING, nullable=bound.nullable), "object")


def _check_distance(scope: Scope, call: DistanceCall) -> Distance:
    path = call.path
    for end in (path.left, path.right):
        scope.required(end.name, end.at, "T6")
    resolved = resolve_path(scope, path)
    left, right = resolved.left, resolved.right
    assert left is not None
    assert right is not None
    scope.session.edge_reads.add(resolved.edge.name)
    return Distance(
        left.name,
        right.name,
        resolved.edge.name,
        resolved.direction,
        left.type_name,
        right.type_name,
        resolved.min_hops,
        resolved.max_hops,
    )


# --- text and ranks ---------------------------------------------------------------------------------------


def check_text_call(scope: Scope, call: TextCall) -> Search | MatchText | Fuzzy:
    code = "T20" if call.function == "match_text" else "T19"
    field = _text_field(scope, call.target, call.function, code)
    query = _text_query(scope, call.query, call.function, code)
    if call.function == "search":
        return Search(field, query)
    if call.function == "match_text":
        return MatchText(field, query)
    edits = _whole_number(scope, call.edits, "T19", "the edits of fuzzy", minimum=0) if call.edits else None
    return Fuzzy(field, query, edits)


def check_bm25(scope: Scope, call: Bm25Call) -> Bm25:
    return Bm25(_text_field(scope, call.target, "bm25", "T20"), _text_query(scope, call.query, "bm25", "T20"))


def _text_field(scope: Scope, target: Value, function: str, code: str) -> PropAccess:
    if not isinstance(target, Field):
        raise RefusalError(code, f"{function} searches a String property such as $d.title", target.at)
    _refuse_edge(scope, target, function)
    access = check_field(scope, target)
    if access.type.scalar is not Scalar.STRING or access.type.is_list:
        raise RefusalError(code, f"{function} searches a String property; {target.name} is {access.type}", target.at)
    return access


def _refuse_edge(scope: Scope, target: Field, function: str) -> None:
    bound = scope.find(target.variable)
    if bound is not None and bound.entity == "edge":
        raise RefusalError("T23", f"{function} works on nodes; ${target.variable} is an edge", target.at)


def _text_query(scope: Scope, query: Value, function: str, code: str) -> Param | Literal:
    typed = _constant(scope, query, f"the text of {function}", code)
    if typed.type.scalar is not Scalar.STRING or typed.type.is_list:
        raise RefusalError(code, f"the text of {function} is a String, not {typed.type}", query.at)
    return _as_constant(typed)


def _constant(scope: Scope, value: Value, what: str, code: str) -> Typed:
    """A literal or a parameter, checked."""
    is_param = isinstance(value, Var) and value.name in scope.session.params
    if not is_param and not isinstance(value, Constant):
        if isinstance(value, Var) and scope.find(value.name) is None:
            scope.required(value.name, value.at, None)
        raise RefusalError(code, f"{what} is a literal or a parameter", value.at)
    return check_value(scope, value)


def _as_constant(typed: Typed) -> Param | Literal:
    assert isinstance(typed.expr, Param | Literal)
    return typed.expr


def _whole_number(scope: Scope, value: Value, code: str, what: str, minimum: int) -> Param | Literal:
    typed = _constant(scope, value, what, code)
    if not typed.type.scalar.is_integer or typed.type.is_list:
        raise RefusalError(code, f"{what} is an integer, not {typed.type}", value.at)
    expr = _as_constant(typed)
    if isinstance(expr, Literal) and isinstance(expr.value, IntegerLit) and expr.value.value < minimum:
        raise RefusalError(code, f"{what} is at least {minimum}", value.at)
    return expr


def check_nearest(scope: Scope, call: NearestCall) -> Nearest:
    field = call.target
    _refuse_edge(scope, field, "nearest")
    bound = scope.required(field.variable, field.at, "T15")
    declared = scope.session.catalog.node(bound.type_name)
    prop = declared.property(field.name) if declared else None
    if prop is None:
        hint = did_you_mean(field.name, declared.by_name if declared else ())
        raise RefusalError("T15", f"{bound.type_name} has no property '{field.name}'", field.name_at, hint)
    if not prop.type.is_vector:
        raise RefusalError("T15", f"nearest needs a Vector property; {field.name} is {prop.type}", field.at)
    access = PropAccess(bound.name, field.name, replace(prop.type, nullable=prop.type.nullable or bound.nullable))
    return Nearest(access, _nearest_query(scope, call.query, prop.type))


def _nearest_query(scope: Scope, query: Value, target: PropType) -> Param | Literal:
    typed = _constant(scope, query, "the query of nearest", "T15")
    wanted = f"a {target}, {target.dimension} numbers, or text to embed"
    if isinstance(typed.expr, Literal):
        literal = typed.expr.value
        if isinstance(literal, StringLit | NullLit):
            return typed.expr
        if is_number_list(literal) and len(getattr(literal, "items", ())) == target.dimension:
            return typed.expr
    elif isinstance(typed.expr, Param):
        if typed.type.is_vector and typed.type.dimension == target.dimension:
            return typed.expr
        if typed.type.scalar is Scalar.STRING and not typed.type.is_list:
            return typed.expr
    raise RefusalError("T15", f"nearest takes {wanted}, not {_shown(typed)}", query.at)


def _shown(typed: Typed) -> str:
    if isinstance(typed.expr, Literal) and is_number_list(typed.expr.value):
        return f"{len(getattr(typed.expr.value, 'items', ()))} numbers"
    return str(typed.type)


def check_rrf(scope: Scope, call: RrfCall) -> Rrf:
    primary = _arm(scope, call.primary)
    secondary = _arm(scope, call.secondary)
    if primary.field.variable != secondary.field.variable:
        raise RefusalError("T93", "both arms of rrf must rank the same variable", call.secondary.at)
    k = _whole_number(scope, call.k, "T21", "k of rrf", minimum=1) if call.k is not None else None
    return Rrf(primary, secondary, k)


def _arm(scope: Scope, value: Value) -> Nearest | Bm25:
    if isinstance(value, NearestCall):
        return check_nearest(scope, value)
    if isinstance(value, Bm25Call):
        return check_bm25(scope, value)
    raise RefusalError("T21", "rrf fuses nearest(…) and bm25(…)", value.at)
