"""Schemas: the structs of the wire as JSON Schema, in the form that the contract writes them."""

from __future__ import annotations

import types
import typing
from typing import Any

import msgspec
from msgspec import UnsetType

Schema = dict[str, Any]


class Schemas:
    """Collects the schemas that a document refers to, each under its name."""

    def __init__(self) -> None:
        self.named: dict[str, Schema] = {}

    def of(self, kind: Any) -> Schema:
        """The schema of a type; structs and enums become references."""
        if isinstance(kind, tuple):
            return self._union_of_structs(kind)
        origin, arguments = typing.get_origin(kind), typing.get_args(kind)
        if origin is typing.Annotated:
            return self._annotated(arguments)
        if origin in (types.UnionType, typing.Union):
            return self._union([each for each in arguments if each is not UnsetType])
        if origin is list:
            return {"type": "array", "items": self.of(arguments[0])}
        if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
            return self._struct(kind)
        if kind is Any:
            return {}
        return dict(_PLAIN[kind])

    def _struct(self, kind: type[msgspec.Struct]) -> Schema:
        name = kind.__name__
        if name not in self.named:
            self.named[name] = {}  # a struct may refer to itself
            self.named[name] = self._members(kind)
        return {"$ref": f"#/components/schemas/{name}"}

    def _members(self, kind: type[msgspec.Struct]) -> Schema:
        hints = typing.get_type_hints(kind, include_extras=True)
        required, properties = [], {}
        for field in msgspec.structs.fields(kind):
            properties[field.encode_name] = self.of(hints[field.name])
            if field.required:
                required.append(field.encode_name)
        schema: Schema = {"type": "object", "properties": properties}
        if required:
            schema["required"] = required
        if kind.__struct_config__.forbid_unknown_fields:
            schema["additionalProperties"] = False
        return schema

    def _annotated(self, arguments: tuple[Any, ...]) -> Schema:
        inner, meta = arguments[0], next(each for each in arguments[1:] if isinstance(each, msgspec.Meta))
        if meta.title is not None:
            self.named[meta.title] = {"type": "string", "enum": list(typing.get_args(inner))}
            return {"$ref": f"#/components/schemas/{meta.title}"}
        schema = self.of(inner) | (meta.extra_json_schema or {})
        return schema if meta.ge is None else schema | {"minimum": meta.ge}

    def _union(self, kinds: list[Any]) -> Schema:
        """A plain type or null is one with two types; a reference or null is one of both."""
        others = [each for each in kinds if each is not type(None)]
        schema = self.of(others[0]) if len(others) == 1 else {"oneOf": [self.of(each) for each in others]}
        if len(others) == len(kinds):
            return schema
        if "$ref" in schema:
            return {"oneOf": [{"type": "null"}, schema]}
        return schema | {"type": [schema["type"], "null"]} if "type" in schema else schema

    def _union_of_structs(self, kinds: tuple[Any, ...]) -> Schema:
        return {"oneOf": [self.of(each) for each in kinds]}


_PLAIN: dict[Any, Schema] = {
    str: {"type": "string"},
    bool: {"type": "boolean"},
    int: {"type": "integer"},
    bytes: {"type": "string", "format": "binary"},
    dict: {"type": "object"},
}
