"""Conflicts of a merge or a revert, with their images."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from omnigraph.client.wire.changes import image_of
from omnigraph.merge import MergeConflict, MergeConflicts, RestoreRefused, RevertConflicts

Document = Mapping[str, Any]


def conflicts_of(documents: Sequence[Document]) -> tuple[MergeConflict, ...]:
    return tuple(
        MergeConflict(
            kind=each["kind"],
            entity_kind=each["entity_kind"],
            type_name=each["type_name"],
            entity_id=each.get("entity_id"),
            message=each["message"],
            base=image_of(each.get("base")),
            source=image_of(each.get("source")),
            target=image_of(each.get("target")),
        )
        for each in documents
    )


def conflicts_error(body: Document) -> MergeConflicts:
    """The error; whoever asked fills in the two branches, which the answer does not name."""
    kinds: dict[Any, type[MergeConflicts]] = {"revert_conflicts": RevertConflicts, "restore_refused": RestoreRefused}
    kind = kinds.get(body.get("error_code"), MergeConflicts)
    conflicts = conflicts_of(body["merge_conflicts"])
    return kind("", "", conflicts, len(conflicts))
