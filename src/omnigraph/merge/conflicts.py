"""Conflicts: what a merge cannot decide by itself, as data. An error carries them, and so does a dry run."""

from __future__ import annotations

from dataclasses import field
from typing import Literal

from omnigraph.history.diff import Image
from omnigraph.merge.truth_table import Decision
from omnigraph.model.errors import Conflict, Json
from omnigraph.model.identifiers import EntityKind
from omnigraph.model.late_dataclass import dataclass
from omnigraph.write.rules import Violation

RowConflictKind = Literal["divergent_insert", "divergent_update", "delete_vs_update"]
ConflictKind = Literal[
    "divergent_insert",
    "divergent_update",
    "delete_vs_update",
    "orphan_edge",
    "unique_violation",
    "cardinality_violation",
    "value_constraint_violation",
]
ROW_CONFLICTS: tuple[RowConflictKind, ...] = ("divergent_insert", "divergent_update", "delete_vs_update")
CONFLICTS_MAX = 1_000
"""So many conflicts are told with their images; all of them are counted."""
SHOWN_IN_SENTENCE = 3

_ROW_KINDS: dict[Decision, tuple[RowConflictKind, str]] = {
    Decision.DIVERGENT_INSERT: ("divergent_insert", "divergent insert"),
    Decision.DIVERGENT_UPDATE: ("divergent_update", "divergent update"),
    Decision.DELETE_VS_UPDATE: ("delete_vs_update", "delete/update conflict"),
}
_RULE_KINDS: dict[str, ConflictKind] = {
    "endpoint": "orphan_edge",
    "@unique": "unique_violation",
    "@card": "cardinality_violation",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeConflict:
    """One entity that both sides changed, or a rule that the merged state would break.

    The images are those of a row conflict; None where that side does not have the entity. `source` is the branch that
    is merged ("theirs"), `target` the one that is merged into ("ours").
    """

    kind: ConflictKind
    entity_kind: EntityKind
    type_name: str
    entity_id: str | None
    message: str
    base: Image | None = None
    source: Image | None = None
    target: Image | None = None

    @property
    def is_row_conflict(self) -> bool:
        return self.kind in ROW_CONFLICTS

    def to_json(self) -> dict[str, Json]:
        members: dict[str, Json] = {"entity_kind": self.entity_kind, "type_name": self.type_name}
        if self.entity_id is not None:
            members["entity_id"] = self.entity_id
        members |= {"kind": self.kind, "message": self.message}
        if self.is_row_conflict:
            images = {"base": self.base, "source": self.source, "target": self.target}
            members |= {name: None if image is None else image.to_json() for name, image in images.items()}
        return members


@dataclass(eq=False)
class MergeConflicts(Conflict):
    """The merge has conflicts. Nothing was changed; `conflicts` has them as data."""

    source: str
    target: str
    conflicts: tuple[MergeConflict, ...]
    total: int
    note: str | None = field(default=None)

    def sentence(self) -> str:
        note = f". {self.note}" if self.note else ""
        return f"merging '{self.source}' into '{self.target}' has {self.counted()}: {self.first_ones()}{note}"

    def counted(self) -> str:
        """`1 conflict`, `2 conflicts`"""
        return "1 conflict" if self.total == 1 else f"{self.total} conflicts"

    def first_ones(self) -> str:
        """The first conflicts in words, and how many more there are."""
        shown = [f"{each.type_name}: {each.message}" for each in self.conflicts[:SHOWN_IN_SENTENCE]]
        more = f" (and {self.total - len(shown)} more)" if self.total > len(shown) else ""
        return f"{'; '.join(shown)}{more}"

    @property
    def hint(self) -> str | None:
        if any(each.is_row_conflict for each in self.conflicts):
            return "pass on_conflict (--on-conflict) ours or theirs, or decide single entities with resolve (--resolve)"
        return f"change '{self.source}' so that the merged graph follows its schema, then merge again"

    def details(self) -> dict[str, Json]:
        return {"conflicts": [each.to_json() for each in self.conflicts], "conflicts_total": self.total}


def row_conflict_kind(decision: int) -> RowConflictKind:
    return _ROW_KINDS[Decision(decision)][0]


def row_conflict_message(decision: int, entity_id: str) -> str:
    return f"{_ROW_KINDS[Decision(decision)][1]} for id '{entity_id}'"


def rule_conflict(violation: Violation) -> MergeConflict:
    """A broken rule of the merged state. A cardinality belongs to a source node, not to one edge."""
    kind = _RULE_KINDS.get(violation.rule, "value_constraint_violation")
    return MergeConflict(
        kind=kind,
        entity_kind=violation.entity_kind or "node",
        type_name=violation.type_name or "",
        entity_id=None if kind == "cardinality_violation" else violation.entity_id,
        message=violation.message,
    )
