"""What the write methods of a graph return."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from omnigraph.model.errors import Json
from omnigraph.model.late_dataclass import dataclass
from omnigraph.storage.manifest import GraphCommit
from omnigraph.write.rules import Violation


@dataclass(frozen=True, slots=True, kw_only=True)
class MutationResult:
    """The receipt of a mutation. `commit` is None when nothing was published: nothing matched, and there was no
    idempotency key to keep. A `replayed` one reports what the first call with its key did.

    >>> receipt = graph.mutate('query add() { insert Person { name: "Alan" } }')
    >>> receipt.affected_nodes, receipt.affected_edges, receipt.branch, receipt.replayed
    (1, 0, 'main', False)
    """

    branch: str
    query_name: str
    affected_nodes: int
    affected_edges: int
    actor_id: str | None
    commit: GraphCommit | None
    replayed: bool = False

    @property
    def commit_id(self) -> str | None:
        """The id of the commit, or None when nothing was published.

        >>> graph.mutate('query gone() { delete Person where name = "Nobody" }').commit_id is None
        True
        """
        return self.commit.commit_id if self.commit is not None else None


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadReport:
    """How a load went: rows per type, rejected records, and seconds per stage. `print(report)` shows it.

    >>> report = graph.load(["people.jsonl"], mode="merge").report
    >>> report.engine, report.nodes, report.rejected
    ('local', {'Person': 2}, 0)
    """

    engine: str
    nodes: Mapping[str, int]
    edges: Mapping[str, int]
    rejected: int
    files: int
    bytes: int
    seconds: Mapping[str, float]
    """Per stage: session, decode, check, write, commit on Spark; prepare, commit in this process."""
    commit_id: str | None

    def to_json(self) -> dict[str, Json]:
        """The report as one document.

        >>> graph.load(["people.jsonl"], mode="merge").report.to_json()["edges"]
        {'Knows': 1}
        """
        return {
            "engine": self.engine,
            "nodes": dict(self.nodes),
            "edges": dict(self.edges),
            "rejected": self.rejected,
            "files": self.files,
            "bytes": self.bytes,
            "seconds": dict(self.seconds),
            "commit_id": self.commit_id,
        }

    def __str__(self) -> str:
        rows = {**self.nodes, **self.edges}
        total, took = sum(rows.values()), sum(self.seconds.values())
        lines = [f"{total:,} rows of {len(rows)} types in {took:.1f} s ({self.engine}), {self.rejected:,} rejected"]
        if self.files:
            lines.append(f"  read     {self.files:,} files, {self.bytes / 1e6:,.1f} MB")
        lines += [f"  {stage:<8} {each:.2f} s" for stage, each in self.seconds.items()]
        lines += [f"  {name:<8} {count:,}" for name, count in rows.items()]
        if self.commit_id is not None:
            lines.append(f"  commit   {self.commit_id}")
        return "\n".join(lines)


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadResult:
    """The receipt of a load. A load always publishes one commit; `commit` is None only for a dry run. A `replayed` one
    reports what the first load with its key did.

    >>> receipt = graph.load(["people.jsonl"], mode="merge", dry_run=True)
    >>> receipt.nodes, receipt.edges, receipt.commit
    ({'Person': 2}, {'Knows': 1}, None)
    """

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
    report: LoadReport | None = None
    warnings: tuple[str, ...] = ()
    """What went wrong after the commit: indexes that were not built, a listener that failed. The load is done."""

    @property
    def total_entities(self) -> int:
        """Nodes and edges together.

        >>> graph.load(["people.jsonl"], mode="merge").total_entities
        3
        """
        return sum(self.nodes.values()) + sum(self.edges.values())

    @property
    def commit_id(self) -> str | None:
        """The id of the commit, or None for a dry run.

        >>> graph.load(["people.jsonl"], mode="merge").commit_id == graph.snapshot().commit_id
        True
        """
        return self.commit.commit_id if self.commit is not None else None


class LoadInterrupted(KeyboardInterrupt):
    """Ctrl-C after the commit of a load. It ends a program like any other interrupt; `result` is the receipt."""

    def __init__(self, result: LoadResult) -> None:
        super().__init__(f"the load is done, as commit {result.commit_id}; {'; '.join(result.warnings)}")
        self.result = result
