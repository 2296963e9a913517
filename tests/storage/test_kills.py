"""`kill -9` at every storage failpoint: a reopened graph shows the state before or the state after, never between.

Each row names a place and the operation that reaches it. The process that runs the operation really dies there.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from omnigraph.graph import Graph
from omnigraph.storage import open_storage
from omnigraph.storage.failpoints import Point
from omnigraph.storage.manifest import CommitIdentity, PublishPlan, publish
from support.graphs.self_check import check_layout
from support.processes.operations import COMPACT_ABOVE_FRAGMENTS
from support.processes.writers import SCHEMA, write_pair

OPERATIONS = Path(__file__).parent.parent / "support" / "processes" / "operations.py"

# place → (the operation that reaches it, whether its effect is visible after the death)
PLACES: dict[Point, tuple[str, bool]] = {
    Point.LEASE_ACQUIRED: ("write", False),
    Point.TABLE_STAGED: ("write", False),
    Point.TABLE_COMMITTING: ("write", False),
    Point.TABLE_COMMITTED: ("write", False),
    Point.PUBLISH_LOADED: ("write", False),
    Point.MANIFEST_COMPACTING: ("write", False),
    Point.MANIFEST_COMPACTED: ("write", False),
    Point.PUBLISH_BEFORE: ("write", False),
    Point.PUBLISH_AFTER: ("write", True),
    Point.FORK_CREATED: ("write_on_branch", False),
    Point.BRANCH_CREATED: ("create_branch", True),
    Point.BRANCH_DELETED: ("delete_branch", True),
    Point.BRANCH_FORKS_DELETING: ("delete_branch", True),
}
BIRTH = {
    Point.INIT_CLAIMED,
    Point.INIT_SOURCE_WRITTEN,
    Point.INIT_CONTRACT_WRITTEN,
    Point.INIT_TABLES_CREATED,
    Point.INIT_ACK_LOST,
}


def test_every_failpoint_has_its_row() -> None:
    """The places of `init` have their own tests, because before a birth there is no state to compare.

    Those of writes, merges, recovery, loads, upkeep, clones are reached from rooms above, and their tests kill there.
    """
    rooms = (
        "mutation.",
        "branch_merge.",
        "recovery.",
        "load.",
        "index.",
        "compaction.",
        "schema_apply.",
        "columns.",
        "rows.",
        "cleanup.",
        "clone.",
    )
    above = {point for point in Point if point.startswith(rooms)}
    assert set(Point) - above == set(PLACES) | BIRTH


def picture(uri: str) -> str:
    """Everything that a reader can see of a graph."""
    graph = Graph.open(uri, read_only=True)
    storage = open_storage(uri, read_only=True)
    branches = {
        branch: {
            "commits": [commit.commit_id for commit in graph.commits(branch)],
            "tables": {
                str(pin.table_key): sorted(storage.tables.open(pin).read(["id"])["id"].to_pylist())
                for pin in graph.snapshot(branch).tables
            },
        }
        for branch in graph.branches()
    }
    return json.dumps(branches, indent=1)


def run(uri: str, operation: str, **environment: str) -> int:
    command = [sys.executable, str(OPERATIONS), uri, operation]
    environment["PYTHONPATH"] = os.pathsep.join(sys.path)
    return subprocess.run(command, env=os.environ | environment, check=False).returncode


@pytest.fixture
def uri(tmp_path: Path) -> str:
    """A graph with history, a branch with forks, and a manifest that is due for compaction."""
    uri = str(tmp_path / "g")
    graph = Graph.init(uri, SCHEMA, durability="os")
    storage = open_storage(uri, durability="os")
    graph.create_branch("forked")
    write_pair(storage, "forked")
    graph.create_branch("fresh")
    write_pair(storage)
    while len(storage.manifest.load().fragments) <= COMPACT_ABOVE_FRAGMENTS:
        publish(storage.manifest, PublishPlan(identity=CommitIdentity()))
        storage.manifest.forget("main")  # who does not know the rows of the last fragment begins another
    return uri


@pytest.mark.parametrize("point", sorted(PLACES))
def test_a_process_killed_at_any_place_leaves_before_or_after(uri: str, point: Point) -> None:
    operation, landed = PLACES[point]
    before = picture(uri)
    assert run(uri, operation, OMNIGRAPH_FAILPOINTS=f"{point}=kill") == -9, "the place was reached"
    after = picture(uri)
    assert (after != before) == landed
    if operation == "write":
        old, new = json.loads(before)["main"], json.loads(after)["main"]
        grown = {key: len(new["tables"][key]) - len(old["tables"][key]) for key in old["tables"]}
        assert set(grown.values()) == {int(landed)}, "both tables grew, or neither"
        assert len(new["commits"]) - len(old["commits"]) == int(landed)
    check_layout(uri)


@pytest.mark.parametrize("point", sorted(PLACES))
def test_the_next_writer_is_not_blocked_by_the_dead_one(uri: str, point: Point) -> None:
    """The lease of a dead process is free at once. A table commit that was never published is drift, and refused."""
    operation, landed = PLACES[point]
    run(uri, operation, OMNIGRAPH_FAILPOINTS=f"{point}=kill")
    expected = 3 if point in (Point.TABLE_COMMITTED, Point.PUBLISH_BEFORE, Point.FORK_CREATED) else 0
    if operation in ("create_branch", "delete_branch") and landed:
        expected = 3  # it happened; doing it again is refused, with a typed error
    if operation == "write" and point in (Point.PUBLISH_LOADED, Point.MANIFEST_COMPACTING, Point.MANIFEST_COMPACTED):
        expected = 3
    assert run(uri, operation) == expected
