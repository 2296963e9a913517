"""The graph: `Graph` is the public Python API, and every face goes through it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnigraph.model.late_names import late_names

if TYPE_CHECKING:
    from omnigraph.graph.graph import Graph as Graph
    from omnigraph.graph.graph import verify as verify
    from omnigraph.graph.pinned import PinnedGraph as PinnedGraph
else:
    __getattr__, __dir__ = late_names(
        __name__,
        {
            "graph": (
                "Graph",
                "verify",
            ),
            "pinned": ("PinnedGraph",),
        },
    )
