"""Schema IR, version 1: the accepted schema as it is stored and hashed.

Everything is sorted here and nowhere else, so that two texts with the same declarations have the same bytes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal

from omnigraph.language.schema.catalog import Annotation, Cardinality, CheckRule, RangeRule
from omnigraph.model.late_dataclass import dataclass
from omnigraph.model.types import PropType

IR_VERSION = 1

ColumnKind = Literal["Key", "Unique", "Index"]


@dataclass(frozen=True, slots=True)
class ColumnRule:
    """`@key`, `@unique` or `@index` over columns, which are sorted."""

    kind: ColumnKind
    columns: tuple[str, ...]


Constraint = ColumnRule | RangeRule | CheckRule


@dataclass(frozen=True, slots=True)
class PropertyIR:
    name: str
    prop_id: int
    type: PropType
    annotations: tuple[Annotation, ...] = ()


@dataclass(frozen=True, slots=True)
class InterfaceIR:
    name: str
    type_id: int
    properties: tuple[PropertyIR, ...] = ()


@dataclass(frozen=True, slots=True)
class NodeIR:
    name: str
    type_id: int
    annotations: tuple[Annotation, ...] = ()
    implements: tuple[str, ...] = ()
    properties: tuple[PropertyIR, ...] = ()
    constraints: tuple[Constraint, ...] = ()


@dataclass(frozen=True, slots=True)
class EdgeIR:
    name: str
    type_id: int
    from_type: str
    to_type: str
    cardinality: Cardinality
    annotations: tuple[Annotation, ...] = ()
    properties: tuple[PropertyIR, ...] = ()
    constraints: tuple[Constraint, ...] = ()


TypeIR = InterfaceIR | NodeIR | EdgeIR


@dataclass(frozen=True, slots=True)
class SchemaIR:
    interfaces: tuple[InterfaceIR, ...] = ()
    nodes: tuple[NodeIR, ...] = ()
    edges: tuple[EdgeIR, ...] = ()


def sorted_annotations(annotations: Iterable[Annotation]) -> tuple[Annotation, ...]:
    """By name, then value with an absent one first."""
    return tuple(sorted(annotations, key=lambda a: (a.name, a.value is not None, a.value or "")))


def sorted_constraints(constraints: Sequence[Constraint]) -> tuple[Constraint, ...]:
    return tuple(sorted(constraints, key=_sort_key))


def _sort_key(constraint: Constraint) -> str:
    match constraint:
        case ColumnRule(kind=kind, columns=columns):
            return f"{kind.lower()}:{','.join(columns)}"
        case RangeRule(property=name, minimum=low, maximum=high):
            return f"range:{name}:{_bound_key(low)}:{_bound_key(high)}"
        case CheckRule(property=name, pattern=pattern):
            return f"check:{name}:{pattern}"


def _bound_key(bound: int | float | None) -> str:
    """A bound as the sort key spells it. Floats turn to exponents at other sizes than in JSON."""
    if bound is None:
        return "None"
    if isinstance(bound, int):
        return f"Some(Integer({bound}))"
    mantissa, e, exponent = repr(bound).partition("e")
    return f"Some(Float({mantissa}{e}{int(exponent)}))" if e else f"Some(Float({bound!r}))"
