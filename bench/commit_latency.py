"""Commit latency: one person inserted into a large graph, durably, beside the same row by Lance, LanceDB and DuckDB.

They take turns, so whatever else the machine does disturbs all of them alike: read the ratios. Plain Lance and LanceDB
never sync to disk; DuckDB and we do. Run: python -m bench.commit_latency [--quick]
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import threading
import time
from collections.abc import Callable
from itertools import count
from pathlib import Path

import duckdb
import lance
import lancedb
import pyarrow as pa

from bench.people import INSERT, commit, deepen_history, ids_of, make_graph
from omnigraph.graph import Graph
from omnigraph.storage import open_storage
from omnigraph.storage.tables import StagedEffect, Table, stage_append

WARM_UP = 5
SLICES = 4
_numbers = count()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a small graph and a short history")
    parser.add_argument("--people", type=int)
    parser.add_argument("--history", type=int)
    parser.add_argument("--samples", type=int)
    parser.add_argument("--commits", type=int, help="commits per number of threads")
    given = parser.parse_args()
    people = given.people or (50_000 if given.quick else 1_000_000)
    history = given.history or (300 if given.quick else 10_000)
    samples = given.samples or (40 if given.quick else 200)
    commits = given.commits or (128 if given.quick else 512)
    with tempfile.TemporaryDirectory() as folder:
        latency(Path(folder), people, history, samples)
        branches(Path(folder), people, samples // 2)
        throughput(Path(folder), people, commits)
        fragments(Path(folder), (10, 100) if given.quick else (10, 1_000, 10_000), samples // 2)


# --- one writer -------------------------------------------------------------------------------------------


def latency(folder: Path, people: int, history: int, samples: int) -> None:
    graph = make_graph(str(folder / "graph"), people)
    others = {"plain Lance append": plain_lance(folder, people), "LanceDB upsert": lance_db(folder, people)}
    print(f"{people:,} people, {samples} inserts each, in turns; milliseconds\n")
    print("| history | | p50 | p99 | p50 against plain Lance |\n|---|---|---|---|---|")
    for depth in (10, history):
        deepen_history(graph.uri, depth - samples // 2)
        graph = Graph.open(graph.uri)
        times = in_turns({"OmniGraph insert, durable": inserter(graph)} | others, samples)
        plain = statistics.median(times["plain Lance append"])
        for name, taken in times.items():
            middle = statistics.median(taken)
            ratio = f"{middle / plain:.1f}"
            print(f"| {depth:,} | {name} | {middle:.1f} | {percentile(taken, 99):.1f} | {ratio} |", flush=True)


def in_turns(works: dict[str, Callable[[], object]], samples: int) -> dict[str, list[float]]:
    """Milliseconds of each work, one after the other, again and again."""
    times: dict[str, list[float]] = {name: [] for name in works}
    for number in range(WARM_UP + samples):
        for name, work in works.items():
            begun = time.perf_counter()
            work()
            if number >= WARM_UP:
                times[name].append((time.perf_counter() - begun) * 1000)
    return times


def percentile(values: list[float], percent: int) -> float:
    return sorted(values)[min(len(values) - 1, len(values) * percent // 100)]


def inserter(graph: Graph) -> Callable[[], object]:
    return lambda: graph.mutate(INSERT, n=f"new{next(_numbers)}", a=30)


def plain_lance(folder: Path, people: int) -> Callable[[], object]:
    """A one-row append commit and nothing else: no look for the key, no second table, no sync."""
    handle = [lance.write_dataset(_people(people), folder / "plain.lance", enable_stable_row_ids=True)]

    def append() -> None:
        rows = _one_person()
        transaction = lance.fragment.write_fragments(rows, handle[0], mode="append", return_transaction=True)
        handle[0] = lance.LanceDataset.commit(handle[0], transaction, max_retries=0)

    return append


def lance_db(folder: Path, people: int) -> Callable[[], object]:
    """The nearest that LanceDB offers to an insert with a key: an upsert by an indexed column."""
    table = lancedb.connect(str(folder / "lancedb")).create_table("people", _people(people))
    table.create_index("id", config=lancedb.index.BTree())

    def upsert() -> None:
        merge = table.merge_insert("id").when_matched_update_all().when_not_matched_insert_all()
        merge.execute(_one_person())

    return upsert


def duck_db(folder: Path, people: int) -> Callable[[], object]:
    """An insert with a primary key into a database file; every commit is synced, as ours is."""
    connection = duckdb.connect(str(folder / "people.duckdb"))
    connection.execute("CREATE TABLE people (id VARCHAR PRIMARY KEY, name VARCHAR, age INTEGER)")
    rows = _people(people)
    connection.execute("INSERT INTO people SELECT * FROM rows")

    def insert() -> None:
        name = f"new{next(_numbers)}"
        connection.execute("INSERT INTO people VALUES (?, ?, 30)", [name, name]).fetchall()

    del rows
    return insert


def _people(count: int) -> pa.Table:
    return pa.table({"id": ids_of(count), "name": ids_of(count), "age": pa.array([30] * count, pa.int32())})


def _one_person() -> pa.Table:
    name = f"new{next(_numbers)}"
    return pa.table({"id": [name], "name": [name], "age": pa.array([30], pa.int32())})


# --- branches ---------------------------------------------------------------------------------------------


def branches(folder: Path, people: int, samples: int) -> None:
    """A new branch, and the first insert on it; the same with a plain Lance branch of one table."""
    graph = make_graph(str(folder / "branches"), people)
    rows = pa.table({"id": ids_of(people), "age": pa.array([30] * people, pa.int32())})
    plain = lance.write_dataset(rows, folder / "branches.lance", enable_stable_row_ids=True)
    names = [f"b{number}" for number in range(WARM_UP + samples)]
    own, others, forks = iter(names), iter(names), {}

    def fork() -> None:
        name = next(others)
        forks[name] = plain.create_branch(name)

    def append() -> None:
        _, branch = forks.popitem()
        lance.write_dataset(rows.slice(0, 1), branch, mode="append")

    made = iter(names)
    works = {
        "branch create": lambda: graph.create_branch(next(own)),
        "first insert on it, durable": lambda: graph.mutate(INSERT, n=f"new{next(_numbers)}", a=30, branch=next(made)),
        "plain Lance branch of one table": fork,
        "plain Lance append on it": append,
    }
    print(f"\n{people:,} people, {samples} branches, in turns\n\n| | p50 ms | p99 ms |\n|---|---|---|")
    for name, taken in in_turns(works, samples).items():
        print(f"| {name} | {statistics.median(taken):.1f} | {percentile(taken, 99):.1f} |", flush=True)


# --- many writers -----------------------------------------------------------------------------------------


def throughput(folder: Path, people: int, commits: int) -> None:
    """Every thread inserts on main through one shared graph; each insert is a commit of its own.

    In slices, and the others between them, because the machine's speed changes.
    """
    print(f"\n{people:,} people, a new graph for each row, {commits} commits; the others with one writer, in turns\n")
    print("| threads | commits/s | p50 ms | p99 ms | DuckDB, durable | LanceDB upsert | plain Lance | ours / DuckDB |")
    print("|---|---|---|---|---|---|---|---|")
    for threads in (1, 8, 16, 64):
        graph = make_graph(str(folder / f"threads{threads}"), people)
        place = folder / f"others{threads}"
        place.mkdir()
        others = {
            "duck": duck_db(place, people),
            "lancedb": lance_db(place, people),
            "plain": plain_lance(place, people),
        }
        for _ in range(WARM_UP):
            inserter(graph)()
        taken, seconds = [], 0.0
        beside: dict[str, list[float]] = {name: [] for name in others}
        for _ in range(SLICES):
            for name, times in in_turns(others, commits // (8 * SLICES)).items():
                beside[name] += times
            own, own_seconds = _together(graph, threads, max(1, commits // (SLICES * threads)))
            taken, seconds = taken + own, seconds + own_seconds
        rate, rates = len(taken) / seconds, [1000 / statistics.mean(times) for times in beside.values()]
        middle, worst = statistics.median(taken), percentile(taken, 99)
        shown = " | ".join(f"{each:.0f}" for each in rates)
        print(f"| {threads} | {rate:.0f} | {middle:.1f} | {worst:.1f} | {shown} | {rate / rates[0]:.2f} |", flush=True)


def _together(graph: Graph, threads: int, each: int) -> tuple[list[float], float]:
    taken: list[float] = []
    start = threading.Barrier(threads + 1)

    def work() -> None:
        insert = inserter(graph)
        start.wait()
        for _ in range(each):
            begun = time.perf_counter()
            insert()
            taken.append((time.perf_counter() - begun) * 1000)

    workers = [threading.Thread(target=work) for _ in range(threads)]
    for worker in workers:
        worker.start()
    start.wait()
    begun = time.perf_counter()
    for worker in workers:
        worker.join()
    return taken, time.perf_counter() - begun


# --- many small inserts -----------------------------------------------------------------------------------


def fragments(folder: Path, counts: tuple[int, ...], samples: int) -> None:
    """Each single insert leaves a fragment, and every version lists all of them: the slope that `optimize` resets."""
    print(f"\ninserts into a table that so many single inserts have filled and nothing has compacted, {samples} each\n")
    print("| one-row fragments | p50 ms | p99 ms |\n|---|---|---|")
    graph, there = make_graph(str(folder / "fragments"), 1), 1
    storage = open_storage(graph.uri)
    for wanted in counts:
        more = wanted - there
        commit(storage, lambda table, more=more: _one_row_fragments(table, more))
        taken = in_turns({"insert": inserter(graph)}, samples)["insert"]
        there = wanted + samples + WARM_UP
        print(f"| {wanted:,} | {statistics.median(taken):.1f} | {percentile(taken, 99):.1f} |", flush=True)


def _one_row_fragments(table: Table, number: int) -> StagedEffect:
    """What so many inserts leave behind, in one commit."""
    schema = table.schema
    parts = [
        stage_append(table, pa.Table.from_pylist([{"id": name, "name": name, "age": 1}], schema=schema))
        for name in (f"small{next(_numbers)}" for _ in range(number))
    ]
    fragments = [fragment for part in parts for fragment in part.transaction.operation.fragments]
    operation = lance.LanceOperation.Append(fragments)
    return StagedEffect("append", table.pin, lance.Transaction(table.version, operation))


if __name__ == "__main__":
    main()
