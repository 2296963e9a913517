"""Two trees in turns, call by call: what a change costs, on a machine whose speed changes from minute to minute.

Each tree runs in a process of its own, on a graph of its own. A turn is one call in each, one right after the other,
and the order changes with every turn; so whatever the machine does meanwhile does it to both. Each round has two new
processes: where a process happens to have its arrays in memory makes up to a tenth, for as long as it lives. Each round
of `writes` has new graphs: some file systems make files in one folder at half the cost of another. `writes` are the
calls of `bench.commit_latency`; `reads` the questions of `bench.traversal --sizes small`, as that tree asks them, and
its first answer from a cold process. A turn of brief calls is as many of them as take some 20 ms. Run, with a checkout
of the tree before in a folder of its own: python -m bench.two_trees --before ../before [--parts writes]
"""

from __future__ import annotations

import argparse
import itertools
import json
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
PARTS = ("writes", "reads")
ROUNDS = 5
TURN_S = 0.02
"""How long a turn of brief calls takes."""
WARM_UP = 3
"""Turns that do not count, at the beginning of each round."""
LONG_S = 0.2
"""Of calls that take longer there are fewer turns."""
THREADS, EACH = 8, 4

Calls = dict[str, Callable[[], object]]
Pair = tuple[float, float]
"""Seconds of one call, before and after."""


def main() -> None:
    given = _arguments()
    if given.worker:
        work(Path(given.worker), given.part, given.people)
        return
    print(f"{given.rounds} rounds; the ratio of a round, of after to before, is the median of its turns\n")
    print("| call | before, median ms | after, median ms | ratio: median of the rounds | all rounds |")
    print("|---|---|---|---|---|")
    with tempfile.TemporaryDirectory(prefix="omnigraph-bench-") as folder:
        for part in given.parts:
            found: dict[str, list[list[Pair]]] = {}
            for number in range(given.rounds):  # all calls in each round: a slow minute hits one round of each at most
                names = [f"{tree}-{number}" if part == "writes" else tree for tree in ("before", "after")]
                before = Worker(Path(given.before).resolve(), part, Path(folder) / names[0], given.people)
                after = Worker(HERE, part, Path(folder) / names[1], given.people)
                for call in before.calls:
                    if call in after.calls and given.only in (None, call):
                        found.setdefault(call, []).append(turns(before, after, call, given.samples))
                before.stop()
                after.stop()
            for call, rounds in found.items():
                print(_row(call, rounds), flush=True)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--before", help="a checkout of the tree before the change")
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=PARTS)
    parser.add_argument("--only", help="one call of the part")
    parser.add_argument("--people", type=int, default=50_000, help="in the graph that is written")
    parser.add_argument("--samples", type=int, default=60, help="turns in a round")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    parser.add_argument("--part", choices=PARTS, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if not given.before and not given.worker:
        parser.error("name the tree to compare with: --before FOLDER")
    return given


class Worker:
    """A process that runs one tree and answers with how long a call took."""

    def __init__(self, tree: Path, part: str, folder: Path, people: int) -> None:
        folder.mkdir(exist_ok=True)
        told = ["--worker", str(folder), "--part", part, "--people", str(people)]
        self._process = subprocess.Popen(
            [sys.executable, str(Path(__file__).resolve()), *told],
            cwd=tree,
            env=_environment() | {"PYTHONPATH": _path(tree), "OMNIGRAPH_CACHE_DIR": str(folder / "cache")},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        shown, self.calls = json.loads(self._line())
        assert shown.startswith(str(tree)), f"the worker runs {shown}, not {tree}"

    def call(self, name: str, times: int) -> float:
        """Seconds of one call, the mean of so many."""
        assert self._process.stdin is not None
        self._process.stdin.write(f"{name} {times}\n")
        self._process.stdin.flush()
        return float(self._line()) / times

    def _line(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline()

    def stop(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()


def _environment() -> dict[str, str]:
    """With bytecode, as whoever installs a package has it: else a cold process is the time that Python compiles."""
    return {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}


def _path(tree: Path) -> str:
    return os.pathsep.join([str(tree / "src"), str(tree)])


def turns(before: Worker, after: Worker, call: str, samples: int) -> list[Pair]:
    """Pairs of times, before and after; who goes first alternates."""
    both = (before, after)
    once = max(worker.call(call, 1) for worker in both for _ in range(2))
    times = max(1, int(TURN_S / once)) if not call.startswith("write: ") else 1
    count = samples if once < LONG_S else max(4, samples // 10)
    pairs = []
    for number in range(WARM_UP + count if times > 1 else count):
        taken = {worker: worker.call(call, times) for worker in (both if number % 2 else both[::-1])}
        pairs.append((taken[before], taken[after]))
    return pairs[len(pairs) - count :]


def _row(call: str, rounds: list[list[Pair]]) -> str:
    pairs = list(itertools.chain.from_iterable(rounds))
    before, after = (statistics.median(pair[side] for pair in pairs) * 1000 for side in (0, 1))
    ratios = sorted(statistics.median(pair[1] / pair[0] for pair in pairs) for pairs in rounds)
    shown = ", ".join(f"{ratio:.2f}" for ratio in ratios)
    return f"| {call} | {before:.3f} | {after:.3f} | {statistics.median(ratios):.3f} | {shown} |"


# --- one tree ---------------------------------------------------------------------------------------------


def work(folder: Path, part: str, people: int) -> None:
    """Answers calls until the input ends. Imports whichever tree the path names."""
    import omnigraph

    calls = writes(folder, people) if part == "writes" else reads(folder)
    print(json.dumps([omnigraph.__file__, list(calls)]), flush=True)
    for line in sys.stdin:
        name, _, times = line.strip().rpartition(" ")
        call = calls[name]
        begun = time.perf_counter()
        for _ in range(int(times)):
            call()
        print(time.perf_counter() - begun, flush=True)


def writes(folder: Path, people: int) -> Calls:
    from bench.people import INSERT, make_graph
    from omnigraph.graph import Graph

    uri = folder / "graph.omni"
    graph = Graph.open(str(uri)) if uri.exists() else make_graph(str(uri), people)
    numbers = itertools.count(time.time_ns())
    branches: list[str] = []

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

    return {
        "write: insert": insert,
        "write: branch create": fork,
        "write: first insert on it": lambda: insert(branches.pop()),
        f"write: {THREADS * EACH} inserts by {THREADS} threads": together,
    }


def reads(folder: Path) -> Calls:
    from bench.peers.data import SIZES, bench_data
    from bench.peers.omni import OmniGraph
    from bench.peers.workloads import WORKLOADS

    os.environ["OMNIGRAPH_BENCH_DIR"] = str(folder)
    peer, data = OmniGraph(), bench_data(SIZES["small"])
    peer.prepare(data)
    asks = peer.open(data)
    calls: Calls = {each.title: _in_turn(asks[each.name]) for each in WORKLOADS if each.name in asks}
    command = [sys.executable, "-m", "bench.peers.omni", "small", "--cold"]
    return calls | {"cold process to first answer": lambda: subprocess.run(command, check=True, capture_output=True)}


def _in_turn(ask: Callable[[int], object]) -> Callable[[], object]:
    numbers = itertools.count()
    return lambda: ask(next(numbers))


if __name__ == "__main__":
    main()
