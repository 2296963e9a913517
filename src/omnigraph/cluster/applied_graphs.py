"""Applied graphs: the storage of one graph of a cluster, from the ledger alone: a damaged cluster has it too."""

from __future__ import annotations

import os
from dataclasses import dataclass

from omnigraph.cluster.diagnostics import ClusterNotServable, failed
from omnigraph.cluster.ledger import STATE, InvalidLedger, parse_ledger
from omnigraph.cluster.locate import locate_cluster
from omnigraph.model.errors import Json, NotFound
from omnigraph.storage.objects import open_store


@dataclass(eq=False)
class GraphNotApplied(NotFound):
    """A graph that the ledger of the cluster does not have, or none named where there are several."""

    graph: str | None
    applied: tuple[str, ...]

    def sentence(self) -> str:
        known = ", ".join(self.applied)
        if self.graph is None:
            return f"the cluster has several graphs: {known}"
        return f"graph '{self.graph}' is not applied to the cluster; applied are: {known}"

    @property
    def hint(self) -> str | None:
        return "name one of them with --graph <id>"

    def details(self) -> dict[str, Json]:
        return {"graph": self.graph, "applied": list(self.applied)}


def applied_graph_uri(cluster: str | os.PathLike[str], graph: str | None) -> str:
    """The storage of a graph; without a name, of the only one. Neither payloads nor recoveries are looked at.

    Raises GraphNotApplied, and ClusterNotServable for a ledger that is missing, unreadable, or has no graph.
    """
    root = locate_cluster(cluster)
    stored = open_store(root).read(STATE)
    if stored is None:
        missing = failed("cluster_state_missing", STATE, "nothing was applied to this cluster")
        raise ClusterNotServable(root.uri, (missing,))
    try:
        applied = tuple(parse_ledger(stored.data).graphs)
    except InvalidLedger as error:
        raise ClusterNotServable(root.uri, (error.diagnostic,)) from None
    if not applied:
        raise ClusterNotServable(root.uri, (failed("cluster_empty", STATE, "no graph was applied"),))
    chosen = applied[0] if graph is None and len(applied) == 1 else graph
    if chosen not in applied:
        raise GraphNotApplied(graph, applied)
    return root.join(f"graphs/{chosen}.omni")
