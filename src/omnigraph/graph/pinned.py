"""A graph as it was at one commit: the reads of `Graph`, pinned."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from omnigraph.history import Snapshot
from omnigraph.model.errors import BadRequest
from omnigraph.model.late_dataclass import dataclass

if TYPE_CHECKING:
    from omnigraph.graph.graph import Graph
    from omnigraph.query import Explanation, QueryResult


@dataclass(frozen=True, slots=True)
class PinnedGraph:
    """Answers from the snapshot of one commit, whatever is written meanwhile."""

    graph: Graph
    commit_id: str

    def snapshot(self) -> Snapshot:
        return self.graph.snapshot_at(self.commit_id)

    def query(self, text: str, /, params: Mapping[str, Any] | None = None, **options: Any) -> QueryResult:
        """As `Graph.query`, without the options that choose a snapshot."""
        return self.graph.query(text, params, commit=self.commit_id, **_without_a_snapshot(options))

    def explain(self, text: str, /, params: Mapping[str, Any] | None = None, **options: Any) -> Explanation:
        return self.graph.explain(text, params, commit=self.commit_id, **_without_a_snapshot(options))

    def export(self, *, types: Sequence[str] | None = None, dates: Literal["raw", "iso"] = "raw") -> Iterator[bytes]:
        """As `Graph.export`: the entities of the commit as JSON lines."""
        storage, catalog = self.graph._storage, self.graph.schema.catalog
        from omnigraph.history.export import export_lines

        return export_lines(storage, self.snapshot(), catalog, types=types, dates=dates)


def _without_a_snapshot(options: dict[str, Any]) -> dict[str, Any]:
    for name in ("commit", "branch", "as_of"):
        if name in options:
            hint = f'for a parameter of that name pass params={{"{name}": …}}'
            raise BadRequest(f"this read is of its own commit and takes no '{name}'", hint)
    return options
