"""A load of two tables as a program of its own, so that a test can kill it at any place of the write path."""

from __future__ import annotations

import json
import sys

from omnigraph.graph import Graph
from support.short_leases import shorten_leases


def main() -> None:
    shorten_leases()
    uri, branch = sys.argv[1:]
    records = [
        {"type": "Person", "data": {"name": "Eve", "age": 22}},
        {"type": "Company", "data": {"name": "New"}},
    ]
    graph = Graph.open(uri, actor="act-dying", durability="os")
    graph.load([json.dumps(record).encode() + b"\n" for record in records], mode="append", branch=branch)


if __name__ == "__main__":
    main()
