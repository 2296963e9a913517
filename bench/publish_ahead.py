"""Publishing ahead: what it is worth that the files of a publish are written while its tables are committed.

One writer inserts people, in turns with it and without it. Run: python -m bench.publish_ahead [--quick]
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable
from typing import Any

from omnigraph.graph import Graph
from omnigraph.write.commit import protocol

ADD = "query add($n: String) { insert Person { name: $n } }"
WARM_UP = 20
AT_A_TIME = 2


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer commits")
    parser.add_argument("--commits", type=int)
    given = parser.parse_args()
    commits = given.commits or (200 if given.quick else 600)
    ways: dict[str, Callable[..., Any]] = {"with": protocol.publish_ahead, "without": lambda *_: lambda: None}
    took: dict[str, list[float]] = {name: [] for name in ways}
    with tempfile.TemporaryDirectory() as folder:
        graph = Graph.init(f"{folder}/graph", "node Person { name: String @key }")
        for number in range(WARM_UP + commits):
            name = ("with", "without")[number // AT_A_TIME % 2]
            protocol.publish_ahead = ways[name]
            begun = time.perf_counter()
            graph.mutate(ADD, n=f"p{number}")
            if number >= WARM_UP:
                took[name].append((time.perf_counter() - begun) * 1000)
    print(f"{commits} inserts by one writer, synced, in turns; milliseconds\n")
    print("| publishing ahead | p25 | p50 | p75 |\n|---|---|---|---|")
    for name, times in took.items():
        print(f"| {name} | " + " | ".join(f"{each:.2f}" for each in statistics.quantiles(times, n=4)) + " |")


if __name__ == "__main__":
    main()
