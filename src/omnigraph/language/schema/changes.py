"""Change rules: which step turns one property type, constraint set or cardinality into another."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from omnigraph.language.schema.catalog import Cardinality, RangeRule
from omnigraph.language.schema.ir import ColumnRule, Constraint, PropertyIR
from omnigraph.language.schema.steps import (
    NULLABLE_TO_REQUIRED,
    RELAXED,
    TIGHTENED,
    TYPE_CHANGED,
    VALUES_RENAMED,
    AddConstraint,
    ChangeCardinality,
    ChangePropertyType,
    ExtendEnum,
    RemoveConstraint,
    RenameEnumValues,
    Step,
    UnsupportedChange,
    constraint_text,
)
from omnigraph.language.schema.syntax import TypeKind
from omnigraph.model.types import PropType, Scalar

_LOSSLESS = {
    (Scalar.I32, Scalar.I64),
    (Scalar.U32, Scalar.U64),
    (Scalar.F32, Scalar.F64),
    (Scalar.I32, Scalar.F64),
}


def type_steps(
    kind: TypeKind,
    owner: str,
    prop: PropertyIR,
    before: PropType,
    *,
    in_key: bool,
    renamed: Mapping[str, str] | None = None,
) -> Iterable[Step]:
    """From `before` to the type of `prop`: values that get another name, an enum that grows, then what else changes, or
    one refusal."""
    after = prop.type
    if before == after:
        return
    moved = _moved_values(before, after, renamed or {})
    if moved and not in_key:
        yield RenameEnumValues(
            type_kind=kind,
            type_name=owner,
            property_name=prop.name,
            mapping=tuple(sorted(moved.items())),
            tier="validated",
            code=VALUES_RENAMED,
        )
        kept = {moved.get(value, value) for value in before.enum_values or ()}
        before = replace(before, enum_values=tuple(sorted(kept)))
        if before == after:
            return
    fault = _fault(before, after, in_key=in_key)
    if fault is not None:
        entity = f"{kind}:{owner}.{prop.name}"
        reason = f"changing the type of '{owner}.{prop.name}' from {before} to {after} is not possible: {fault}"
        yield UnsupportedChange(entity=entity, reason=reason, code=TYPE_CHANGED)
        return
    if before.enum_values != after.enum_values:
        added = tuple(sorted(set(after.enum_values or ()) - set(before.enum_values or ())))
        yield ExtendEnum(type_kind=kind, type_name=owner, property_name=prop.name, added_values=added)
        before = replace(before, enum_values=after.enum_values)
    if before != after:
        tightened = before.nullable and not after.nullable
        yield ChangePropertyType(
            type_kind=kind,
            type_name=owner,
            property_name=prop.name,
            before=before,
            after=after,
            tier="validated" if tightened else "safe",
            code=NULLABLE_TO_REQUIRED if tightened else RELAXED,
        )


def _moved_values(before: PropType, after: PropType, renamed: Mapping[str, str]) -> dict[str, str]:
    """The values that the enum loses and the caller has a new name for, if that is one of the enum."""
    stored, wanted = set(before.enum_values or ()), set(after.enum_values or ())
    return {old: new for old, new in renamed.items() if old in stored - wanted and new in wanted}


def _fault(before: PropType, after: PropType, *, in_key: bool) -> str | None:
    """Why stored values cannot be carried over, or None."""
    if before.is_list != after.is_list:
        return "a list cannot be converted to a single value, nor a single value to a list"
    if before.is_enum != after.is_enum:
        return "an enum and a plain String are not the same type"
    if before.enum_values is not None and not set(before.enum_values) <= set(after.enum_values or ()):
        gone = ", ".join(sorted(set(before.enum_values) - set(after.enum_values or ())))
        return f"stored values may be {gone}"
    if before.dimension != after.dimension:
        return "vectors of another dimension must be computed again"
    if before.scalar is after.scalar:
        return None
    if before.is_list or (before.scalar, after.scalar) not in _LOSSLESS:
        return "only I32 to I64, U32 to U64, F32 to F64 and I32 to F64 keep every value"
    if in_key and before.scalar is Scalar.F32:
        return "it is part of the key, and ids would be spelled differently"
    return None


def constraint_steps(
    kind: TypeKind, owner: str, before: Sequence[Constraint], after: Sequence[Constraint]
) -> Iterable[Step]:
    """From one set to the other, compared by what they demand: spelling and repetition do not matter."""
    old, new = list(dict.fromkeys(before)), list(dict.fromkeys(after))
    for constraint in old:
        if constraint not in new:
            yield _removal(kind, owner, constraint)
    for constraint in new:
        if constraint not in old:
            yield _addition(kind, owner, constraint, old)


def _removal(kind: TypeKind, owner: str, constraint: Constraint) -> Step:
    if _is_key(constraint) and kind == "node":
        reason = f"{constraint_text(constraint)} cannot be removed: the key decides the ids of all stored nodes"
        return UnsupportedChange(entity=f"{kind}:{owner}", reason=reason)
    return RemoveConstraint(type_kind=kind, type_name=owner, constraint=constraint, code=RELAXED)


def _addition(kind: TypeKind, owner: str, constraint: Constraint, old: Sequence[Constraint]) -> Step:
    if _is_key(constraint) and kind == "node":
        reason = f"{constraint_text(constraint)} cannot be added: the key decides the ids of all stored nodes"
        return UnsupportedChange(entity=f"{kind}:{owner}", reason=reason)
    step = AddConstraint(type_kind=kind, type_name=owner, constraint=constraint)
    is_intent = isinstance(constraint, ColumnRule) and constraint.kind == "Index"
    if is_intent or kind == "interface":
        return step
    if any(_implies(earlier, constraint) for earlier in old):
        return replace(step, code=RELAXED)
    return replace(step, tier="validated", code=TIGHTENED)


def _is_key(constraint: Constraint) -> bool:
    return isinstance(constraint, ColumnRule) and constraint.kind == "Key"


def _implies(earlier: Constraint, later: Constraint) -> bool:
    """True when rows that satisfy the earlier constraint always satisfy the later one."""
    match earlier, later:
        case RangeRule(), RangeRule() if earlier.property == later.property:
            above = later.minimum is None or (earlier.minimum is not None and earlier.minimum >= later.minimum)
            below = later.maximum is None or (earlier.maximum is not None and earlier.maximum <= later.maximum)
            return above and below
        case ColumnRule(kind="Key" | "Unique"), ColumnRule(kind="Unique"):
            return set(earlier.columns) <= set(later.columns)
    return False


def cardinality_step(owner: str, before: Cardinality, after: Cardinality) -> Step:
    lowest = before.maximum if before.maximum is not None else math.inf
    highest = after.maximum if after.maximum is not None else math.inf
    relaxed = after.minimum <= before.minimum and lowest <= highest
    return ChangeCardinality(
        type_name=owner,
        before=before,
        after=after,
        tier="safe" if relaxed else "validated",
        code=RELAXED if relaxed else TIGHTENED,
    )
