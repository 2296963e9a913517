"""Single inserts for a long time, with and without background upkeep: what one costs after ten and after thousands.

Run: python -m bench.upkeep [--quick]
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from pathlib import Path

from omnigraph.graph import Graph

SCHEMA = "node Person { name: String @key  age: I32? @index }\n"
INSERT = "query q($n: String, $a: I32) { insert Person { name: $n, age: $a } }"
WINDOW = 50


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer inserts")
    parser.add_argument("--inserts", type=int)
    given = parser.parse_args()
    inserts = given.inserts or (1_000 if given.quick else 10_000)
    print(f"| upkeep | after 10, ms | after {inserts:,}, ms | ratio | slowest 1 %, ms | fragments | seconds in all |")
    print("|---|---:|---:|---:|---:|---:|---:|")
    for on in (True, False):
        with tempfile.TemporaryDirectory() as folder:
            run(Path(folder) / "graph", inserts, on=on)


def run(path: Path, inserts: int, *, on: bool) -> None:
    graph = Graph.init(str(path), SCHEMA, durability="full")
    upkeep = graph.upkeep() if on else None
    begun, times = time.perf_counter(), []
    for number in range(inserts):
        start = time.perf_counter()
        graph.mutate(INSERT, n=f"p{number}", a=number)
        times.append((time.perf_counter() - start) * 1000)
    took = time.perf_counter() - begun
    [pin] = graph.snapshot().tables
    fragments = graph._storage.tables.open(pin).fragment_count()
    first, last = statistics.median(times[10 : 10 + WINDOW]), statistics.median(times[-WINDOW:])
    slow = statistics.quantiles(times, n=100)[-1]
    label = "off" if upkeep is None else f"on, {upkeep.status.commits} commits, {upkeep.status.work_seconds:.0f} s"
    print(
        f"| {label} | {first:.1f} | {last:.1f} | {last / first:.2f} | {slow:.0f} | {fragments} | {took:.0f} |",
        flush=True,
    )
    graph.close()


if __name__ == "__main__":
    main()
