"""A graph as it was at one commit: the reads of `Graph`, pinned."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from omnigraph.history import Snapshot
from omnigraph.model.errors import BadRequest
from omnigraph.model.late_dataclass import dataclass

if TYPE_CHECKING:
    from omnigraph.graph.graph import Graph
    from omnigraph.history import Blob
    from omnigraph.query import Cancellation, Explanation, QueryLimits, QueryResult
    from omnigraph.query.plan import Mode


@dataclass(frozen=True, slots=True)
class PinnedGraph:
    """The graph as it was right after one commit, whatever is written meanwhile. Get one from `Graph.at`.

    >>> pinned = graph.at(graph.snapshot().commit_id)
    >>> len(pinned.query("query all() { match { $p: Person } return { $p.name } }"))
    2
    """

    graph: Graph
    commit_id: str

    def snapshot(self) -> Snapshot:
        """The snapshot of the commit.

        >>> graph.at(graph.snapshot().commit_id).snapshot() == graph.snapshot()
        True

        Raises HistoricalVersionReclaimed if its files were removed.
        """
        return self.graph.snapshot_at(self.commit_id)

    def query(
        self,
        text: str,
        /,
        params: Mapping[str, Any] | None = None,
        *,
        query_name: str | None = None,
        mode: Mode = "auto",
        limits: QueryLimits | None = None,
        timeout: float | None = None,
        cancellation: Cancellation | None = None,
        use_index: bool = True,
        **named_params: Any,
    ) -> QueryResult:
        """Runs a read query on the commit. The options are those of `Graph.query`.

        >>> pinned = graph.at(graph.snapshot().commit_id)
        >>> text = "query age($name: String) { match { $p: Person { name: $name } } return { $p.age } }"
        >>> pinned.query(text, name="Ada").rows()
        [{'p.age': 36}]

        Raises what `Graph.query` raises, and BadRequest for an option that chooses another snapshot.
        """
        return self.graph.query(
            text,
            params,
            query_name=query_name,
            commit=self.commit_id,
            mode=mode,
            limits=limits,
            timeout=timeout,
            cancellation=cancellation,
            use_index=use_index,
            **_without_a_snapshot(named_params),
        )

    def explain(
        self,
        text: str,
        /,
        params: Mapping[str, Any] | None = None,
        *,
        query_name: str | None = None,
        mode: Mode = "auto",
        limits: QueryLimits | None = None,
        timeout: float | None = None,
        analyze: bool = False,
        **named_params: Any,
    ) -> Explanation:
        """The plan of a read query on the commit. The options are those of `Graph.explain`.

        >>> pinned = graph.at(graph.snapshot().commit_id)
        >>> pinned.explain("query all() { match { $p: Person } return { $p.name } }").query_name
        'all'

        Raises what `Graph.explain` raises, and BadRequest for an option that chooses another snapshot.
        """
        return self.graph.explain(
            text,
            params,
            query_name=query_name,
            commit=self.commit_id,
            mode=mode,
            limits=limits,
            timeout=timeout,
            analyze=analyze,
            **_without_a_snapshot(named_params),
        )

    def export(self, *, types: Sequence[str] | None = None, dates: Literal["raw", "iso"] = "raw") -> Iterator[bytes]:
        """The entities of the commit as JSON lines, as `Graph.export` writes them.

        >>> len(list(graph.at(graph.snapshot().commit_id).export()))
        3

        Raises UnknownType, and HistoricalVersionReclaimed if the files of the commit were removed.
        """
        return self.graph.export(at=self.commit_id, types=types, dates=dates)

    def blob(self, type: str, id: str, property: str) -> Blob:  # noqa: A002 - as `Graph.blob` has them
        """One Blob value of the commit, as `Graph.blob` finds it.

        >>> library.at(library.snapshot().commit_id).blob("Book", "b1", "cover").size
        11

        Raises what `Graph.blob` raises.
        """
        return self.graph.blob(type, id, property, at=self.commit_id)


def _without_a_snapshot(named: dict[str, Any]) -> dict[str, Any]:
    for name in ("commit", "branch", "as_of"):
        if name in named:
            hint = f'for a parameter of that name pass params={{"{name}": …}}'
            raise BadRequest(f"this handle reads its own commit and takes no '{name}'", hint)
    return named
