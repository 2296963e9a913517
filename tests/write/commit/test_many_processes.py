"""Several writer processes on one branch: every write is acknowledged, none is lost, none waits for a repair."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest

from omnigraph.graph import Graph
from omnigraph.write.commit.branch_queue import HANDOVERS_WHILE_WANTED_MAX
from support.graphs.people import edges, fx, people
from support.size import sized

pytestmark = pytest.mark.timeout(600)
INSERTING = Path(__file__).parents[2] / "support" / "processes" / "inserting.py"
BUSY = Path(__file__).parents[2] / "support" / "processes" / "busy_writers.py"
PROCESSES, INSERTS = 6, sized(5, 12)


def test_every_insert_of_every_process_is_acknowledged_once(new_root: Callable[[str], str]) -> None:
    uri = new_root("g")
    before = len(fx(uri).commits())
    running = [
        subprocess.Popen(
            [sys.executable, str(INSERTING), uri, f"w{number}", str(INSERTS)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for number in range(PROCESSES)
    ]
    acknowledged = []
    for process in running:
        out, error = process.communicate()
        assert process.returncode == 0, error
        acknowledged += out.split()
    graph = Graph.open(uri)
    assert len(acknowledged) == len(set(acknowledged)) == PROCESSES * INSERTS
    assert {commit.commit_id for commit in graph.commits()} >= set(acknowledged)
    assert len(graph.commits()) == before + PROCESSES * INSERTS
    names = {f"w{number}-{insert}" for number in range(PROCESSES) for insert in range(INSERTS)}
    assert names <= set(people(graph))
    assert {(name, name) for name in names} <= edges(graph, "Knows")
    assert graph.recoveries() == []
    report = graph.verify()
    assert report.ok, report.render()


def test_a_process_beside_a_busy_one_gets_its_turn_within_the_stated_bound(tmp_path: Path) -> None:
    """A bound in commits, not in seconds: those of the run that holds the branch, and what it does while we prepare."""
    uri = str(tmp_path / "g")
    Graph.init(uri, "node Person { name: String @key }", durability="os")
    busy = subprocess.Popen(
        [sys.executable, str(BUSY), uri, "16"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert busy.stdout is not None
    assert busy.stdout.readline() == "busy\n"
    graph = Graph.open(uri, durability="os", actor="other")
    for number in range(INSERTS):
        graph.mutate("query add($n: String) { insert Person { name: $n } }", n=f"other-{number}")
    busy.communicate("")
    actors = [commit.actor_id for commit in reversed(graph.commits())]
    ours = [place for place, actor in enumerate(actors) if actor == "other"]
    assert len(ours) == INSERTS
    between = [after - before - 1 for before, after in pairwise(ours)]
    assert max(between) <= 3 * HANDOVERS_WHILE_WANTED_MAX, between
