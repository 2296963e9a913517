"""Bulk loads: JSON lines with every check on Spark, beside one process that writes the same rows with no check at all.

The other process parses the file with Arrow's JSON reader, casts the columns and writes two Lance tables; it looks at
nothing. Ours runs on `local[2]`: strict decoding, keys, uniqueness, endpoints, one commit. Each in its own process.

Run: python -m bench.bulk_load [--quick] [--shape NODESxEDGES] [--master local[2]]
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

SCHEMA = """node Person { name: String @key  age: I32?  city: String?  score: F64?  joined: Date? }
edge Knows: Person -> Person { since: Date?  weight: F64? }
"""
SHAPES = ((100_000, 2_000_000), (1_000_000, 5_000_000), (1_000_000, 10_000_000))
QUICK = ((5_000, 50_000),)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="55,000 rows instead of millions")
    parser.add_argument("--shape", help="for example 1000000x5000000")
    parser.add_argument("--master", default="local[2]")
    parser.add_argument("--child", nargs=2, metavar=("WHO", "FILE"), help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.child:
        who, file = given.child
        print(json.dumps(unchecked(file) if who == "unchecked" else checked(file, given.master)))
        return
    shapes = QUICK if given.quick else SHAPES
    if given.shape:
        nodes, edges = given.shape.split("x")
        shapes = ((int(nodes), int(edges)),)
    print(
        "| rows | MB | unchecked s | ours s | ratio | session s | decode | check | write | commit | index | peak MB |"
    )
    print("|---|---|---|---|---|---|---|---|---|---|---|---|")
    for nodes, edges in shapes:
        with tempfile.TemporaryDirectory() as folder:
            compare(Path(folder) / "rows.jsonl", nodes, edges, given.master)


def compare(file: Path, nodes: int, edges: int, master: str) -> None:
    write_rows(file, nodes, edges)
    plain = _in_child("unchecked", file, master)
    ours = _in_child("checked", file, master)
    stages = ours["stages"]
    took = ours["seconds"] - stages["session"] - stages.get("index", 0.0)
    cells = [
        f"{nodes + edges:,}",
        f"{os.path.getsize(file) / 1e6:.0f}",
        f"{plain['seconds']:.1f}",
        f"{took:.1f}",
        f"{took / plain['seconds']:.2f}",
        f"{stages['session']:.1f}",
        *(f"{stages.get(name, 0.0):.1f}" for name in ("decode", "check", "write", "commit", "index")),
        f"{plain['peak_mb']:.0f} / {ours['peak_mb']:.0f}",
    ]
    print(f"| {' | '.join(cells)} |", flush=True)


def write_rows(file: Path, nodes: int, edges: int) -> None:
    chance = random.Random(1)
    with file.open("w") as out:
        for n in range(nodes):
            day = f"20{n % 25:02d}-0{1 + n % 9}-1{n % 10}"
            out.write(
                f'{{"type":"Person","data":{{"name":"p{n:08d}","age":{n % 90},"city":"city{n % 1000}",'
                f'"score":{chance.random():.6f},"joined":"{day}"}}}}\n'
            )
        for n in range(edges):
            day = f"20{n % 25:02d}-0{1 + n % 9}-1{n % 10}"
            out.write(
                f'{{"edge":"Knows","from":"p{chance.randrange(nodes):08d}","to":"p{chance.randrange(nodes):08d}",'
                f'"data":{{"since":"{day}","weight":{chance.random():.4f}}}}}\n'
            )


# --- who is measured --------------------------------------------------------------------------------------


def checked(file: str, master: str) -> dict[str, Any]:
    from omnigraph.graph import Graph

    with tempfile.TemporaryDirectory() as folder, _Peak() as peak:
        graph = Graph.init(str(Path(folder) / "graph"), SCHEMA)
        begun = time.perf_counter()
        result = graph.load(file, mode="append", engine="spark", spark=master)
        seconds = time.perf_counter() - begun
    assert result.report is not None
    return {"seconds": seconds, "stages": dict(result.report.seconds), "peak_mb": peak.mb}


def unchecked(file: str) -> dict[str, Any]:
    import lance
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.json as pj

    text, number = pa.string(), pa.float64()
    of_people = [("name", text), ("age", pa.int32()), ("city", text), ("score", number), ("joined", text)]
    data = pa.struct([*of_people, ("since", text), ("weight", number)])
    asked = pa.schema([("type", text), ("edge", text), ("from", text), ("to", text), ("data", data)])
    options = {"data_storage_version": "2.2", "enable_stable_row_ids": True}
    with tempfile.TemporaryDirectory() as folder:
        begun = time.perf_counter()
        read = pj.ReadOptions(block_size=16 << 20)
        rows = pj.read_json(file, read_options=read, parse_options=pj.ParseOptions(explicit_schema=asked))
        nodes, edges = rows.filter(pc.is_valid(rows["type"])), rows.filter(pc.is_valid(rows["edge"]))
        of_node, of_edge = nodes["data"].combine_chunks(), edges["data"].combine_chunks()
        names = ("name", "age", "city", "score")
        columns = {"id": of_node.field("name"), **{name: of_node.field(name) for name in names}}
        people = pa.table({**columns, "joined": of_node.field("joined").cast(pa.date32())})
        numbers = pa.array(np.arange(10**15, 10**15 + edges.num_rows))
        ids = pc.binary_join_element_wise(numbers.cast(text), "0000000000", "")
        ends = {"id": ids, "src": edges["from"], "dst": edges["to"], "weight": of_edge.field("weight")}
        knows = pa.table({**ends, "since": of_edge.field("since").cast(pa.date32())})
        lance.write_dataset(people, f"{folder}/people", **options)
        lance.write_dataset(knows, f"{folder}/knows", **options)
        seconds = time.perf_counter() - begun
    return {"seconds": seconds, "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3}


class _Peak:
    """The most memory that this process and everything below it (a JVM, its workers) held at one time, shared pages
    counted once each process."""

    def __init__(self) -> None:
        self.mb = 0.0
        self._end = threading.Event()
        self._watch = threading.Thread(target=self._loop, daemon=True)

    def __enter__(self) -> _Peak:
        self._watch.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._end.set()
        self._watch.join()

    def _loop(self) -> None:
        while not self._end.wait(0.25):
            self.mb = max(self.mb, sum(_anonymous_mb(process) for process in _family(os.getpid())))


def _family(process: int) -> list[int]:
    found, waiting = [], [process]
    while waiting:
        each = waiting.pop()
        found.append(each)
        for task in Path(f"/proc/{each}/task").glob("*/children"):
            try:
                waiting += [int(child) for child in task.read_text().split()]
            except OSError:
                continue
    return found


def _anonymous_mb(process: int) -> float:
    """Without mapped files: those are the page cache's, and go when somebody needs the room."""
    try:
        text = Path(f"/proc/{process}/status").read_text()
    except OSError:
        return 0.0
    sizes = {line.split(":")[0]: line.split()[1] for line in text.splitlines() if line.startswith("Rss")}
    return (int(sizes.get("RssAnon", 0)) + int(sizes.get("RssShmem", 0))) / 1e3


def _in_child(who: str, file: Path, master: str) -> dict[str, Any]:
    command = [sys.executable, "-m", "bench.bulk_load", "--master", master, "--child", who, str(file)]
    done = subprocess.run(command, cwd=Path(__file__).parent.parent, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"{who}: {done.stderr[-4000:]}")
    took: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return took


if __name__ == "__main__":
    main()
