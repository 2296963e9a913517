"""What the write methods of a graph return."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from omnigraph.storage import GraphCommit
from omnigraph.write import Violation


@dataclass(frozen=True, slots=True, kw_only=True)
class MutationResult:
    """The receipt of a mutation. `commit` is None when nothing matched: then nothing was published."""

    branch: str
    query_name: str
    affected_nodes: int
    affected_edges: int
    actor_id: str | None
    commit: GraphCommit | None
    replayed: bool = False

    @property
    def commit_id(self) -> str | None:
        return self.commit.commit_id if self.commit is not None else None


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadResult:
    """The receipt of a load. `commit` is None for a dry run alone: a load always publishes one commit."""

    branch: str
    mode: str
    base_branch: str | None = None
    branch_created: bool = False
    nodes: Mapping[str, int] = field(default_factory=dict)
    edges: Mapping[str, int] = field(default_factory=dict)
    commit: GraphCommit | None = None
    rejected: int = 0
    violations: tuple[Violation, ...] = ()
    dry_run: bool = False
    replayed: bool = False
    engine: str = "local"

    @property
    def total_entities(self) -> int:
        return sum(self.nodes.values()) + sum(self.edges.values())

    @property
    def commit_id(self) -> str | None:
        return self.commit.commit_id if self.commit is not None else None
