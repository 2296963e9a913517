"""A tool: its name, what it is for, its arguments as a JSON schema, what a policy is asked, and its function."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field
from typing import TYPE_CHECKING, Any

from omnigraph.mcp.arguments import Arguments, Document
from omnigraph.model.late_dataclass import dataclass

if TYPE_CHECKING:
    from omnigraph.graph import Graph
    from omnigraph.policy import ActionName


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


OFFSET: Document = {"type": "integer", "minimum": 0, "description": "Go on from here, as `rest` of an answer says."}


def text(description: str, **more: Any) -> Document:
    return {"type": "string", "description": description, **more}


BRANCH = text("The branch; main by default.")
TARGET = text("The branch to write. Work on a branch of your own and propose a merge.")
PARAMS: Document = {"type": "object", "description": "The parameters by name, without $. Large integers as text."}
