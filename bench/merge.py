"""Merge and diff of a few changed rows in a large table, beside reading both sides whole and comparing them by id.

The change is made on a branch; main moves too, so that it is a real three-way merge. Each line is the median of several
merges, every one of a fresh branch. Run: python -m bench.merge [--quick] [--rows N] [--dimension D]
"""

from __future__ import annotations

import argparse
import resource
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from bench.people import commit
from omnigraph.graph import Graph
from omnigraph.history import current_snapshot
from omnigraph.history.diff import diff_snapshots
from omnigraph.merge import Merge, merge
from omnigraph.model.identifiers import TableKey
from omnigraph.storage.tables import StagedEffect, Table, stage_append

PERSON = TableKey("node", "Person")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a tenth of the rows, fewer repeats")
    parser.add_argument("--rows", type=int)
    parser.add_argument("--dimension", type=int, default=0, help="of a vector property; 0 is none")
    parser.add_argument("--changes", type=int, nargs="*", default=[10, 100])
    given = parser.parse_args()
    rows = given.rows or (10_000 if given.quick else 100_000)
    repeats = 3 if given.quick else 7
    with tempfile.TemporaryDirectory() as folder:
        graph = make_graph(Path(folder), rows, given.dimension)
        for changed in given.changes:
            report(graph, rows, changed, repeats)
        print("main is compacted before the merge")
        for changed in given.changes:
            report(graph, rows, changed, repeats, compact=True)
    print(f"peak memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB")


def make_graph(folder: Path, rows: int, dimension: int) -> Graph:
    vector = f"  face: Vector({dimension})?" if dimension else ""
    graph = Graph.init(
        str(folder / "graph"), f"node Person {{ name: String @key  age: I32?{vector} }}", durability="os"
    )
    names = pa.array([name(number) for number in range(rows)])
    columns = {"id": names, "age": pa.array([number % 90 for number in range(rows)], pa.int32())}
    if dimension:
        numbers = np.random.default_rng(7).random(rows * dimension, np.float32)
        columns["face"] = pa.FixedSizeListArray.from_arrays(pa.array(numbers), dimension)
    columns["name"] = names

    def stage(table: Table) -> StagedEffect:
        return stage_append(table, pa.table(columns).cast(table.schema))

    commit(graph._storage, stage)
    graph.optimize()
    return graph


def report(graph: Graph, rows: int, changed: int, repeats: int, *, compact: bool = False) -> None:
    diffs, merges, whole, creates = [], [], [], []
    storage = graph._storage
    for number in range(repeats):
        branch = f"b{time.time_ns()}"
        creates.append(timed(lambda branch=branch: graph.create_branch(branch)))
        rewrite(graph, branch, range(number, number + changed), 1000 + number)
        rewrite(graph, "main", range(rows - 5, rows), 2000 + number)
        if compact:
            graph.optimize()
        sides = [current_snapshot(storage, each) for each in ("main", branch)]
        diffs.append(timed(lambda sides=sides: diff_snapshots(storage, *sides).stats))
        whole.append(timed(lambda sides=sides: compare_whole(graph, sides)))
        merges.append(timed(lambda branch=branch: merge(storage, lambda: graph.schema, Merge(source=branch))))
        graph.delete_branch(branch)
    parts = {"diff": diffs, "merge": merges, "both sides whole": whole, "branch create": creates}
    told = ", ".join(f"{what} {statistics.median(times):.1f} ms" for what, times in parts.items())
    print(f"{changed} changed of {rows}: {told}")


def rewrite(graph: Graph, branch: str, numbers: range, age: int) -> None:
    lines = (f'{{"type": "Person", "data": {{"name": "{name(number)}", "age": {age}}}}}' for number in numbers)
    graph.load([line.encode() for line in lines], mode="merge", branch=branch, patch=True)


def compare_whole(graph: Graph, sides: list[object]) -> int:
    """What one would do without versions: read every row of both sides, join by id, compare."""
    one, other = (graph._storage.tables.open(side.table(PERSON)).read() for side in sides)
    one, other = (table.sort_by("id") for table in (one, other))
    return sum(pc.sum(pc.not_equal(one[each], other[each])).as_py() or 0 for each in ("id", "age"))


def timed(work: Callable[[], object]) -> float:
    begun = time.perf_counter()
    work()
    return (time.perf_counter() - begun) * 1000


def name(number: int) -> str:
    return f"person-{number:08}"


if __name__ == "__main__":
    main()
