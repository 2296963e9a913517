"""Several writer processes on one branch: every write is acknowledged, none is lost, none waits for a repair."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from omnigraph.graph import Graph
from support.people import edges, fx, people

pytestmark = pytest.mark.timeout(600)
INSERTING = Path(__file__).parent.parent / "support" / "inserting.py"
PROCESSES, INSERTS = 6, 12


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
