"""Cleanup beside programs that read, write, branch, tag, travel in time and merge: nobody misses a file."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from omnigraph.graph import Graph
from support.processes import beside_cleanup
from support.size import IS_FULL

PROGRAM = Path(beside_cleanup.__file__)
ROLES = ("reader", "writer", "brancher", "traveller", "merger", "tagger", "reader", "writer")
SMALL = ("writer", "traveller", "brancher")
SECONDS, SMALL_SECONDS = 60.0, 3.0
GRACE_S, SMALL_GRACE_S = 3.0, 1.0


@pytest.mark.timeout(300)
def test_nobody_misses_a_file(new_root: Callable[[str], str]) -> None:
    uri = new_root("g")
    graph = beside_cleanup.make(uri)
    roles, seconds = (ROLES, SECONDS) if IS_FULL else (SMALL, SMALL_SECONDS)
    grace = GRACE_S if IS_FULL else SMALL_GRACE_S
    children = [
        subprocess.Popen(
            [sys.executable, str(PROGRAM), uri, role, str(seed), str(seconds), str(grace)],
            env=os.environ | {"PYTHONPATH": str(PROGRAM.parents[2])},
            stdout=subprocess.PIPE,
            text=True,
        )
        for seed, role in enumerate(roles)
    ]
    removed, optimized = clean_beside(graph, children, grace)
    told = [json.loads(child.communicate()[0]) for child in children]
    assert [child.returncode for child in children] == [0] * len(children)
    assert [wrong for each in told for wrong in each["wrong"]] == []
    assert all(each["counts"]["done"] > 0 for each in told), told
    assert removed > 0
    assert optimized > 0
    graph.cleanup(keep_versions=1, grace=0, confirm=True)
    final = Graph.open(uri)
    rows = final.query(beside_cleanup.READ).rows()
    assert sum(int(str(row["a.balance"])) for row in rows) == beside_cleanup.ACCOUNTS * beside_cleanup.EACH
    entries = len(list(final.export(types=["Entry"])))
    assert entries == sum(each["counts"].get("entries", 0) for each in told)
    assert final.verify().ok


def clean_beside(graph: Graph, children: list[subprocess.Popen[str]], grace: float) -> tuple[int, int]:
    """Upkeep and cleanup as long as anybody lives."""
    removed = optimized = 0
    while any(child.poll() is None for child in children):
        report = graph.cleanup(keep_versions=1, grace=grace, confirm=True)
        assert report.failed == ()
        removed += report.versions
        optimized += graph.optimize().commit is not None
    return removed, optimized
