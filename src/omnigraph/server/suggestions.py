"""Suggestions: the graph or the stored query that was probably meant. Nobody learns a name that is hidden from them.

Who may see what is asked of the policy without a listener: nobody has asked to see it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from omnigraph.language import did_you_mean
from omnigraph.model.identifiers import MAIN

if TYPE_CHECKING:
    from omnigraph.server.call import Call
    from omnigraph.server.state import RoutedGraph


def nearest_graph(graphs: Mapping[str, RoutedGraph], actor: str | None, graph_id: str) -> str | None:
    """Among the graphs that the caller may read."""

    def may_read(name: str) -> bool:
        return graphs[name].graph.as_actor(actor).allows("read", on_some_branch=True)

    return did_you_mean(graph_id, graphs, may_read)


def nearest_query(call: Call, name: str) -> str | None:
    """Among the queries that the caller may run, and finds in the catalogue."""
    graph = call.unheard
    if not graph.allows("read", branch=MAIN):
        return None
    return did_you_mean(name, call.served.stored, lambda known: graph.allows("invoke_query", query=known))
