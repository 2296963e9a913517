"""An aged graph: thousands of one-row commits, three in ten of them deletions, before and after optimize and cleanup.

Beside it the same rows in a graph that was loaded at once: what upkeep should bring the aged one back to. Every time is
the middle of several, in a process that has just opened the graph. With `--optimize-every` it is compacted while it
ages, and optimized once more after the cleanup. Run: python -m bench.aged [--quick] [--commits N] [--optimize-every N]
"""

from __future__ import annotations

import argparse
import random
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from omnigraph.graph import Graph
from omnigraph.query.resident.cache import resident_cache

SCHEMA = "node Person { name: String @key  age: I32? @index }\nedge Knows: Person -> Person\n"
INSERT = "query q($n: String, $a: I32) { insert Person { name: $n, age: $a } }"
DELETE = "query q($n: String) { delete Person where name = $n }"
SCAN = "query q() { match { $p: Person } return { count($p) as people, max($p.age) as oldest } }"
LOOK_UP = "query q($n: String) { match { $p: Person { name: $n } } return { $p.age } }"
REPEATS = 7


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer commits")
    parser.add_argument("--commits", type=int)
    parser.add_argument("--optimize-every", type=int, help="so many commits")
    given = parser.parse_args()
    commits = given.commits or (500 if given.quick else 5_000)
    with tempfile.TemporaryDirectory() as folder:
        aged = Path(folder) / "aged"
        names = age(aged, commits, given.optimize_every)
        shown = {"aged": measured(aged, names)}
        graph = Graph.open(str(aged))
        begun = time.perf_counter()
        graph.optimize()
        optimized = time.perf_counter()
        shown["optimized"] = measured(aged, names)
        cleaning = time.perf_counter()
        report = graph.cleanup(keep_versions=10, grace=0, confirm=True)
        cleaned = time.perf_counter()
        shown["cleaned up"] = measured(aged, names)
        if given.optimize_every:
            graph.optimize()
            shown["optimized again"] = measured(aged, names)
        graph.close()
        fresh = Path(folder) / "fresh"
        load(fresh, aged)
        shown["fresh load"] = measured(fresh, names)
        print(f"{commits} commits, {len(names)} people left")
        print(f"optimize took {optimized - begun:.1f} s, cleanup {cleaned - cleaning:.1f} s", end=": ")
        print(f"{report.versions} versions, {report.files} files, {report.bytes / 1e6:.0f} MB\n")
        show(shown)


def age(path: Path, commits: int, optimize_every: int | None) -> list[str]:
    """The graph, and who is left."""
    graph = Graph.init(str(path), SCHEMA, durability="os")
    draw, names = random.Random(1), []
    for number in range(commits):
        if names and draw.random() < 0.3:
            graph.mutate(DELETE, n=names.pop(draw.randrange(len(names))))
        else:
            names.append(f"p{number}")
            graph.mutate(INSERT, n=names[-1], a=number % 90)
        if optimize_every and number % optimize_every == 0:
            graph.optimize()
    graph.close()
    return names


def load(path: Path, source: Path) -> None:
    graph = Graph.init(str(path), SCHEMA, durability="os")
    graph.load(Graph.open(str(source), read_only=True).export(), mode="append")
    graph.optimize()
    graph.close()


def measured(path: Path, names: list[str]) -> dict[str, float]:
    """In milliseconds, and megabytes on disk."""
    opened: list[Graph] = []

    def open_it() -> None:
        resident_cache().clear()
        opened.append(Graph.open(str(path), durability="full"))

    draw = random.Random(2)
    times = {"open": middle(open_it)}
    graph = opened[-1]
    times["first scan"] = middle(lambda: cold(graph, lambda: graph.query(SCAN)))
    times["lookup, indexed"] = middle(lambda: graph.query(LOOK_UP, n=draw.choice(names), mode="indexed"))
    times["lookup"] = middle(lambda: graph.query(LOOK_UP, n=draw.choice(names)))
    numbers = iter(range(10**6))
    times["insert"] = middle(lambda: graph.mutate(INSERT, n=f"{path.name}-new-{next(numbers)}-{time.time_ns()}", a=1))
    newest = max(path.glob("nodes/*/_versions/*.manifest"), key=lambda file: file.stat().st_mtime_ns)
    times["version file, kB"] = newest.stat().st_size / 1e3
    times["MB on disk"] = sum(file.stat().st_size for file in path.rglob("*") if file.is_file()) / 1e6
    times["files"] = sum(file.is_file() for file in path.rglob("*"))
    for each in opened:
        each.close()
    return times


def cold(graph: Graph, read: Callable[[], Any]) -> None:
    resident_cache().clear()
    graph._storage.handles.forget()
    read()


def middle(work: Callable[[], Any]) -> float:
    times = []
    for _ in range(REPEATS):
        begun = time.perf_counter()
        work()
        times.append((time.perf_counter() - begun) * 1000)
    return statistics.median(times)


def show(shown: dict[str, dict[str, float]]) -> None:
    names = list(next(iter(shown.values())))
    print(f"| {'':<16} | {' | '.join(f'{column:>15}' for column in shown)} |")
    print(f"|---|{'---:|' * len(shown)}")
    for name in names:
        print(f"| {name:<16} | {' | '.join(f'{times[name]:>15.2f}' for times in shown.values())} |")


if __name__ == "__main__":
    main()
