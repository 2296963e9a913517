"""Peak memory of a load: a file of nodes merged into an empty graph and then merged again, in a process of its own.

Run: python -m bench.load_memory [--quick]
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from bench.people import SCHEMA

LIMIT_MB = 1536


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="50,000 rows instead of a million")
    parser.add_argument("--rows", type=int)
    parser.add_argument("--child", nargs=2, metavar=("GRAPH", "FILE"), help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.child:
        print(json.dumps(load(*given.child)))
        return
    rows = given.rows or (50_000 if given.quick else 1_000_000)
    with tempfile.TemporaryDirectory() as folder:
        from omnigraph.graph import Graph

        file = Path(folder) / "people.jsonl"
        write_people(file, rows)
        Graph.init(str(Path(folder) / "graph"), SCHEMA)
        print(f"{rows:,} nodes, {os.path.getsize(file) / 1e6:.0f} MB of JSON lines; limit {LIMIT_MB:,} MB\n")
        print("| merge load | seconds | peak MB |\n|---|---|---|")
        for what in ("into an empty graph", "again, every row replaced"):
            took = _in_child(str(Path(folder) / "graph"), str(file))
            print(f"| {what} | {took['seconds']:.1f} | {took['peak_mb']:.0f} |", flush=True)


def write_people(file: Path, rows: int) -> None:
    with file.open("w") as out:
        for number in range(rows):
            out.write(f'{{"type":"Person","data":{{"name":"person number {number:08d}","age":{number % 90}}}}}\n')


def load(graph: str, file: str) -> dict[str, float]:
    from omnigraph.graph import Graph

    begun = time.perf_counter()
    Graph.open(graph).load(file, mode="merge")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return {"seconds": time.perf_counter() - begun, "peak_mb": peak / (1e6 if sys.platform == "darwin" else 1e3)}


def _in_child(graph: str, file: str) -> dict[str, float]:
    command = [sys.executable, "-m", "bench.load_memory", "--child", graph, file]
    done = subprocess.run(command, cwd=Path(__file__).parent.parent, capture_output=True, text=True, check=True)
    took: dict[str, float] = json.loads(done.stdout)
    return took


if __name__ == "__main__":
    main()
