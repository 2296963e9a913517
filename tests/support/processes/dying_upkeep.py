"""Upkeep as a program of its own, so that a test can kill it."""

from __future__ import annotations

import sys

from omnigraph.graph import Graph

if __name__ == "__main__":
    uri, operation = sys.argv[1:]
    graph = Graph.open(uri, actor="act-dying", durability="os")
    if operation == "cleanup":
        graph.cleanup(keep_versions=1, grace=0, confirm=True)
    else:
        getattr(graph, operation)()
