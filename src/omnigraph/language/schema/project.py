"""Projection: schema IR becomes the catalog that queries, validation and storage ask."""

from __future__ import annotations

from omnigraph.language.schema.catalog import (
    Catalog,
    CheckRule,
    EdgeType,
    Embed,
    InterfaceType,
    NodeType,
    Property,
    RangeRule,
)
from omnigraph.language.schema.ir import ColumnKind, ColumnRule, Constraint, EdgeIR, NodeIR, PropertyIR, SchemaIR
from omnigraph.model.errors import InvalidValue
from omnigraph.model.values import coerce_text


def catalog_from_ir(ir: SchemaIR) -> Catalog:
    return Catalog(
        nodes=tuple(_node(node) for node in ir.nodes),
        edges=tuple(_edge(edge) for edge in ir.edges),
        interfaces=tuple(
            InterfaceType(interface.name, tuple(_property(prop) for prop in interface.properties))
            for interface in ir.interfaces
        ),
    )


def _node(node: NodeIR) -> NodeType:
    keys = _columns(node.constraints, "Key")
    return NodeType(
        name=node.name,
        properties=tuple(_property(prop) for prop in node.properties),
        unique=_columns(node.constraints, "Unique"),
        # A key is looked up by its members, so it counts as an index too.
        indices=tuple(dict.fromkeys((*_columns(node.constraints, "Index"), *keys))),
        annotations=node.annotations,
        implements=node.implements,
        key=keys[0] if keys else None,
        ranges=tuple(c for c in node.constraints if isinstance(c, RangeRule)),
        checks=tuple(c for c in node.constraints if isinstance(c, CheckRule)),
    )


def _edge(edge: EdgeIR) -> EdgeType:
    return EdgeType(
        name=edge.name,
        properties=tuple(_property(prop) for prop in edge.properties),
        unique=_columns(edge.constraints, "Unique"),
        indices=_columns(edge.constraints, "Index"),
        annotations=edge.annotations,
        from_type=edge.from_type,
        to_type=edge.to_type,
        cardinality=edge.cardinality,
    )


def _columns(constraints: tuple[Constraint, ...], kind: ColumnKind) -> tuple[tuple[str, ...], ...]:
    found = [c.columns for c in constraints if isinstance(c, ColumnRule) and c.kind == kind]
    return tuple(dict.fromkeys(tuple(dict.fromkeys(columns)) for columns in found))


def _property(prop: PropertyIR) -> Property:
    return Property(
        name=prop.name, type=prop.type, annotations=prop.annotations, embed=embed_of(prop), default=default_of(prop)
    )


def embed_of(prop: PropertyIR) -> Embed | None:
    for annotation in prop.annotations:
        if annotation.name == "embed" and annotation.value is not None:
            return Embed(annotation.value, dict(annotation.kwargs).get("model"))
    return None


def default_of(prop: PropertyIR) -> str | None:
    """The text of `@default`, unless it does not fit: elsewhere the annotation has no meaning and may hold anything."""
    for annotation in prop.annotations:
        if annotation.name == "default" and annotation.value is not None:
            try:
                coerce_text(annotation.value, prop.type, prop.name)
            except InvalidValue:
                return None
            return annotation.value
    return None
