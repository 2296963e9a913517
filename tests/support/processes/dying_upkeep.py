"""Index upkeep or compaction as a program of its own, so that a test can kill it."""

from __future__ import annotations

import sys

from omnigraph.graph import Graph

if __name__ == "__main__":
    uri, operation = sys.argv[1:]
    graph = Graph.open(uri, actor="act-dying", durability="os")
    graph.ensure_indices() if operation == "ensure_indices" else graph.optimize()
