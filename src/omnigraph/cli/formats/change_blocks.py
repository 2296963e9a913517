"""What a commit changed, for people: the commit in a few lines, then every entity with what differs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from omnigraph.cli.formats.changes import ABSENT, Change, changed_properties, endpoint_texts, entity_name

_CAUSE = (
    ("commit", "graph_commit_id"),
    ("branch", "authored_branch"),
    ("parent", "parent_commit_id"),
    ("merged_parent", "merged_parent_commit_id"),
    ("actor", "actor_id"),
    ("authored_at", "authored_at"),
)


def block_lines(cause: Mapping[str, Any], changes: Iterable[Change]) -> Iterator[str]:
    """The cause of a block, then its changes."""
    for label, member in _CAUSE:
        if member in cause:
            yield f"{label}: {cause[member]}"
    for change in changes:
        yield f"{change['op']} {entity_name(change)}"
        if ends := endpoint_texts(change):
            yield f"  {' => '.join(ends)}"
        yield from (f"  {line}" for line in property_lines(change))


def property_lines(change: Change) -> Iterator[str]:
    """`+ name: value` for an insert, `- name: value` for a delete, `name: old -> new` for an update."""
    for name, old, new in changed_properties(change):
        if change["op"] == "update":
            yield f"{name}: {old} -> {new}"
        else:
            yield f"+ {name}: {new}" if old == ABSENT else f"- {name}: {old}"
