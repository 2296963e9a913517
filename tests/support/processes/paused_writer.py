"""One write as a program of its own that a test can pause at any place, with short leases. Prints what it was told.

`paused_writer.py URI OPERATION` writes a person `paused`; where it stops is in `OMNIGRAPH_FAILPOINTS`.
"""

from __future__ import annotations

import json
import sys

from omnigraph.graph import Graph
from omnigraph.model.errors import OmniGraphError
from support.short_leases import shorten_leases


def main() -> int:
    shorten_leases()
    uri, operation = sys.argv[1:]
    graph = Graph.open(uri)
    try:
        match operation:
            case "insert":
                text = 'query q() { insert Person { name: "paused" } }'
                commit = graph.mutate(text).commit
            case "both":
                text = 'query q() { insert Person { name: "paused" } insert Knows { from: "paused", to: "root" } }'
                commit = graph.mutate(text).commit
            case "update":
                commit = graph.mutate('query q() { update Person set { age: 77 } where name = "root" }').commit
            case "first":
                commit = graph.mutate('query q() { insert Person { name: "paused" } }', branch="b").commit
            case "load":
                commit = graph.load([b'{"type": "Person", "data": {"name": "paused"}}'], mode="merge").commit
            case "optimize":
                commit = graph.optimize().commit
            case "delete_branch":
                graph.delete_branch("b")
                commit = None
            case _:
                raise SystemExit(f"unknown operation {operation}")
    except OmniGraphError as error:
        print(json.dumps({"error": error.code, "message": str(error)}))
        return 3
    print(json.dumps({"commit": None if commit is None else commit.commit_id}))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
