"""Merges and diffs of few and of many changed rows in large tables, beside reading both sides whole and comparing them.

A branch changes rows all over the table; main moves too, so that it is a real three-way merge. Times are medians of
merges in one warm process, every one of a fresh branch. The peak is that of a process which does nothing but one merge
(or one diff, or one comparison of everything), with what it has after its imports beside it.

Run: python -m bench.merge [--quick] [--rows N …] [--dimension D] [--changes N …] [--folder DIR]
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from bench.people import PERSON, commit
from omnigraph.graph import Graph
from omnigraph.storage.tables import StagedEffect, Table, stage_append

PIECE_ROWS = 250_000
MOVED_ON_MAIN = 5


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="10,000 rows, two sizes of change")
    parser.add_argument("--rows", type=int, nargs="*")
    parser.add_argument("--dimension", type=int, default=0, help="of a vector property; 0 is none")
    parser.add_argument("--changes", type=int, nargs="*")
    parser.add_argument("--folder", help="where the graphs are made; a temporary folder otherwise")
    parser.add_argument("--child", nargs="+", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.child:
        name, *arguments = given.child
        print(json.dumps(CHILDREN[name](*arguments)))
        return
    changes = given.changes or ([10, 100] if given.quick else [10, 100, 10_000, 500_000])
    for rows in given.rows or [10_000 if given.quick else 1_000_000]:
        with tempfile.TemporaryDirectory(dir=given.folder) as folder:
            report(str(Path(folder) / "graph"), rows, given.dimension, [each for each in changes if each <= rows])


def report(uri: str, rows: int, dimension: int, changes: list[int]) -> None:
    in_child("make", uri, rows, dimension)
    vectors = f" with a vector of {dimension}" if dimension else ""
    print(f"\n{rows:,} rows{vectors}, load {os.getloadavg()[0]:.1f}\n")
    print("| changed | diff ms | its peak MB | merge ms | its peak MB | whole ms | its peak MB | branch create ms |")
    print("|---|---|---|---|---|---|---|---|")
    for changed in changes:
        for optimized in (False, True):
            print(line(uri, rows, changed, optimized), flush=True)


def line(uri: str, rows: int, changed: int, optimized: bool) -> str:
    """One row of the table. The process that merges once is cold, so small merges are timed in a warm one."""
    repeats = 7 if changed <= 1_000 else 3 if changed <= 10_000 else 0
    in_child("change", uri, "alone", rows, changed, 1, int(optimized))
    alone = {what: in_child(what, uri, "alone") for what in ("diff", "whole", "merge")}
    in_child("drop", uri, "alone")
    warm = in_child("warm", uri, rows, changed, repeats, int(optimized)) if repeats else {}
    diff_ms, merge_ms = (warm.get(what, alone[what]["ms"]) for what in ("diff", "merge"))
    created = f"{warm['create']:.1f}" if warm else ""
    cells = [f"{changed:,}{', main optimized before' if optimized else ''}"]
    for ms, what in ((diff_ms, "diff"), (merge_ms, "merge"), (alone["whole"]["ms"], "whole")):
        cells += [f"{ms:,.1f}", f"{alone[what]['peak']:.0f} ({alone[what]['begin']:.0f})"]
    return f"| {' | '.join([*cells, created])} |"


# --- what runs in a process of its own --------------------------------------------------------------------


def make(uri: str, rows: str, dimension: str) -> None:
    vector = f"  face: Vector({dimension})?" if int(dimension) else ""
    graph = Graph.init(uri, f"node Person {{ name: String @key  age: I32?{vector} }}", durability="os")
    for begin in range(0, int(rows), PIECE_ROWS):
        piece = people(range(begin, min(begin + PIECE_ROWS, int(rows))), int(dimension))
        commit(graph._storage, lambda table, piece=piece: staged(table, piece))
    graph.optimize()


def staged(table: Table, columns: dict[str, pa.Array]) -> StagedEffect:
    return stage_append(table, pa.table([columns[each] for each in table.schema.names], schema=table.schema))


def people(numbers: range, dimension: int) -> dict[str, pa.Array]:
    names = pa.array([name(number) for number in numbers])
    columns = {"id": names, "name": names, "age": pa.array([number % 90 for number in numbers], pa.int32())}
    if dimension:
        values = np.random.default_rng(numbers.start).random(len(numbers) * dimension, np.float32)
        columns["face"] = pa.FixedSizeListArray.from_arrays(pa.array(values), dimension)
    return columns


def change(uri: str, branch: str, rows: str, changed: str, seed: str, optimized: str) -> float:
    """A new branch with changed rows; what creating it took. Main changes too, and may be compacted after that."""
    graph = Graph.open(uri, durability="os")
    return _changed(graph, branch, int(rows), int(changed), int(seed), bool(int(optimized)))


def _changed(graph: Graph, branch: str, rows: int, changed: int, seed: int, optimized: bool) -> float:
    created = timed(lambda: graph.create_branch(branch))
    step = max(1, (rows - MOVED_ON_MAIN) // changed)
    rewrite(graph, branch, (number * step for number in range(changed)), 1000 + seed)
    rewrite(graph, "main", range(rows - MOVED_ON_MAIN, rows), 2000 + seed)
    if optimized:
        graph.optimize()
    return created


def rewrite(graph: Graph, branch: str, numbers: Any, age: int) -> None:
    lines = (f'{{"type": "Person", "data": {{"name": "{name(number)}", "age": {age}}}}}' for number in numbers)
    graph.load([each.encode() for each in lines], mode="merge", branch=branch, patch=True)


def drop(uri: str, branch: str) -> None:
    Graph.open(uri, durability="os").delete_branch(branch)


def warm(uri: str, rows: str, changed: str, repeats: str, optimized: str) -> dict[str, float]:
    """Medians over fresh branches, in one process."""
    graph = Graph.open(uri, durability="os")
    times: dict[str, list[float]] = {"create": [], "diff": [], "merge": []}
    for number in range(int(repeats)):
        branch = f"warm-{number}"
        times["create"].append(_changed(graph, branch, int(rows), int(changed), 2 + number, bool(int(optimized))))
        times["diff"].append(timed(lambda branch=branch: graph.diff("main", branch).stats))
        times["merge"].append(timed(lambda branch=branch: graph.merge(branch)))
        graph.delete_branch(branch)
    return {what: statistics.median(each) for what, each in times.items()}


def merge_alone(uri: str, branch: str) -> dict[str, float]:
    graph = Graph.open(uri, durability="os")
    return measured(lambda: graph.merge(branch))


def diff_alone(uri: str, branch: str) -> dict[str, float]:
    graph = Graph.open(uri, durability="os")
    return measured(lambda: graph.diff("main", branch).stats)


def whole_alone(uri: str, branch: str) -> dict[str, float]:
    """What one would do without versions: read every row of both sides, join by id, compare."""
    graph = Graph.open(uri, durability="os")

    def compare() -> int:
        pins = [graph.snapshot(each).table(PERSON) for each in ("main", branch)]
        one, other = (graph._storage.tables.open(pin).read().sort_by("id") for pin in pins)
        return sum(pc.sum(pc.not_equal(one[each], other[each])).as_py() or 0 for each in ("id", "age"))

    return measured(compare)


CHILDREN: dict[str, Callable[..., Any]] = {
    "make": make,
    "change": change,
    "drop": drop,
    "warm": warm,
    "merge": merge_alone,
    "diff": diff_alone,
    "whole": whole_alone,
}


# --- measuring --------------------------------------------------------------------------------------------


def in_child(what: str, *arguments: object) -> Any:
    command = [sys.executable, "-m", "bench.merge", "--child", what, *map(str, arguments)]
    done = subprocess.run(command, cwd=Path(__file__).parent.parent, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)} failed:\n{done.stderr}")
    return json.loads(done.stdout)


def measured(work: Callable[[], object]) -> dict[str, float]:
    begin = peak_mb()
    return {"begin": begin, "ms": timed(work), "peak": peak_mb()}


def peak_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1e6 if sys.platform == "darwin" else 1e3)


def timed(work: Callable[[], object]) -> float:
    begun = time.perf_counter()
    work()
    return (time.perf_counter() - begun) * 1000


def name(number: int) -> str:
    return f"person-{number:08}"


if __name__ == "__main__":
    main()
