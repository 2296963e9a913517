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
PARTS = 8
"""The run is told in so many parts: what is flat is the same in each."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer commits")
    parser.add_argument("--people", type=int, default=10_000)
    parser.add_argument("--commits", type=int)
    parser.add_argument("--optimize-every", type=int, default=0, help="commits between runs of optimize; 0: never")
    parser.add_argument("--upkeep", action="store_true", help="with background upkeep")
    given = parser.parse_args()
    commits = given.commits or (300 if given.quick else 2_000)
    kept = "in background upkeep" if given.upkeep else f"optimized every {given.optimize_every} commits (0: never)"
    print(f"{given.people:,} people and as many edges, {commits:,} commits and reads in turn, {kept}")
    print("milliseconds, not synced", end="; ")
    with tempfile.TemporaryDirectory() as folder:
        graph = make_graph(Path(folder), given.people)
        if given.upkeep:
            graph.upkeep()
        in_turns(graph, given.people, commits, given.optimize_every)
        graph.close()


def make_graph(folder: Path, people: int) -> Graph:
    graph = Graph.init(str(folder / "graph"), SCHEMA, durability="os")
    nodes = [{"type": "Person", "data": {"name": f"p{number}", "age": number % 90}} for number in range(people)]
    edges = [{"edge": "Knows", "from": f"p{number}", "to": f"p{number * 7 % people}"} for number in range(people)]
    graph.load([json.dumps(record).encode() + b"\n" for record in [*nodes, *edges]], mode="append")
    return graph


def in_turns(graph: Graph, people: int, commits: int, optimize_every: int) -> None:
    graph.query(WALK, n="p1")
    before, written, read, memory = resident_megabytes(), [], [], []
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
        memory.append(resident_megabytes())
        if optimize_every and number % optimize_every == optimize_every - 1:
            graph.optimize()
    print(f"{before:.0f} MB at the beginning\n\n| commits | read p50 | read max | commit p50 | memory MB |")
    print("|---:|---:|---:|---:|---:|")
    size = max(1, commits // PARTS)
    for begin in range(0, commits, size):
        part = slice(begin, begin + size)
        middle, worst, commit = statistics.median(read[part]), max(read[part]), statistics.median(written[part])
        print(f"| {begin + len(read[part]):,} | {middle:.1f} | {worst:.1f} | {commit:.1f} | {memory[part][-1]:.0f} |")
    print(f"\nResident: {len(resident_cache())} entries, {resident_cache().nbytes / 1e6:.1f} MB", flush=True)


def resident_megabytes() -> float:
    """What the process takes up now (Linux)."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * 4096 / 1e6


if __name__ == "__main__":
    main()
