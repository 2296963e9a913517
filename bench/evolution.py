"""Schema changes on tables of two sizes: adding a nullable column, renaming one, filling one, widening one.

What writes no row must cost the same on both and write no data file; what fills a column must show progress, and its
memory must not grow with the table. With `--engine spark` rows are written on Spark, in a session that runs already.
Run: python -m bench.evolution [--quick] [--rows N] [--small N] [--engine local|spark]
"""

from __future__ import annotations

import argparse
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa

from bench.people import commit
from omnigraph.graph import Graph
from omnigraph.model.progress import Progress
from omnigraph.pipeline.evolution import Engine
from omnigraph.storage.tables import StagedEffect, Table, stage_append

BASE = "node Person {{ name: String @key  age: I32?{more} }}\nedge Knows: Person -> Person\n"
PART_ROWS = 1_000_000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a hundredth of the rows")
    parser.add_argument("--rows", type=int)
    parser.add_argument("--small", type=int, default=10)
    parser.add_argument("--engine", choices=("local", "spark"), default="local")
    given = parser.parse_args()
    rows = given.rows or (100_000 if given.quick else 10_000_000)
    print("| rows | change | s | data files written | MB above the start | progress |")
    print("|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        warm = BASE.format(more="  warm: I32 @default(1)")
        make_graph(Path(folder), 1).apply_schema(warm, engine=given.engine)  # imports and the session, once
    for count in (given.small, rows):
        with tempfile.TemporaryDirectory() as folder:
            report(make_graph(Path(folder), count), count, given.engine)


def make_graph(folder: Path, rows: int) -> Graph:
    graph = Graph.init(str(folder / "graph"), BASE.format(more=""), durability="os")
    for start in range(0, rows, PART_ROWS):
        count = min(PART_ROWS, rows - start)

        def stage(table: Table, start: int = start, count: int = count) -> StagedEffect:
            names = pa.array([f"p{number:08}" for number in range(start, start + count)])
            ages = pa.array([number % 90 for number in range(count)], pa.int32())
            return stage_append(table, pa.table({"id": names, "age": ages, "name": names}).cast(table.schema))

        commit(graph._storage, stage)
    return Graph.open(graph.uri)


def report(graph: Graph, rows: int, engine: Engine) -> None:
    texts = {
        "add a nullable property": BASE.format(more="  email: String?"),
        "rename it": BASE.format(more='  mail: String? @rename_from("email")'),
        "drop it, data kept": BASE.format(more=""),
        "add a property with a default": BASE.format(more="  rank: I32 @default(1)"),
        "I32 to I64": BASE.format(more="  rank: I64 @default(1)"),
        "a new @range, checked": BASE.format(more="  rank: I64 @default(1)  @range(rank, 0..9)"),
        "rename the type": BASE.replace("Person {{", 'Human @rename_from("Person") {{')
        .replace("Person -> Person", "Human -> Human")
        .format(more="  rank: I64 @default(1)  @range(rank, 0..9)"),
    }
    for change, text in texts.items():
        heard: list[Progress] = []
        before = data_files(graph)
        seconds, above = measured(
            lambda text=text, heard=heard: graph.apply_schema(text, progress=heard.append, engine=engine)
        )
        written = len(data_files(graph) - before)
        calls = sum(1 for each in heard if each.rows)
        print(f"| {rows:,} | {change} | {seconds:.3f} | {written} | {above:.0f} | {calls} |", flush=True)


def data_files(graph: Graph) -> set[Path]:
    return {path for kind in ("nodes", "edges") for path in (Path(graph.uri) / kind).glob("*/data/*.lance")}


def measured(work: Callable[[], object]) -> tuple[float, float]:
    """Seconds, and the most memory above the start, sampled."""
    start, most, done = resident_mb(), [resident_mb()], threading.Event()

    def watch() -> None:
        while not done.wait(0.01):
            most.append(resident_mb())

    watcher = threading.Thread(target=watch)
    watcher.start()
    begun = time.perf_counter()
    try:
        work()
    finally:
        seconds = time.perf_counter() - begun
        done.set()
        watcher.join()
    return seconds, max(most) - start


def resident_mb() -> float:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmRSS"):
            return int(line.split()[1]) / 1024
    return 0.0


if __name__ == "__main__":
    main()
