"""Cold start: commands as a user types them, each in a process of its own, beside what Python and Lance need to start.

They take turns; the first round is not counted, because it writes the bytecode that an installation has.
Run: python -m bench.cold_start [--quick]
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from itertools import count
from pathlib import Path

from bench.people import INSERT, make_graph

QUERY = "query q($n: String) { match { $p: Person { name: $n } } return { $p.age } }"
_numbers = count()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a small graph and few starts")
    parser.add_argument("--rounds", type=int)
    parser.add_argument("--people", type=int)
    given = parser.parse_args()
    people, rounds = given.people or (1_000 if given.quick else 100_000), given.rounds or (3 if given.quick else 15)
    with tempfile.TemporaryDirectory() as folder:
        graph = str(Path(folder, "graph"))
        make_graph(graph, people)
        times = in_turns(graph, str(Path(folder, "bytecode")), rounds)
    print(f"{people:,} people, {rounds} starts each, in turns; milliseconds\n")
    print("| | best | median | median against `import lance` |\n|---|---|---|---|")
    lance = statistics.median(times["`import lance`"])
    for name, taken in times.items():
        middle = statistics.median(taken)
        print(f"| {name} | {min(taken):.0f} | {middle:.0f} | {middle / lance:.2f} |")


def commands(graph: str) -> dict[str, list[str]]:
    program = str(Path(sys.executable).with_name("omnigraph"))
    insert = ["-e", INSERT, "--params", f'{{"n": "cold{next(_numbers)}", "a": 1}}']
    return {
        "`python -c pass`": [sys.executable, "-c", "pass"],
        "`import lance`": [sys.executable, "-c", "import lance"],
        "`omnigraph --help`": [program, "--help"],
        "`omnigraph query`, by key": [
            program,
            "query",
            "--store",
            graph,
            "-e",
            QUERY,
            "--params",
            '{"n": "p00000005"}',
        ],
        "`omnigraph mutate`, one insert": [program, "mutate", "--store", graph, *insert],
    }


def in_turns(graph: str, bytecode: str, rounds: int) -> dict[str, list[float]]:
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    environment["PYTHONPYCACHEPREFIX"] = bytecode
    times: dict[str, list[float]] = {}
    for number in range(1 + rounds):
        for name, command in commands(graph).items():
            begun = time.perf_counter()
            subprocess.run(command, check=True, capture_output=True, env=environment)
            if number:
                times.setdefault(name, []).append((time.perf_counter() - begun) * 1000)
    return times


if __name__ == "__main__":
    main()
