"""Schema IR to JSON: exact key order, exact number form, and the hash over it."""

from __future__ import annotations

import hashlib
import json
from json.encoder import encode_basestring
from typing import Any

from omnigraph.language.schema.catalog import Annotation, Cardinality, CheckRule, RangeRule
from omnigraph.language.schema.ir import IR_VERSION, ColumnRule, Constraint, EdgeIR, NodeIR, PropertyIR, SchemaIR
from omnigraph.model.types import PropType


def schema_ir_to_json(ir: SchemaIR, *, pretty: bool = False) -> str:
    """Compact is what gets hashed; pretty (two spaces, no final newline) is what gets stored."""
    return _write(_schema(ir), "\n" if pretty else "")


def schema_ir_hash(ir: SchemaIR) -> str:
    """`sha256:` and the hex digest of the compact JSON."""
    return "sha256:" + hashlib.sha256(schema_ir_to_json(ir).encode()).hexdigest()


def _schema(ir: SchemaIR) -> dict[str, Any]:
    return {
        "ir_version": IR_VERSION,
        "interfaces": [
            {"name": i.name, "type_id": i.type_id, "properties": [_property(p) for p in i.properties]}
            for i in ir.interfaces
        ],
        "nodes": [_node(node) for node in ir.nodes],
        "edges": [_edge(edge) for edge in ir.edges],
    }


def _node(node: NodeIR) -> dict[str, Any]:
    return {
        "name": node.name,
        "type_id": node.type_id,
        "annotations": annotations_to_json(node.annotations),
        "implements": list(node.implements),
        "properties": [_property(p) for p in node.properties],
        "constraints": [constraint_to_json(c) for c in node.constraints],
    }


def _edge(edge: EdgeIR) -> dict[str, Any]:
    return {
        "name": edge.name,
        "type_id": edge.type_id,
        "from_type": edge.from_type,
        "to_type": edge.to_type,
        "cardinality": cardinality_to_json(edge.cardinality),
        "annotations": annotations_to_json(edge.annotations),
        "properties": [_property(p) for p in edge.properties],
        "constraints": [constraint_to_json(c) for c in edge.constraints],
    }


def _property(prop: PropertyIR) -> dict[str, Any]:
    return {
        "name": prop.name,
        "prop_id": prop.prop_id,
        "prop_type": prop_type_to_json(prop.type),
        "annotations": annotations_to_json(prop.annotations),
    }


def prop_type_to_json(type_: PropType) -> dict[str, Any]:
    return {
        "scalar": {"Vector": type_.dimension} if type_.is_vector else type_.scalar.value,
        "nullable": type_.nullable,
        "list": type_.is_list,
        "enum_values": list(type_.enum_values) if type_.enum_values is not None else None,
    }


def annotations_to_json(annotations: tuple[Annotation, ...]) -> list[dict[str, Any]]:
    return [{"name": a.name, "value": a.value, **({"kwargs": dict(a.kwargs)} if a.kwargs else {})} for a in annotations]


def cardinality_to_json(cardinality: Cardinality) -> dict[str, Any]:
    return {"min": cardinality.minimum, "max": cardinality.maximum}


def constraint_to_json(constraint: Constraint) -> dict[str, Any]:
    match constraint:
        case ColumnRule(kind=kind, columns=columns):
            return {kind: list(columns)}
        case RangeRule(property=name, minimum=low, maximum=high):
            return {"Range": {"property": name, "min": _bound(low), "max": _bound(high)}}
        case CheckRule(property=name, pattern=pattern):
            return {"Check": {"property": name, "pattern": pattern}}


def _bound(bound: int | float | None) -> dict[str, Any] | None:
    if bound is None:
        return None
    return {"Integer": bound} if isinstance(bound, int) else {"Float": bound}


def _write(value: Any, newline: str) -> str:
    """JSON text. The standard encoder has no option for the spelling of floats."""
    if isinstance(value, dict):
        colon = ": " if newline else ":"
        items = [
            f"{encode_basestring(key)}{colon}{_write(item, newline and newline + '  ')}" for key, item in value.items()
        ]
        return _enclose("{", items, "}", newline)
    if isinstance(value, list):
        return _enclose("[", [_write(item, newline and newline + "  ") for item in value], "]", newline)
    if isinstance(value, float):
        return float_text(value)
    if isinstance(value, str):
        return encode_basestring(value)
    return json.dumps(value)


def _enclose(opening: str, items: list[str], closing: str, newline: str) -> str:
    if not items or not newline:
        return opening + ",".join(items) + closing
    inner = newline + "  "
    return opening + inner + f",{inner}".join(items) + newline + closing


def float_text(value: float) -> str:
    """Shortest round trip, plain between 1e-5 and 1e16, else with an exponent: `1e+16`, `1e-6`."""
    mantissa, e, exponent = repr(value).partition("e")
    if not e:
        return mantissa
    power = int(exponent)
    if power == -5:
        sign, digits = ("-", mantissa[1:]) if mantissa.startswith("-") else ("", mantissa)
        return f"{sign}0.0000{digits.replace('.', '')}"
    return f"{mantissa}e{power:+d}" if power > 0 else f"{mantissa}e{power}"
