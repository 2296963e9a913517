"""Schema IR from JSON: every field is checked, and a fault is reported with its path."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from omnigraph.language.schema.catalog import Annotation, Cardinality, CheckRule, RangeRule
from omnigraph.language.schema.ir import (
    IR_VERSION,
    ColumnKind,
    ColumnRule,
    Constraint,
    EdgeIR,
    InterfaceIR,
    NodeIR,
    PropertyIR,
    SchemaIR,
)
from omnigraph.model.errors import BadRequest
from omnigraph.model.types import PropType, Scalar

T = TypeVar("T")


@dataclass(eq=False)
class InvalidSchemaIR(BadRequest):
    """A stored schema IR that breaks its own rules."""

    path: str
    reason: str

    def sentence(self) -> str:
        return f"invalid accepted SchemaIR: at {self.path}: {self.reason}"


def schema_ir_from_json(text: str) -> SchemaIR:
    """The IR of a stored file. Unknown keys are ignored, everything else must be exactly right."""
    try:
        raw = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidSchemaIR(path="$", reason=f"not JSON: {error}") from error
    reader = _Reader(raw, "$")
    version = reader.integer("ir_version")
    if version != IR_VERSION:
        raise InvalidSchemaIR(path="$.ir_version", reason=f"version {version} is not supported; this release reads 1")
    ir = SchemaIR(
        interfaces=reader.each("interfaces", _read_interface),
        nodes=reader.each("nodes", _read_node),
        edges=reader.each("edges", _read_edge),
    )
    _check_references(ir)
    return ir


class _Reader:
    """A JSON object and its path, for messages that say where."""

    def __init__(self, value: Any, path: str) -> None:
        if not isinstance(value, dict):
            raise InvalidSchemaIR(path=path, reason="expected an object")
        self.value: Mapping[str, Any] = value
        self.path = path

    def fault(self, key: str, reason: str) -> InvalidSchemaIR:
        return InvalidSchemaIR(path=f"{self.path}.{key}", reason=reason)

    def get(self, key: str) -> Any:
        if key not in self.value:
            raise self.fault(key, "missing")
        return self.value[key]

    def string(self, key: str) -> str:
        value = self.get(key)
        if not isinstance(value, str):
            raise self.fault(key, "expected a string")
        return value

    def optional_string(self, key: str) -> str | None:
        return None if self.get(key) is None else self.string(key)

    def integer(self, key: str) -> int:
        value = self.get(key)
        if not isinstance(value, int) or isinstance(value, bool):
            raise self.fault(key, "expected an integer")
        return value

    def boolean(self, key: str) -> bool:
        value = self.get(key)
        if not isinstance(value, bool):
            raise self.fault(key, "expected true or false")
        return value

    def strings(self, key: str) -> tuple[str, ...]:
        value = self.get(key)
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            raise self.fault(key, "expected a list of strings")
        return tuple(value)

    def object(self, key: str) -> _Reader:
        return _Reader(self.get(key), f"{self.path}.{key}")

    def each(self, key: str, read: Callable[[_Reader], T]) -> tuple[T, ...]:
        value = self.get(key)
        if not isinstance(value, list):
            raise self.fault(key, "expected a list")
        return tuple(read(_Reader(item, f"{self.path}.{key}[{index}]")) for index, item in enumerate(value))


def _read_interface(r: _Reader) -> InterfaceIR:
    return InterfaceIR(r.string("name"), r.integer("type_id"), r.each("properties", _read_property))


def _read_node(r: _Reader) -> NodeIR:
    return NodeIR(
        name=r.string("name"),
        type_id=r.integer("type_id"),
        annotations=r.each("annotations", _read_annotation),
        implements=r.strings("implements"),
        properties=r.each("properties", _read_property),
        constraints=r.each("constraints", _read_constraint),
    )


def _read_edge(r: _Reader) -> EdgeIR:
    bounds = r.object("cardinality")
    maximum = None if bounds.get("max") is None else bounds.integer("max")
    return EdgeIR(
        name=r.string("name"),
        type_id=r.integer("type_id"),
        from_type=r.string("from_type"),
        to_type=r.string("to_type"),
        cardinality=Cardinality(bounds.integer("min"), maximum),
        annotations=r.each("annotations", _read_annotation),
        properties=r.each("properties", _read_property),
        constraints=r.each("constraints", _read_constraint),
    )


def _read_property(r: _Reader) -> PropertyIR:
    return PropertyIR(
        name=r.string("name"),
        prop_id=r.integer("prop_id"),
        type=_read_type(r.object("prop_type")),
        annotations=r.each("annotations", _read_annotation),
    )


def _read_type(r: _Reader) -> PropType:
    nullable, is_list = r.boolean("nullable"), r.boolean("list")
    enum_values = None if r.get("enum_values") is None else r.strings("enum_values")
    if isinstance(r.get("scalar"), dict):
        return PropType(Scalar.VECTOR, nullable, is_list, r.object("scalar").integer("Vector"), enum_values)
    name = r.string("scalar")
    if name == "Vector" or name not in [scalar.value for scalar in Scalar]:
        raise r.fault("scalar", f"unknown scalar '{name}'")
    return PropType(Scalar(name), nullable, is_list, None, enum_values)


def _read_annotation(r: _Reader) -> Annotation:
    kwargs: tuple[tuple[str, str], ...] = ()
    if "kwargs" in r.value:
        reader = r.object("kwargs")
        kwargs = tuple(sorted((key, reader.string(key)) for key in reader.value))
    return Annotation(r.string("name"), r.optional_string("value"), kwargs)


def _read_constraint(r: _Reader) -> Constraint:
    kinds: tuple[ColumnKind, ...] = ("Key", "Unique", "Index")
    for kind in kinds:
        if kind in r.value:
            return ColumnRule(kind, r.strings(kind))
    if "Range" in r.value:
        body = r.object("Range")
        return RangeRule(body.string("property"), _read_bound(body, "min"), _read_bound(body, "max"))
    if "Check" in r.value:
        body = r.object("Check")
        return CheckRule(body.string("property"), body.string("pattern"))
    raise InvalidSchemaIR(path=r.path, reason="expected one of Key, Unique, Index, Range, Check")


def _read_bound(r: _Reader, key: str) -> int | float | None:
    if r.get(key) is None:
        return None
    bound = r.object(key)
    if "Integer" in bound.value:
        return bound.integer("Integer")
    value = bound.get("Float")
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise bound.fault("Float", "expected a number")
    return float(value)


def _check_references(ir: SchemaIR) -> None:
    """Names that one declaration uses and another must have."""
    interfaces = {interface.name for interface in ir.interfaces}
    nodes = {node.name for node in ir.nodes}
    for kind, items in (("interfaces", ir.interfaces), ("nodes", ir.nodes), ("edges", ir.edges)):
        if len({item.name for item in items}) != len(items):
            raise InvalidSchemaIR(path=f"$.{kind}", reason="a name occurs twice")
    for index, node in enumerate(ir.nodes):
        unknown = set(node.implements) - interfaces
        if unknown:
            raise InvalidSchemaIR(path=f"$.nodes[{index}].implements", reason=f"no interface '{min(unknown)}'")
        _check_columns(f"$.nodes[{index}]", node.properties, node.constraints, ())
    for index, edge in enumerate(ir.edges):
        for name in (edge.from_type, edge.to_type):
            if name not in nodes:
                raise InvalidSchemaIR(path=f"$.edges[{index}]", reason=f"no node type '{name}'")
        _check_columns(f"$.edges[{index}]", edge.properties, edge.constraints, ("src", "dst"))


def _check_columns(
    path: str, properties: tuple[PropertyIR, ...], constraints: tuple[Constraint, ...], extra: tuple[str, ...]
) -> None:
    names = [prop.name for prop in properties]
    if len(set(names)) != len(names):
        raise InvalidSchemaIR(path=f"{path}.properties", reason="a name occurs twice")
    for index, constraint in enumerate(constraints):
        columns = constraint.columns if isinstance(constraint, ColumnRule) else (constraint.property,)
        unknown = set(columns) - set(names) - set(extra)
        if unknown:
            raise InvalidSchemaIR(path=f"{path}.constraints[{index}]", reason=f"no property '{min(unknown)}'")
