"""A tool: its name, what it is for, its arguments as a JSON schema, what a policy is asked, and its function."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field
from typing import TYPE_CHECKING, Any

from omnigraph.model.errors import BadRequest
from omnigraph.model.late_dataclass import dataclass

if TYPE_CHECKING:
    from omnigraph.graph import Graph
    from omnigraph.policy import ActionName

Arguments = Mapping[str, Any]
Document = dict[str, Any]
_KINDS: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "object": (dict,),
    "array": (list,),
    "null": (type(None),),
}


class InvalidArguments(BadRequest):
    """Arguments that do not fit the schema of the tool."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """One operation. `listed` names the member of its result that may be long, and is sent in parts."""

    name: str
    description: str
    properties: Mapping[str, Document] = field(default_factory=dict)
    required: tuple[str, ...] = ()
    call: Callable[[Graph, Arguments], Document]
    action: ActionName | None = "read"
    writes: bool = False
    listed: str | None = None

    def input_schema(self) -> Document:
        properties = dict(self.properties)
        if self.listed is not None:
            properties["offset"] = OFFSET
        return {
            "type": "object",
            "properties": properties,
            "required": list(self.required),
            "additionalProperties": False,
        }

    def check(self, arguments: Arguments) -> None:
        """Raises InvalidArguments with the argument that is wrong."""
        known = self.input_schema()["properties"]
        for name in arguments:
            if name not in known:
                listed = ", ".join(known) or "none"
                raise InvalidArguments(f"'{self.name}' has no argument '{name}'; it has: {listed}")
        for name in self.required:
            if name not in arguments:
                raise InvalidArguments(f"'{self.name}' needs the argument '{name}'")
        for name, value in arguments.items():
            if not _fits(value, known[name]):
                raise InvalidArguments(f"'{name}' must be of the type {known[name].get('type')}")


OFFSET: Document = {"type": "integer", "minimum": 0, "description": "Go on from here, as `rest` of an answer says."}


def _fits(value: Any, schema: Document) -> bool:
    wanted = schema.get("type")
    if wanted is None:
        return True
    kinds = [wanted] if isinstance(wanted, str) else wanted
    if isinstance(value, bool) and "boolean" not in kinds:
        return False
    fits = any(isinstance(value, _KINDS[kind]) for kind in kinds)
    return fits and ("enum" not in schema or value in schema["enum"])


def text(description: str, **more: Any) -> Document:
    return {"type": "string", "description": description, **more}


BRANCH = text("The branch; main by default.")
TARGET = text("The branch to write. Work on a branch of your own and propose a merge.")
PARAMS: Document = {"type": "object", "description": "The parameters by name, without $. Large integers as text."}
