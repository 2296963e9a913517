"""Upkeep as a program of its own, so that a test can kill it."""

from __future__ import annotations

import sys

from omnigraph.graph import Graph
from omnigraph.storage.compaction import old_row_versions

if __name__ == "__main__":
    uri, operation = sys.argv[1:]
    old_row_versions.VERSION_BYTES_MIN, old_row_versions.RUNS_MIN = 0, 1
    graph = Graph.open(uri, actor="act-dying", durability="os")
    if operation == "cleanup":
        graph.cleanup(keep_versions=1, grace=0, confirm=True)
    else:
        getattr(graph, operation)()
