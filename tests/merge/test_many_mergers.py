"""Processes that branch, write and merge into main at once, on disk and on S3: a merge lands whole or is a conflict."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from merge.merging import assert_clean, edges, people
from omnigraph.graph import Graph
from support.graphs.self_check import check_layout
from support.processes.mergers import SCHEMA, SHARED, record
from support.size import sized

pytestmark = pytest.mark.timeout(1800)

PROCESSES, TURNS = sized(4, 16), sized(2, 6)
PROGRAM = Path(__file__).parent.parent / "support" / "processes" / "mergers.py"


def run_mergers(uri: str) -> list[list[str]]:
    """What every process says of each of its branches: outcome, branch, commit, person."""
    processes = [
        subprocess.Popen(
            [sys.executable, str(PROGRAM), uri, str(number), str(TURNS)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for number in range(PROCESSES)
    ]
    told = []
    for process in processes:
        out, error = process.communicate()
        assert process.returncode == 0, error
        told += [line.split() for line in out.splitlines()]
    return told


def test_processes_that_merge_into_main_at_once_lose_nothing(new_root: Callable[[str], str]) -> None:
    uri = new_root("merged")
    graph = Graph.init(uri, SCHEMA, durability="os")
    graph.load([record(type="Person", data={"name": SHARED, "age": 0})], mode="merge")
    told = run_mergers(uri)
    assert len(told) == PROCESSES * TURNS, "each merge landed, or was a conflict"
    merged = {branch: (commit_id, name) for outcome, branch, commit_id, name in told if outcome == "merged"}
    assert {entity for outcome, _, entity, _ in told if outcome == "conflict"} <= {SHARED}
    reader = Graph.open(uri, durability="os")
    on_main = {commit.commit_id: commit for commit in reader.commits()}
    merges = [commit for commit in on_main.values() if commit.merged_parent_id is not None]
    assert {commit.commit_id for commit in merges} == {commit_id for commit_id, _ in merged.values()}
    assert len(merges) == len(merged), "no merge landed twice"
    found = people(reader)
    assert set(found) == {SHARED, *(name for _, name in merged.values())}, "every row of a merge, none of a conflict"
    assert edges(reader) == {(name, name): 1 for _, name in merged.values()}
    winners = {found[name] for _, name in merged.values() if int(name[-2:]) % 2}
    assert found[SHARED] in (winners or {0}), "the shared one is as a merge left it"
    live = set(reader.branches())
    for outcome, branch, _, name in told:
        gone = outcome == "merged" and int(name[-2:]) % 3 == 2
        assert (branch in live) is not gone
        assert gone or name in people(reader, branch)
    assert_clean(reader)
    if not uri.startswith("s3://"):
        check_layout(uri)
