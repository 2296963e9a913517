"""What a schema change returns."""

from __future__ import annotations

from typing import Any

from omnigraph.model.late_dataclass import dataclass
from omnigraph.storage.manifest import GraphCommit
from omnigraph.write.evolution.plan import SchemaPlan


@dataclass(frozen=True, slots=True)
class SchemaReceipt:
    """What a schema change did. `commit` is None when the graph already had this schema.

    >>> receipt = graph.apply_schema(graph.schema_source.replace("age: I32?", "age: I32?  email: String?"))
    >>> receipt.applied, [step.kind for step in receipt.plan.steps]
    (True, ['add_property'])
    """

    plan: SchemaPlan
    commit: GraphCommit | None
    graph_manifest_version: int
    text_stored: bool = False
    """The text of the schema is another one now, if only in its comments."""

    @property
    def applied(self) -> bool:
        """Whether anything but the text changed.

        >>> graph.apply_schema(graph.schema_source).applied
        False
        """
        return bool(self.plan.steps)

    @property
    def commit_id(self) -> str | None:
        """The id of the commit.

        >>> receipt = graph.apply_schema(graph.schema_source.replace("age: I32?", "age: I64?"))
        >>> receipt.commit_id == graph.snapshot().commit_id
        True
        """
        return None if self.commit is None else self.commit.commit_id

    def to_json(self) -> dict[str, Any]:
        """The receipt as one document.

        >>> list(graph.apply_schema(graph.schema_source).to_json())[:4]
        ['supported', 'applied', 'step_count', 'graph_manifest_version']
        """
        plan = self.plan.to_json()
        document = {
            "supported": True,
            "applied": self.applied,
            "step_count": len(self.plan.steps),
            "graph_manifest_version": self.graph_manifest_version,
            "steps": plan.pop("steps"),
            "commit": self.commit_id,
            "text_stored": self.text_stored,
            "tables": plan["tables"],
        }
        return document | ({"notes": plan["notes"]} if "notes" in plan else {})
