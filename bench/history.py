"""Branches by the thousand, and the log of one entity in a long history.

Times are medians in one warm process; `commit show` and `branch delete` are also timed as commands, each a process of
its own. Beside them: what plain Lance takes for a branch of one table.

Run: python -m bench.history [--quick] [--branches N] [--commits N]
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import lance
import pyarrow as pa

from omnigraph.graph import Graph

SCHEMA = "node Person { name: String @key  age: I32? }\n"
ADD = "query add($n: String) { insert Person { name: $n, age: 1 } }"
SET = "query set($n: String, $a: I32) { update Person set { age: $a } where name = $n }"
NO_COMMIT, NOT_FOUND = "01ARZ3NDEKTSV4RRFFQ69G5FAV", 1
REMOVE = "query remove($n: String) { delete Person where name = $n }"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="20 branches, 200 commits")
    parser.add_argument("--branches", type=int)
    parser.add_argument("--commits", type=int)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        branches(Path(folder), given.branches or (20 if given.quick else 1_000))
        log_of_one_entity(Path(folder), given.commits or (200 if given.quick else 10_000))


# --- branches ---------------------------------------------------------------------------------------------


def branches(folder: Path, count: int) -> None:
    """Every branch has a commit of its own, so each has a fork and something to keep when it is deleted."""
    graph = Graph.init(str(folder / "branches"), SCHEMA, durability="os")
    graph.mutate(ADD, n="first")
    table = lance.write_dataset(pa.table({"id": ["first"]}), str(folder / "plain.lance"))
    print(
        f"load {os.getloadavg()[0]:.1f}\n\n| branches | create ms | plain Lance ms | delete ms | delete, cold ms | "
        "commit show of another branch, cold ms | of an id that no branch has, cold ms | branch list, cold ms |\n"
        "|---|---|---|---|---|---|---|---|"
    )
    made = 1
    for target in (1, count):
        while made < target:
            graph.create_branch(f"team/{made:05}").mutate(ADD, n=f"p{made}")
            table.create_branch(f"team-{made:05}")
            made += 1
        print(branch_line(graph, table, target), flush=True)


def branch_line(graph: Graph, table: lance.LanceDataset, count: int) -> str:
    creates, plain, deletes = [], [], []
    for number in range(11):
        name = f"new-{number}"
        creates.append(timed(lambda name=name: graph.create_branch(name)))
        plain.append(timed(lambda name=name: table.create_branch(name)))
        graph.mutate(ADD, branch=name, n=name)
        deletes.append(timed(lambda name=name: graph.delete_branch(name)))
        table.branches.delete(name)
    other = graph.create_branch("other")
    commit_id = other.mutate(ADD, n="other").commit_id
    show = command("commit", "show", commit_id, "--store", graph.uri)
    unknown = command("commit", "show", NO_COMMIT, "--store", graph.uri, code=NOT_FOUND)
    listed = command("branch", "list", "--store", graph.uri)
    removed = command("branch", "delete", "other", "--store", graph.uri, "--yes")
    times = [statistics.median(each) for each in (creates, plain, deletes)]
    return f"| {count:,} | {' | '.join(f'{each:.1f}' for each in (*times, removed, show, unknown, listed))} |"


def command(*arguments: str, code: int = 0) -> float:
    """A command of its own, from the start of its process to its end."""
    run = [sys.executable, "-m", "omnigraph.cli", *arguments]

    def once() -> None:
        done = subprocess.run(run, capture_output=True, text=True, check=False)
        if done.returncode != code:
            raise SystemExit(f"{' '.join(run)} failed:\n{done.stderr}")

    return timed(once)


# --- the log of one entity --------------------------------------------------------------------------------


def log_of_one_entity(folder: Path, commits: int) -> None:
    """Inserts, every tenth commit an update of one entity, every hundredth a removal of another."""
    graph = Graph.init(str(folder / "log"), SCHEMA, durability="os")
    graph.mutate(ADD, n="known")
    for number in range(commits):
        if number % 100 == 99:
            graph.mutate(REMOVE, n=f"p{number - 1}")
        elif number % 10 == 9:
            graph.mutate(SET, n="known", a=number)
        else:
            graph.mutate(ADD, n=f"p{number}")
    fresh = Graph.open(graph.uri, durability="os")
    print(f"\n| the log of an entity in {commits:,} commits | entries | ms |\n|---|---|---|")
    cases = {
        "that changes in every tenth commit": ("known", None),
        "the same, its newest ten changes": ("known", 10),
        "that was inserted once, at the beginning": ("p0", None),
        "that was removed long ago": ("p98", None),
        "that never was": ("nobody", None),
    }
    for what, (entity_id, limit) in cases.items():
        begun = time.perf_counter()
        found = fresh.log(entity=("Person", entity_id), limit=limit)
        took = (time.perf_counter() - begun) * 1000
        print(f"| {what} | {len(found)} | {took:,.1f} |", flush=True)


def timed(work: Callable[[], object]) -> float:
    begun = time.perf_counter()
    work()
    return (time.perf_counter() - begun) * 1000


if __name__ == "__main__":
    main()
