"""Inserts people one by one, as a program of its own, and prints each acknowledged commit."""

from __future__ import annotations

import sys

from omnigraph.graph import Graph


def main() -> None:
    uri, name, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
    graph = Graph.open(uri, actor=name, durability="os")
    for number in range(count):
        result = graph.mutate(
            "query add($n: String) { insert Person { name: $n } insert Knows { from: $n, to: $n } }",
            n=f"{name}-{number}",
        )
        print(result.commit_id, flush=True)


if __name__ == "__main__":
    main()
