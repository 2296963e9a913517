"""Arguments: what an agent passes to a tool, checked against its schema. A refusal says what would be right."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from omnigraph.language import did_you_mean
from omnigraph.model.errors import BadRequest

Arguments = Mapping[str, Any]
Document = dict[str, Any]
SHOWN_MAX = 80
_KINDS: dict[str, tuple[str, tuple[type, ...]]] = {
    "string": ("text", (str,)),
    "integer": ("an integer", (int,)),
    "number": ("a number", (int, float)),
    "boolean": ("true or false", (bool,)),
    "object": ("an object", (dict,)),
    "array": ("a list", (list,)),
}


class InvalidArguments(BadRequest):
    """Arguments that do not fit the schema of the tool."""


def check_arguments(tool: str, schema: Document, arguments: Arguments) -> None:
    """Raises InvalidArguments with the first thing that is wrong, and what the tool takes instead."""
    known: dict[str, Document] = schema["properties"]
    for name in arguments:
        if name not in known:
            listed = f"its arguments are: {', '.join(known)}" if known else "it takes no arguments"
            raise InvalidArguments(f"'{tool}' has no argument '{name}'", did_you_mean(name, known) or listed)
    missing = [name for name in schema["required"] if name not in arguments]
    if missing:
        word = "argument" if len(missing) == 1 else "arguments"
        named = ", ".join(f"'{name}'" for name in missing)
        raise InvalidArguments(f"'{tool}' needs the {word} {named}", _help(known, *missing))
    for name, value in arguments.items():
        if not _fits(value, known[name]):
            near = did_you_mean(value, known[name].get("enum", ())) if isinstance(value, str) else None
            message = f"'{name}' must be {_expected(known[name])}, not {_shown(value)}"
            raise InvalidArguments(message, near or _help(known, name))


def _help(known: Mapping[str, Document], *names: str) -> str | None:
    """What the schema says that these arguments are for."""
    said = [f"{name}: {known[name]['description']}" for name in names if "description" in known[name]]
    return " ".join(said) or None


def _fits(value: Any, schema: Document) -> bool:
    if "enum" in schema:
        return value in schema["enum"]
    kinds = _kinds(schema)
    if not kinds:
        return True
    if isinstance(value, bool) and "boolean" not in kinds:
        return False
    if not any(isinstance(value, _KINDS[kind][1]) for kind in kinds):
        return False
    if "minimum" in schema and value < schema["minimum"]:
        return False
    return not isinstance(value, list) or all(_fits(item, schema.get("items", {})) for item in value)


def _kinds(schema: Document) -> list[str]:
    """The types that a value may have, but for null: an argument that is null was not given."""
    wanted = schema.get("type", [])
    return [kind for kind in ([wanted] if isinstance(wanted, str) else wanted) if kind != "null"]


def _expected(schema: Document) -> str:
    if "enum" in schema:
        return f"one of {', '.join(schema['enum'])}"
    told = " or ".join(_KINDS[kind][0] for kind in _kinds(schema))
    if "minimum" in schema:
        return f"{told} of {schema['minimum']} or more"
    items = schema.get("items", {})
    inner = ", ".join(items.get("enum", ())) or " or ".join(f"{kind}s" for kind in _kinds(items))
    return f"{told} of {inner}" if inner else told


def _shown(value: Any) -> str:
    text = f"'{value}'" if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= SHOWN_MAX else f"{text[:SHOWN_MAX]}…"
