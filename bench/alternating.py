"""Commits and reads in turn: one person or one edge is inserted, then a walk is read, in one process that lives long.

Each read finds another version than the one before, so it pays for following the commit; that should cost the same
after thousands of commits as after the first. Run: python -m bench.alternating [--quick]
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import time
from pathlib import Path

from omnigraph.graph import Graph
from omnigraph.query.resident.cache import resident_cache

SCHEMA = "node Person { name: String @key  age: I32? }\nedge Knows: Person -> Person\n"
PERSON = "query add($n: String, $a: I32) { insert Person { name: $n, age: $a } }"
KNOWS = "query add($f: String, $t: String) { insert Knows { from: $f, to: $t } }"
WALK = "query q($n: String) { match { $p: Person { name: $n } $p knows $f } return { $f.name, $f.age } }"
ENDS = 50


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer commits")
    parser.add_argument("--people", type=int, default=10_000)
    parser.add_argument("--commits", type=int)
    parser.add_argument("--optimize-every", type=int, default=0, help="commits between runs of optimize; 0: never")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        graph = make_graph(Path(folder), given.people)
        in_turns(graph, given.people, given.commits or (300 if given.quick else 2_000), given.optimize_every)


def make_graph(folder: Path, people: int) -> Graph:
    graph = Graph.init(str(folder / "graph"), SCHEMA, durability="os")
    nodes = [{"type": "Person", "data": {"name": f"p{number}", "age": number % 90}} for number in range(people)]
    edges = [{"edge": "Knows", "from": f"p{number}", "to": f"p{number * 7 % people}"} for number in range(people)]
    graph.load([json.dumps(record).encode() + b"\n" for record in [*nodes, *edges]], mode="append")
    return graph


def in_turns(graph: Graph, people: int, commits: int, optimize_every: int) -> None:
    graph.query(WALK, n="p1")
    before, written, read = resident_megabytes(), [], []
    for number in range(commits):
        begun = time.perf_counter()
        if number % 2:
            graph.mutate(PERSON, n=f"new{number}", a=30)
        else:
            graph.mutate(KNOWS, f=f"p{number % people}", t=f"p{number * 3 % people}")
        committed = time.perf_counter()
        graph.query(WALK, n=f"p{number % people}")
        written.append((committed - begun) * 1000)
        read.append((time.perf_counter() - committed) * 1000)
        if optimize_every and number % optimize_every == optimize_every - 1:
            graph.optimize()
    print(f"{people:,} people and as many edges, {commits:,} commits and reads in turn; milliseconds, not synced")
    print(f"optimized every {optimize_every} commits\n" if optimize_every else "never optimized\n")
    print("| | read p50 | read max | commit p50 |\n|---|---|---|---|")
    for name, part in ((f"first {ENDS}", slice(ENDS)), (f"last {ENDS}", slice(-ENDS, None))):
        middle, worst = statistics.median(read[part]), max(read[part])
        print(f"| {name} | {middle:.1f} | {worst:.1f} | {statistics.median(written[part]):.1f} |")
    print(f"\nMemory of the process: {before:.0f} MB before, {resident_megabytes():.0f} MB after")
    print(f"Resident: {len(resident_cache())} entries, {resident_cache().nbytes / 1e6:.1f} MB", flush=True)


def resident_megabytes() -> float:
    """What the process takes up now (Linux)."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * 4096 / 1e6


if __name__ == "__main__":
    main()
