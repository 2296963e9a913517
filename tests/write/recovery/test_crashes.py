"""A write that dies at any place is applied or not applied, and the next writer is never in its way.

The process that writes is really killed. "Next" is what the next read-write open, or the next write of a handle that
was open all the time, makes of it.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from omnigraph.graph import Graph
from omnigraph.model.errors import OmniGraphError
from omnigraph.storage.failpoints import InjectedFault, Point, armed
from support.graphs.people import INSERT_PERSON, fx, lines, people, person
from support.graphs.self_check import check_layout

DYING_LOAD = Path(__file__).parents[2] / "support" / "processes" / "dying_load.py"

# where it dies → whether its work is there afterwards, and what the audit says
DEATHS: list[tuple[str, str, bool, str | None]] = [
    ("staged", Point.MUTATION_STAGED, False, None),
    ("lease taken", Point.LEASE_ACQUIRED, False, None),
    ("before the sidecar", Point.SIDECAR_WRITE, False, None),
    ("tx-C03 armed", Point.MUTATION_ARMED, False, None),
    ("tx-C02 one of two tables committed", Point.MUTATION_TABLE_COMMITTED, False, "RolledBack"),
    ("tx-C01 all tables committed", Point.MUTATION_BEFORE_PUBLISH, True, "RolledForward"),
    ("publish prepared", Point.PUBLISH_BEFORE, True, "RolledForward"),
    ("tx-C45 published", Point.PUBLISH_AFTER, True, "RolledForward"),
    ("tx-C05 sidecar not removed", Point.SIDECAR_DELETE, True, "RolledForward"),
]


def die(uri: str, point: str, branch: str = "main") -> None:
    environment = os.environ | {"OMNIGRAPH_FAILPOINTS": f"{point}=kill", "PYTHONPATH": os.pathsep.join(sys.path)}
    result = subprocess.run([sys.executable, str(DYING_LOAD), uri, branch], env=environment, check=False)
    assert result.returncode == -9, "the place was reached"


def sidecars(uri: str) -> list[str]:
    folder = Path(uri) / "__recovery"
    return sorted(path.name for path in folder.glob("*.json")) if folder.is_dir() else []


@pytest.mark.parametrize(("point", "landed", "audit"), [d[1:] for d in DEATHS], ids=[d[0] for d in DEATHS])
@pytest.mark.parametrize("branch", ["main", "draft"])
def test_a_load_killed_anywhere_is_whole_or_absent_after_reopening(
    tmp_path: Path, point: str, landed: bool, audit: str | None, branch: str
) -> None:
    uri = str(tmp_path / "g")
    graph = fx(uri)
    graph.create_branch("draft")
    graph.mutate(INSERT_PERSON, n="Zoe", branch=branch)
    before, commits = graph.snapshot(branch), len(graph.commits(branch))
    die(uri, point, branch)
    reader = Graph.open(uri, read_only=True)
    counts = {pin.table_key.type_name: pin.row_count for pin in reader.snapshot(branch).tables}
    assert (counts["Person"], counts["Company"]) in ((5, 2), (6, 3)), "a reader sees before or after at any time"
    reopened = Graph.open(uri)
    snapshot = reopened.snapshot(branch)
    names = {json.loads(line)["data"]["name"] for line in reopened.export(branch, types=["Person", "Company"])}
    assert ({"Eve", "New"} <= names) == landed
    assert ({"Eve", "New"} & names != set()) == landed
    assert sidecars(uri) == []
    assert reopened.verify().ok, reopened.verify().render()
    check_layout(uri)
    kinds = [record.recovery_kind for record in reopened.recoveries()]
    assert kinds == ([audit] if audit is not None else [])
    if landed:
        assert snapshot.commit is not None
        assert snapshot.commit.actor_id == "act-dying", "rolled forward with the original commit"
        assert len(reopened.commits(branch)) == commits + 1
    else:
        assert [pin.row_count for pin in snapshot.tables] == [pin.row_count for pin in before.tables]
        reopened.load(
            lines(person("Eve", 22), {"type": "Company", "data": {"name": "New"}}), mode="append", branch=branch
        )


def test_tx_C04_a_sidecar_that_cannot_be_written_fails_the_write_and_nothing_else(tmp_path: Path) -> None:
    graph = fx(tmp_path / "g")
    before = graph.snapshot()
    with armed(Point.SIDECAR_WRITE), pytest.raises(InjectedFault):
        graph.mutate(INSERT_PERSON, n="Eve")
    assert graph.snapshot() == before
    graph.mutate(INSERT_PERSON, n="Eve")
    assert graph.verify().ok


def test_tx_C05_a_sidecar_that_cannot_be_removed_is_cleaned_up_by_the_next_write(tmp_path: Path) -> None:
    graph = fx(tmp_path / "g")
    with armed(Point.SIDECAR_DELETE):
        result = graph.mutate(INSERT_PERSON, n="Eve")
    assert graph.snapshot().commit == result.commit
    assert len(sidecars(graph.uri)) == 1
    graph.mutate(INSERT_PERSON, n="Fay")
    assert sidecars(graph.uri) == []
    assert len(graph.commits()) == 4


def test_tx_C06_a_publish_that_fails_once_is_finished_by_the_writer_itself(tmp_path: Path) -> None:
    graph = fx(tmp_path / "g", actor="me")
    with armed(Point.MUTATION_BEFORE_PUBLISH):
        result = graph.mutate(INSERT_PERSON, n="Eve", a=1)
    assert result.commit is not None
    assert result.commit.actor_id == "me"
    assert people(graph)["Eve"] == 1
    assert sidecars(graph.uri) == []
    graph.mutate(INSERT_PERSON, n="Fay")


def test_a_write_that_fails_between_its_tables_takes_itself_back(tmp_path: Path) -> None:
    graph = fx(tmp_path / "g")
    with armed(Point.MUTATION_TABLE_COMMITTED), pytest.raises(InjectedFault):
        graph.load(lines(person("Eve"), {"type": "Company", "data": {"name": "New"}}), mode="append")
    assert "Eve" not in people(graph)
    assert sidecars(graph.uri) == []
    assert graph.verify().ok
    graph.load(lines(person("Eve"), {"type": "Company", "data": {"name": "New"}}), mode="append")


@pytest.mark.parametrize("point", [Point.MUTATION_TABLE_COMMITTED, Point.MUTATION_BEFORE_PUBLISH])
def test_tx_C07_a_handle_that_was_open_all_the_time_heals_before_it_writes(tmp_path: Path, point: Point) -> None:
    graph = fx(tmp_path / "g")
    graph.create_branch("other")
    die(graph.uri, point)
    graph.mutate(INSERT_PERSON, n="on another branch", branch="other")
    graph.mutate(INSERT_PERSON, n="Gus")
    assert ("Eve" in people(graph)) == (point is Point.MUTATION_BEFORE_PUBLISH)
    assert sidecars(graph.uri) == []
    assert graph.verify().ok


def test_tx_C08_a_listing_of_sidecars_that_fails_stops_write_and_open_loudly(tmp_path: Path) -> None:
    graph = fx(tmp_path / "g")
    with armed(Point.SIDECAR_LIST, visit=None):
        for act in (lambda: graph.mutate(INSERT_PERSON, n="Eve"), lambda: Graph.open(graph.uri)):
            with pytest.raises(InjectedFault):
                act()
    graph.mutate(INSERT_PERSON, n="Eve")


def test_an_orphan_fork_of_a_dead_writer_is_replaced(tmp_path: Path) -> None:
    """tx-B14: the process died after it forked and before its sidecar."""
    uri = str(tmp_path / "g")
    graph = fx(uri)
    graph.create_branch("draft")
    die(uri, Point.MUTATION_FORKED, "draft")
    assert graph.snapshot("draft").tables == graph.snapshot("main").tables
    graph.mutate(INSERT_PERSON, n="Eve", branch="draft")
    assert "Eve" in people(graph, "draft")
    assert "Eve" not in people(graph)


@pytest.mark.s3
@pytest.mark.parametrize("point", [Point.MUTATION_TABLE_COMMITTED, Point.MUTATION_BEFORE_PUBLISH, Point.PUBLISH_AFTER])
def test_on_s3_a_killed_load_is_whole_or_absent_too(
    new_root: Callable[[str], str], point: Point, short_leases: None
) -> None:
    uri = new_root("crash")
    graph = fx(uri)
    die(uri, point)
    reopened = Graph.open(uri)
    landed = point is not Point.MUTATION_TABLE_COMMITTED
    assert ("Eve" in people(reopened)) == landed
    assert graph.verify().ok
    graph.mutate(INSERT_PERSON, n="Gus")


def test_a_dead_writers_lease_is_not_waited_for_on_a_local_disk(tmp_path: Path) -> None:
    graph = fx(tmp_path / "g")
    die(graph.uri, Point.LEASE_ACQUIRED)
    try:
        graph.mutate(INSERT_PERSON, n="Gus")
    except OmniGraphError as error:
        pytest.fail(f"the next writer was blocked: {error}")
