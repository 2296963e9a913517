"""One operation on a graph, as a program of its own, so that a test can kill it. Exits with 3 on a typed error.

A manifest is due for compaction early here, so that a test need not make many commits first.
"""

from __future__ import annotations

import sys

from omnigraph.graph import Graph
from omnigraph.model.errors import OmniGraphError
from omnigraph.storage import open_storage
from omnigraph.storage.manifest import store
from support.processes.writers import write_pair

COMPACT_ABOVE_FRAGMENTS = 6


def main() -> int:
    store.COMPACT_ABOVE_FRAGMENTS = COMPACT_ABOVE_FRAGMENTS
    uri, operation = sys.argv[1:]
    graph, storage = Graph.open(uri, durability="os"), open_storage(uri, durability="os")
    try:
        match operation:
            case "write":
                write_pair(storage)
            case "write_on_branch":
                write_pair(storage, "fresh")
            case "create_branch":
                graph.create_branch("new")
            case "delete_branch":
                graph.delete_branch("forked")
            case _:
                raise SystemExit(f"unknown operation {operation}")
    except OmniGraphError as error:
        print(error, file=sys.stderr)
        return 3
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
