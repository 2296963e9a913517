"""Lowering: checked syntax becomes schema IR. Everything is sorted, injected and given its id here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from omnigraph.language.schema.catalog import Annotation, Cardinality, CheckRule, RangeRule
from omnigraph.language.schema.interfaces import NodeShape
from omnigraph.language.schema.ir import (
    ColumnKind,
    ColumnRule,
    Constraint,
    EdgeIR,
    InterfaceIR,
    NodeIR,
    PropertyIR,
    SchemaIR,
    sorted_annotations,
    sorted_constraints,
)
from omnigraph.language.schema.report import Report
from omnigraph.language.schema.syntax import (
    AnnotationSyntax,
    Argument,
    ConstraintSyntax,
    EdgeDecl,
    InterfaceDecl,
    Place,
    PropertyDecl,
    RangeArgument,
    SchemaFile,
    TypeKind,
)
from omnigraph.model.identifiers import fnv1a32

T = TypeVar("T", InterfaceIR, NodeIR, EdgeIR, PropertyIR)

_COLUMN_KINDS: dict[str, ColumnKind] = {"key": "Key", "unique": "Unique", "index": "Index"}


def lower_schema(file: SchemaFile, nodes: Sequence[NodeShape], report: Report, *, strict: bool) -> SchemaIR:
    """The IR of a schema that passed every rule; only colliding ids can still go wrong."""
    ids = _Ids(report)
    return SchemaIR(
        interfaces=_by_name([_interface(interface, ids) for interface in file.interfaces]),
        nodes=_by_name([_node(shape, ids, strict=strict) for shape in nodes]),
        edges=_by_name([_edge(edge, ids, strict=strict) for edge in file.edges]),
    )


class _Ids:
    """Ids are hashes of names, so two names may meet; the stored format has no other identity."""

    def __init__(self, report: Report) -> None:
        self.report = report
        self.types: dict[int, str] = {}
        self.properties: dict[int, str] = {}

    def type(self, kind: TypeKind, name: str, place: Place) -> int:
        return self._claim(self.types, f"{kind}:{name}", place)

    def property(self, kind: TypeKind, owner: str, name: str, place: Place) -> int:
        return self._claim(self.properties, f"{kind}:{owner}:{name}", place)

    def _claim(self, taken: dict[int, str], text: str, place: Place) -> int:
        number = fnv1a32(text)
        earlier = taken.setdefault(number, text)
        if earlier != text:
            message = f"'{text}' and '{earlier}' have the same id {number}"
            self.report.error("catalog", message, place, "rename one of them")
        return number


def _by_name(items: list[T]) -> tuple[T, ...]:
    return tuple(sorted(items, key=lambda item: item.name))


def _interface(interface: InterfaceDecl, ids: _Ids) -> InterfaceIR:
    name = interface.name.text
    return InterfaceIR(
        name=name,
        type_id=ids.type("interface", name, interface.name.place),
        properties=_properties("interface", name, interface.properties, ids),
    )


def _node(shape: NodeShape, ids: _Ids, *, strict: bool) -> NodeIR:
    name = shape.decl.name.text
    return NodeIR(
        name=name,
        type_id=ids.type("node", name, shape.decl.name.place),
        annotations=_annotations(shape.decl.annotations),
        implements=tuple(sorted({interface.text for interface in shape.decl.implements})),
        properties=_properties("node", name, shape.properties, ids),
        constraints=_constraints(shape.properties, shape.decl.constraints, strict=strict),
    )


def _edge(edge: EdgeDecl, ids: _Ids, *, strict: bool) -> EdgeIR:
    name = edge.name.text
    card = edge.cardinality
    return EdgeIR(
        name=name,
        type_id=ids.type("edge", name, edge.name.place),
        from_type=edge.from_type.text,
        to_type=edge.to_type.text,
        cardinality=Cardinality(card.minimum, card.maximum) if card else Cardinality(),
        annotations=_annotations(edge.annotations),
        properties=_properties("edge", name, edge.properties, ids),
        constraints=_constraints(edge.properties, edge.constraints, strict=strict),
    )


def _properties(kind: TypeKind, owner: str, properties: Sequence[PropertyDecl], ids: _Ids) -> tuple[PropertyIR, ...]:
    return _by_name(
        [
            PropertyIR(
                name=prop.name.text,
                prop_id=ids.property(kind, owner, prop.name.text, prop.name.place),
                type=prop.type.type,
                annotations=_annotations(prop.annotations),
            )
            for prop in properties
        ]
    )


def _annotations(annotations: Sequence[AnnotationSyntax]) -> tuple[Annotation, ...]:
    return sorted_annotations(annotation.stored() for annotation in annotations)


def _constraints(
    properties: Sequence[PropertyDecl], body: Sequence[ConstraintSyntax], *, strict: bool
) -> tuple[Constraint, ...]:
    """`p: T @key` also stands as a constraint over `p`; the annotation stays on the property."""
    found: list[Constraint] = [
        ColumnRule(_COLUMN_KINDS[annotation.name.text], (prop.name.text,))
        for prop in properties
        for annotation in prop.annotations
        if annotation.name.text in _COLUMN_KINDS
    ]
    found.extend(_constraint(constraint, strict=strict) for constraint in body)
    return sorted_constraints(found)


def _constraint(constraint: ConstraintSyntax, *, strict: bool) -> Constraint:
    match constraint.name, constraint.arguments:
        case "range", (Argument(text=name), RangeArgument(minimum=low, maximum=high)):
            return RangeRule(name, low, high)
        case "check", (Argument(text=name), Argument(text=pattern)):
            return CheckRule(name, pattern)
    columns = [argument.text for argument in constraint.arguments if isinstance(argument, Argument)]
    # Texts of the other implementation keep a column that is named twice: its stored form has both.
    return ColumnRule(_COLUMN_KINDS[constraint.name], tuple(sorted(set(columns) if strict else columns)))
