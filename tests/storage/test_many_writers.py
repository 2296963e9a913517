"""Sixteen writer processes on one branch and on sixteen, on disk and on S3: no commit is lost, doubled or torn."""

from __future__ import annotations

import itertools
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from omnigraph.graph import Graph
from omnigraph.storage import open_storage
from support.graphs.self_check import check_layout
from support.processes.writers import KNOWS, PERSON, SCHEMA
from support.size import sized

pytestmark = pytest.mark.timeout(900)

PROCESSES, COMMITS = 16, sized(2, 50)
WRITER = Path(__file__).parent.parent / "support" / "processes" / "writers.py"


def run_writers(uri: str, branches: list[str]) -> list[list[str]]:
    """One process per entry of `branches`; the commit ids that each of them was acknowledged."""
    processes = [
        subprocess.Popen(
            [sys.executable, str(WRITER), uri, branch, str(COMMITS)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for branch in branches
    ]
    acknowledged = []
    for process in processes:
        out, error = process.communicate()
        assert process.returncode == 0, error
        acknowledged.append(out.split())
    return acknowledged


@contextmanager
def watched(uri: str, branch: str) -> Iterator[None]:
    """Runs a reader beside the block and fails if it ever saw half of a commit."""
    stop, torn = threading.Event(), list[str]()
    reader = threading.Thread(target=watch, args=(uri, branch, stop, torn))
    reader.start()
    try:
        yield
    finally:
        stop.set()
        reader.join()
    assert torn == []


def watch(uri: str, branch: str, stop: threading.Event, torn: list[str]) -> None:
    """A reader beside the writers: in every snapshot both tables have grown by the same number of rows."""
    storage = open_storage(uri, read_only=True)
    while not stop.is_set():
        pins = {pin.table_key: pin for pin in storage.manifest.load(branch).state.pins()}
        counts = {key: storage.tables.open(pins[key]).count() for key in (PERSON, KNOWS)}
        if counts[PERSON] != counts[KNOWS] or pins[PERSON].row_count != counts[PERSON]:
            torn.append(f"{branch}: {counts}")


def check_branch(uri: str, branch: str, acknowledged: list[str], inherited: int) -> None:
    graph = Graph.open(uri, read_only=True)
    history = graph.commits(branch)
    own = history[: len(history) - inherited]
    assert sorted(commit.commit_id for commit in own) == sorted(acknowledged), "acknowledged == commit rows"
    for child, parent in itertools.pairwise(history):
        assert child.parent_id == parent.commit_id, "the head chain is linear"
    storage = open_storage(uri, read_only=True)
    names = []
    for pin in graph.snapshot(branch).tables:
        table = storage.tables.open(pin)
        assert table.count() == pin.row_count == len(own)
        names.append(set(table.read(["name" if pin.table_key == PERSON else "src"]).columns[0].to_pylist()))
    assert names[0] == names[1] == {commit.actor_id for commit in own}, "each commit's rows, once, in both tables"


def test_sixteen_processes_on_one_branch_lose_and_double_nothing(new_root: Callable[[str], str]) -> None:
    uri = new_root("one")
    Graph.init(uri, SCHEMA, durability="os")
    with watched(uri, "main"):
        acknowledged = [commit for commits in run_writers(uri, ["main"] * PROCESSES) for commit in commits]
    assert len(acknowledged) == len(set(acknowledged)) == PROCESSES * COMMITS
    check_branch(uri, "main", acknowledged, inherited=1)
    if not uri.startswith("s3://"):
        check_layout(uri)


def test_sixteen_processes_on_sixteen_branches_lose_and_double_nothing(new_root: Callable[[str], str]) -> None:
    uri = new_root("many")
    graph = Graph.init(uri, SCHEMA, durability="os")
    branches = [f"team/{number:02}" for number in range(PROCESSES)]
    for branch in branches:
        graph.create_branch(branch)
    with watched(uri, branches[0]):
        acknowledged = run_writers(uri, branches)
    for branch, commits in zip(branches, acknowledged, strict=True):
        assert len(commits) == COMMITS
        check_branch(uri, branch, commits, inherited=1)
    assert len(graph.commits("main")) == 1
    if not uri.startswith("s3://"):
        check_layout(uri)
