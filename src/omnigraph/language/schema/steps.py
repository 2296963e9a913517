"""Migration steps: what a schema change consists of, as JSON and as a line for people."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from typing import Any, ClassVar, Literal

from omnigraph.language.schema.catalog import Annotation, Cardinality, CheckRule, RangeRule
from omnigraph.language.schema.ir import ColumnRule, Constraint
from omnigraph.language.schema.ir_write import (
    annotations_to_json,
    cardinality_to_json,
    constraint_to_json,
    float_text,
    prop_type_to_json,
)
from omnigraph.language.schema.syntax import TypeKind
from omnigraph.model.late_dataclass import dataclass
from omnigraph.model.types import PropType

Tier = Literal["safe", "validated", "destructive"]
"""Apply freely; after a scan of the rows; only with consent."""

DropMode = Literal["soft", "hard"]

RELAXED = "OG-CD-101"
REQUIRED_WITHOUT_DEFAULT = "OG-MF-103"
NULLABLE_TO_REQUIRED = "OG-MF-104"
TYPE_CHANGED = "OG-MF-106"
TIGHTENED = "OG-MF-107"
VALUES_RENAMED = "OG-MF-108"
NODE_DROPPED = "OG-DS-102"
EDGE_DROPPED = "OG-DS-103"
PROPERTY_DROPPED = "OG-DS-104"


@dataclass(frozen=True, slots=True, kw_only=True)
class Step(ABC):
    """One change. Subclasses say which fields it has; `tier` and `code` come last in JSON."""

    kind: ClassVar[str]
    tier: Tier = "safe"
    code: str | None = None

    @abstractmethod
    def facts(self) -> dict[str, Any]:
        """The fields of this kind, in the order of the contract."""

    @abstractmethod
    def sentence(self) -> str:
        """What happens, for people."""

    def to_json(self) -> dict[str, Any]:
        out = {"kind": self.kind, **self.facts(), "tier": self.tier}
        return {**out, "code": self.code} if self.code else out

    def line(self) -> str:
        return f"{self.sentence()} [{self.code}, {self.tier}]" if self.code else self.sentence()


@dataclass(frozen=True, slots=True, kw_only=True)
class AddType(Step):
    kind = "add_type"
    type_kind: TypeKind
    name: str

    def facts(self) -> dict[str, Any]:
        return {"type_kind": self.type_kind, "name": self.name}

    def sentence(self) -> str:
        return f"add {self.type_kind} type '{self.name}'"


@dataclass(frozen=True, slots=True, kw_only=True)
class RenameType(Step):
    kind = "rename_type"
    type_kind: TypeKind
    from_name: str
    to_name: str

    def facts(self) -> dict[str, Any]:
        return {"type_kind": self.type_kind, "from": self.from_name, "to": self.to_name}

    def sentence(self) -> str:
        return f"rename {self.type_kind} type '{self.from_name}' to '{self.to_name}'"


@dataclass(frozen=True, slots=True, kw_only=True)
class DropType(Step):
    kind = "drop_type"
    type_kind: TypeKind
    name: str
    mode: DropMode

    def facts(self) -> dict[str, Any]:
        return {"type_kind": self.type_kind, "name": self.name, "mode": self.mode}

    def sentence(self) -> str:
        return f"drop {self.type_kind} type '{self.name}' ({self.mode} mode)"


@dataclass(frozen=True, slots=True, kw_only=True)
class UpdateTypeMetadata(Step):
    kind = "update_type_metadata"
    type_kind: TypeKind
    name: str
    annotations: tuple[Annotation, ...]

    def facts(self) -> dict[str, Any]:
        annotations = annotations_to_json(self.annotations)
        return {"type_kind": self.type_kind, "name": self.name, "annotations": annotations}

    def sentence(self) -> str:
        return f"update metadata of {self.type_kind} '{self.name}'"


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeCardinality(Step):
    kind = "change_cardinality"
    type_name: str
    before: Cardinality
    after: Cardinality

    def facts(self) -> dict[str, Any]:
        before, after = cardinality_to_json(self.before), cardinality_to_json(self.after)
        return {"type_kind": "edge", "type_name": self.type_name, "from": before, "to": after}

    def sentence(self) -> str:
        return f"change cardinality of edge '{self.type_name}' from {_card(self.before)} to {_card(self.after)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeImplements(Step):
    kind = "change_implements"
    type_name: str
    before: tuple[str, ...]
    after: tuple[str, ...]

    def facts(self) -> dict[str, Any]:
        return {"type_kind": "node", "type_name": self.type_name, "from": list(self.before), "to": list(self.after)}

    def sentence(self) -> str:
        before, after = (", ".join(names) or "nothing" for names in (self.before, self.after))
        return f"node '{self.type_name}' implements {after} instead of {before}"


@dataclass(frozen=True, slots=True, kw_only=True)
class _OfType(Step):
    """What every step about a part of a type says first."""

    type_kind: TypeKind
    type_name: str

    def owner(self) -> dict[str, Any]:
        return {"type_kind": self.type_kind, "type_name": self.type_name}


@dataclass(frozen=True, slots=True, kw_only=True)
class AddProperty(_OfType):
    kind = "add_property"
    property_name: str
    property_type: PropType
    default: str | None = None

    def facts(self) -> dict[str, Any]:
        out = {
            **self.owner(),
            "property_name": self.property_name,
            "property_type": prop_type_to_json(self.property_type),
        }
        return out if self.default is None else {**out, "default": self.default}

    def sentence(self) -> str:
        text = f"add property '{self.type_name}.{self.property_name}' ({self.property_type})"
        filled = f", filled with {self.default!r}" if self.default is not None else ""
        return f"{text} on {self.type_kind} '{self.type_name}'{filled}"


@dataclass(frozen=True, slots=True, kw_only=True)
class RenameProperty(_OfType):
    kind = "rename_property"
    from_name: str
    to_name: str

    def facts(self) -> dict[str, Any]:
        return {**self.owner(), "from": self.from_name, "to": self.to_name}

    def sentence(self) -> str:
        return f"rename property '{self.from_name}' to '{self.to_name}' on {self.type_kind} '{self.type_name}'"


@dataclass(frozen=True, slots=True, kw_only=True)
class DropProperty(_OfType):
    kind = "drop_property"
    property_name: str
    mode: DropMode

    def facts(self) -> dict[str, Any]:
        return {**self.owner(), "property_name": self.property_name, "mode": self.mode}

    def sentence(self) -> str:
        name = f"{self.type_name}.{self.property_name}"
        return f"drop property '{name}' of {self.type_kind} '{self.type_name}' ({self.mode} mode)"


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtendEnum(_OfType):
    kind = "extend_enum"
    property_name: str
    added_values: tuple[str, ...]

    def facts(self) -> dict[str, Any]:
        return {**self.owner(), "property_name": self.property_name, "added_values": list(self.added_values)}

    def sentence(self) -> str:
        return f"extend enum '{self.type_name}.{self.property_name}' with {', '.join(self.added_values)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class RenameEnumValues(_OfType):
    kind = "rename_enum_values"
    property_name: str
    mapping: tuple[tuple[str, str], ...]
    """Old and new, sorted by the old one."""

    def facts(self) -> dict[str, Any]:
        return {**self.owner(), "property_name": self.property_name, "mapping": dict(self.mapping)}

    def sentence(self) -> str:
        pairs = ", ".join(f"{old} to {new}" for old, new in self.mapping)
        return f"rename values of enum '{self.type_name}.{self.property_name}': {pairs}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangePropertyType(_OfType):
    kind = "change_property_type"
    property_name: str
    before: PropType
    after: PropType

    def facts(self) -> dict[str, Any]:
        before, after = prop_type_to_json(self.before), prop_type_to_json(self.after)
        return {**self.owner(), "property_name": self.property_name, "from": before, "to": after}

    def sentence(self) -> str:
        return f"change type of '{self.type_name}.{self.property_name}' from {self.before} to {self.after}"


@dataclass(frozen=True, slots=True, kw_only=True)
class UpdatePropertyMetadata(_OfType):
    kind = "update_property_metadata"
    property_name: str
    annotations: tuple[Annotation, ...]

    def facts(self) -> dict[str, Any]:
        annotations = annotations_to_json(self.annotations)
        return {**self.owner(), "property_name": self.property_name, "annotations": annotations}

    def sentence(self) -> str:
        return f"update metadata of property '{self.type_name}.{self.property_name}'"


@dataclass(frozen=True, slots=True, kw_only=True)
class AddConstraint(_OfType):
    kind = "add_constraint"
    constraint: Constraint

    def facts(self) -> dict[str, Any]:
        return {**self.owner(), "constraint": constraint_to_json(self.constraint)}

    def sentence(self) -> str:
        return f"add {constraint_text(self.constraint)} on {self.type_kind} '{self.type_name}'"


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoveConstraint(_OfType):
    kind = "remove_constraint"
    constraint: Constraint

    def facts(self) -> dict[str, Any]:
        return {**self.owner(), "constraint": constraint_to_json(self.constraint)}

    def sentence(self) -> str:
        return f"remove {constraint_text(self.constraint)} from {self.type_kind} '{self.type_name}'"


@dataclass(frozen=True, slots=True, kw_only=True)
class UnsupportedChange(Step):
    kind = "unsupported_change"
    tier: Tier = "destructive"
    entity: str
    """`node:T`, `edge:E.p`, …"""
    reason: str

    def facts(self) -> dict[str, Any]:
        return {"entity": self.entity, "reason": self.reason}

    def sentence(self) -> str:
        return f"unsupported change on {self.entity}: {self.reason}"

    def line(self) -> str:
        mark = f" [{self.code}, {self.tier}]" if self.code else ""
        return f"unsupported change on {self.entity}{mark}: {self.reason}"


def constraint_text(constraint: Constraint) -> str:
    """A constraint as a schema would write it."""
    match constraint:
        case ColumnRule(kind=kind, columns=columns):
            return f"@{kind.lower()}({', '.join(columns)})"
        case RangeRule(property=name, minimum=low, maximum=high):
            return f"@range({name}, {_bound(low)}..{_bound(high)})"
        case CheckRule(property=name, pattern=pattern):
            return f"@check({name}, {quote(pattern)})"


def quote(text: str) -> str:
    """A string literal of the schema language."""
    escapes = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t"}
    return '"' + re.sub(r'[\\"\n\r\t]', lambda match: escapes[match.group()], text) + '"'


def _bound(bound: int | float | None) -> str:
    if bound is None:
        return ""
    return str(bound) if isinstance(bound, int) else float_text(bound)


def _card(cardinality: Cardinality) -> str:
    return f"{cardinality.minimum}..{'' if cardinality.maximum is None else cardinality.maximum}"
