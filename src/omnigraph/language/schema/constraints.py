"""Constraint rules: what `@key`, `@unique`, `@index`, `@range` and `@check` in a body may name."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from omnigraph.language.diagnostics import did_you_mean
from omnigraph.language.schema.annotations import unfit
from omnigraph.language.schema.interfaces import NodeShape
from omnigraph.language.schema.report import Report
from omnigraph.language.schema.syntax import Argument, ConstraintSyntax, EdgeDecl, PropertyDecl, RangeArgument, TypeKind
from omnigraph.model.late_dataclass import dataclass
from omnigraph.model.types import Scalar

PatternChecker = Callable[[str], str | None]
"""None when the pattern is fine, else the reason why it is not."""

_ENDPOINT_COLUMNS = ("src", "dst")


@dataclass(frozen=True, slots=True)
class _Owner:
    kind: TypeKind
    name: str
    properties: Mapping[str, PropertyDecl]


def check_node_constraints(
    shape: NodeShape, report: Report, *, strict: bool, check_pattern: PatternChecker | None
) -> None:
    owner = _Owner("node", shape.decl.name.text, {prop.name.text: prop for prop in shape.properties})
    for constraint in shape.decl.constraints:
        if constraint.name == "range":
            _check_range(owner, constraint, report, strict=strict)
        elif constraint.name == "check":
            _check_check(owner, constraint, report, strict=strict, check_pattern=check_pattern)
        else:
            _check_columns(owner, constraint, report, strict=strict)
    _check_one_key(shape, report)


def check_edge_constraints(edge: EdgeDecl, report: Report, *, strict: bool) -> None:
    owner = _Owner("edge", edge.name.text, {prop.name.text: prop for prop in edge.properties})
    for constraint in edge.constraints:
        if constraint.name in ("unique", "index"):
            _check_columns(owner, constraint, report, strict=strict)
        else:
            hint = "edges take @unique and @index, which may also name src and dst"
            report.error("parse", f"edges have no @{constraint.name}", constraint.place, hint)


def _check_one_key(shape: NodeShape, report: Report) -> None:
    """Property form, body form and injected form all count."""
    places = [a.place for prop in shape.properties for a in prop.annotations if a.name.text == "key"]
    places += [constraint.place for constraint in shape.decl.constraints if constraint.name == "key"]
    for place in places[1:]:
        hint = "name all members in one @key(a, b)"
        report.error("parse", f"node '{shape.decl.name.text}' has more than one @key", place, hint)


def _check_columns(owner: _Owner, constraint: ConstraintSyntax, report: Report, *, strict: bool) -> None:
    seen: set[str] = set()
    for argument in constraint.arguments:
        if not isinstance(argument, Argument) or argument.form not in ("name", "bool"):
            message = f"@{constraint.name} takes names of properties"
            report.error("parse", message, argument.place, "write names without quotes")
            continue
        if argument.text in seen and strict:
            report.warn(f"@{constraint.name} names '{argument.text}' twice", argument.place, "name it once")
        seen.add(argument.text)
        if owner.kind == "edge" and argument.text in _ENDPOINT_COLUMNS:
            continue
        prop = _find(owner, constraint, argument, report)
        if prop is not None:
            _check_column_type(owner, constraint, argument, prop, report, strict=strict)


def _check_column_type(
    owner: _Owner, constraint: ConstraintSyntax, argument: Argument, prop: PropertyDecl, report: Report, *, strict: bool
) -> None:
    assert constraint.name in ("key", "unique", "index")
    reason = unfit(constraint.name, prop.type.type)
    tolerated = not strict and constraint.name != "key" and not prop.type.type.is_blob
    if reason and not tolerated:
        message = f"@{constraint.name} on '{owner.name}.{argument.text}': {reason}"
        report.error("parse", message, argument.place)


def _check_range(owner: _Owner, constraint: ConstraintSyntax, report: Report, *, strict: bool) -> None:
    match constraint.arguments:
        case (Argument(form="name" | "bool") as target, RangeArgument() as bounds):
            prop = _find(owner, constraint, target, report)
            if prop is None:
                return
            if not prop.type.type.scalar.is_numeric or (strict and prop.type.type.is_list):
                message = f"@range on '{owner.name}.{target.text}': {prop.type.type} is not a number"
                report.error("parse", message, target.place)
            low, high = bounds.minimum, bounds.maximum
            if strict and low is not None and high is not None and low > high:
                hint = f"did you mean {high}..{low}?"
                report.error("parse", f"@range minimum {low} is above its maximum {high}", bounds.place, hint)
        case _:
            hint = "@range(age, 0..150); either side may be open"
            report.error("parse", "@range takes a property and a range", constraint.place, hint)


def _check_check(
    owner: _Owner,
    constraint: ConstraintSyntax,
    report: Report,
    *,
    strict: bool,
    check_pattern: PatternChecker | None,
) -> None:
    match constraint.arguments:
        case (Argument(form="name" | "bool") as target, Argument(form="string") as pattern):
            prop = _find(owner, constraint, target, report)
            if prop is None:
                return
            if prop.type.type.scalar is not Scalar.STRING or (strict and prop.type.type.is_list):
                message = f"@check on '{owner.name}.{target.text}': {prop.type.type} is not a String"
                report.error("parse", message, target.place)
            reason = check_pattern(pattern.text) if strict and check_pattern else None
            if reason is not None:
                report.error("parse", f"invalid pattern: {reason}", pattern.place, "patterns are in RE2 syntax")
        case _:
            hint = '@check(code, "^[A-Z]{3}$")'
            report.error("parse", "@check takes a property and a quoted pattern", constraint.place, hint)


def _find(owner: _Owner, constraint: ConstraintSyntax, name: Argument, report: Report) -> PropertyDecl | None:
    prop = owner.properties.get(name.text)
    if prop is None:
        known: Iterable[str] = owner.properties
        if owner.kind == "edge":
            known = (*known, *_ENDPOINT_COLUMNS)
        message = f"@{constraint.name}: {owner.kind} '{owner.name}' has no property '{name.text}'"
        report.error("parse", message, name.place, did_you_mean(name.text, known))
    return prop
