"""Two trees in turns, call by call: what a change costs, on a machine whose speed changes from minute to minute.

Each tree runs in a process of its own, on a graph of its own. A turn is one call in each, one right after the other,
and the order changes with every turn; so whatever the machine does meanwhile does it to both. Run, with a checkout of
the tree before in a folder of its own: python -m bench.two_trees --before ../before
"""

from __future__ import annotations

import argparse
import itertools
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

HERE = Path(__file__).resolve().parent.parent
CALLS = ("insert", "branch", "first_insert", "threads", "point")
THREADS = 8
EACH = 4


def main() -> None:
    given = _arguments()
    if given.worker:
        work(Path(given.worker), given.people)
        return
    with tempfile.TemporaryDirectory(prefix="omnigraph-bench-") as folder:
        before, after = (
            Worker(tree, Path(folder) / name, given.people)
            for name, tree in (("before", Path(given.before).resolve()), ("after", HERE))
        )
        print(f"{given.people:,} people, {given.samples} turns of each; ratio of after to before, by turn\n")
        print("| call | before, median ms | after, median ms | ratio, median | middle half of the ratios |")
        print("|---|---|---|---|---|")
        for call in CALLS:
            samples = given.samples // (10 if call == "threads" else 1)  # each of them is many inserts
            print(_row(call, turns(before, after, call, samples)), flush=True)
        before.stop()
        after.stop()


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--before", help="a checkout of the tree before the change")
    parser.add_argument("--people", type=int, default=50_000)
    parser.add_argument("--samples", type=int, default=300)
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if not given.before and not given.worker:
        parser.error("name the tree to compare with: --before FOLDER")
    return given


class Worker:
    """A process that runs one tree and answers with how long a call took."""

    def __init__(self, tree: Path, folder: Path, people: int) -> None:
        path = os.pathsep.join([str(tree / "src"), str(tree)])
        command = [sys.executable, str(Path(__file__).resolve()), "--worker", str(folder), "--people", str(people)]
        self._process = subprocess.Popen(
            command,
            cwd=tree,
            env={**os.environ, "PYTHONPATH": path},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self._process.stdout is not None
        shown = self._process.stdout.readline().strip()
        assert shown.startswith(str(tree)), f"the worker runs {shown}, not {tree}"

    def call(self, name: str) -> float:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{name}\n")
        self._process.stdin.flush()
        return float(self._process.stdout.readline())

    def stop(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()


def turns(before: Worker, after: Worker, call: str, samples: int) -> list[tuple[float, float]]:
    """Pairs of times, before and after; who goes first alternates. The first few warm up."""
    pairs = []
    for number in range(samples + 5):
        workers = (before, after) if number % 2 else (after, before)
        times = {worker: worker.call(call) for worker in workers}
        pairs.append((times[before], times[after]))
    return pairs[5:]


def _row(call: str, pairs: list[tuple[float, float]]) -> str:
    before, after = (statistics.median(pair[side] for pair in pairs) * 1000 for side in (0, 1))
    ratios = [pair[1] / pair[0] for pair in pairs]
    low, middle, high = statistics.quantiles(ratios, n=4)
    return f"| {call} | {before:.2f} | {after:.2f} | {middle:.3f} | {low:.2f} to {high:.2f} |"


# --- one tree ---------------------------------------------------------------------------------------------


def work(folder: Path, people: int) -> None:
    """Answers calls until the input ends. Imports whichever tree the path names."""
    import omnigraph
    from bench.people import INSERT, make_graph

    graph = make_graph(str(folder / "graph.omni"), people)
    numbers = itertools.count()
    branches: list[str] = []
    point = "query q($n: String) { match { $p: Person { name: $n } } return { $p.age } }"

    def insert(branch: str | None = None) -> None:
        graph.mutate(INSERT, n=f"new{next(numbers)}", a=30, branch=branch)

    def fork() -> None:
        branches.append(f"b{next(numbers)}")
        graph.create_branch(branches[-1])

    def together() -> None:
        threads = [threading.Thread(target=lambda: [insert() for _ in range(EACH)]) for _ in range(THREADS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    calls: dict[str, Callable[[], object]] = {
        "insert": insert,
        "branch": fork,
        "first_insert": lambda: insert(branches.pop()),
        "threads": together,
        "point": lambda: [graph.query(point, n="p00000017") for _ in range(20)],
    }
    print(omnigraph.__file__, flush=True)
    for line in sys.stdin:
        begun = time.perf_counter()
        calls[line.strip()]()
        print(time.perf_counter() - begun, flush=True)


if __name__ == "__main__":
    main()
