"""Neighbours: a process that writes a branch with many threads, and another one that wants it too.

How many commits each gets alone and together, and how long it takes to open the graph beside the busy one. In turns,
because the machine's speed changes. Run: python -m bench.neighbours [--quick]
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bench.people import make_graph
from omnigraph.graph import Graph

THREADS = {"busy": 16, "other": 1}
WARM_UP_S = 0.5
WRITER = """
import sys, threading, time
from bench.people import INSERT
from omnigraph.graph import Graph
graph, threads, done = Graph.open(sys.argv[1]), int(sys.argv[2]), []
def work(number, until):
    while time.monotonic() < until:
        graph.mutate(INSERT, n=f"{sys.argv[3]}-{number}-{time.time_ns()}", a=1)
        done.append(time.monotonic())
print("ready", flush=True)
for line in sys.stdin:
    begun = time.monotonic()
    workers = [threading.Thread(target=work, args=(number, begun + float(line))) for number in range(threads)]
    done.clear()
    for worker in workers: worker.start()
    for worker in workers: worker.join()
    pauses = [after - before for before, after in zip([begun, *done], done)]
    print(len(done) / (max(done) - begun), max(pauses), flush=True)
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="one short round")
    given = parser.parse_args()
    rounds, seconds = (1, 2.0) if given.quick else (5, 5.0)
    alone: dict[str, list[float]] = {name: [] for name in THREADS}
    together: dict[str, list[float]] = {name: [] for name in THREADS}
    waits: list[float] = []
    opened: list[float] = []
    with tempfile.TemporaryDirectory() as folder:
        uri = make_graph(str(Path(folder) / "graph"), 10_000).uri
        with writer(uri, "busy") as busy, writer(uri, "other") as other:
            writers = {"busy": busy, "other": other}
            for _ in range(rounds):
                for name, process in writers.items():
                    compact(uri, process)
                    begin(process, seconds)
                    alone[name].append(told(process)[0])
                compact(uri, *writers.values())
                for process in writers.values():
                    begin(process, seconds)
                for name, process in writers.items():
                    rate, longest = told(process)
                    together[name].append(rate)
                    if name == "other":
                        waits.append(longest)
                compact(uri, busy)
                begin(busy, seconds / 2)
                opened += openings(uri, seconds / 4)
                told(busy)
    print("| commits/s | alone | together |\n|---|---:|---:|")
    for name, threads in THREADS.items():
        middle = statistics.median(alone[name]), statistics.median(together[name])
        print(f"| {name}, {threads} writing | {middle[0]:.0f} | {middle[1]:.0f} |")
    both = statistics.median(one + another for one, another in zip(*together.values(), strict=True))
    print(f"| both | | {both:.0f} |")
    print(f"\nlongest wait of the other: {max(waits) * 1000:.0f} ms")
    print(f"opening beside the busy one: median {statistics.median(opened):.0f} ms, longest {max(opened):.0f} ms")


@contextmanager
def writer(uri: str, name: str) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-c", WRITER, uri, str(THREADS[name]), name]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        yield process
        process.stdin.close()


def compact(uri: str, *writers: subprocess.Popen[str]) -> None:
    """Before each turn: many small fragments are slow, and who writes must first learn what others wrote."""
    Graph.open(uri).optimize()
    for process in writers:
        begin(process, WARM_UP_S)
        told(process)


def begin(process: subprocess.Popen[str], seconds: float) -> None:
    print(seconds, file=process.stdin, flush=True)


def told(process: subprocess.Popen[str]) -> tuple[float, float]:
    """Commits per second, and the longest time between two of them."""
    assert process.stdout is not None
    rate, longest = map(float, process.stdout.readline().split())
    return rate, longest


def openings(uri: str, seconds: float) -> list[float]:
    found, until = [], time.monotonic() + seconds
    while time.monotonic() < until:
        begun = time.perf_counter()
        Graph.open(uri).close()
        found.append((time.perf_counter() - begun) * 1000)
        time.sleep(0.2)
    return found


if __name__ == "__main__":
    main()
