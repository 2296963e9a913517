"""The graph: `Graph` is the public Python API, and every face goes through it."""

from omnigraph.graph.graph import Graph

__all__ = ["Graph"]
