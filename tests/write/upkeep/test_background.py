"""Background upkeep: off unless asked, does what pays, is seen, stands in nobody's way, and ends with its handle."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from omnigraph.graph import Graph
from omnigraph.model.errors import BadRequest, OpenedReadOnly
from omnigraph.storage.failpoints import Point, armed
from omnigraph.write.upkeep import background
from support.graphs.people import INSERT_PERSON, fx, lines, people, person

WRITES_MAX = 2_000


@pytest.fixture(autouse=True)
def eager(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Eight small fragments are many."""
    monkeypatch.setattr(background, "SMALL_FRAGMENTS_MAX", 8)
    yield
    assert not upkeep_threads()


def upkeep_threads() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "omnigraph-upkeep"]


def fragments(graph: Graph) -> int:
    pin = next(pin for pin in graph.snapshot().tables if pin.table_key.type_name == "Person")
    return graph._storage.tables.open(pin).fragment_count()


def write_until(graph: Graph, upkeep: background.Upkeep, what: str) -> int:
    """Inserts until the status says so; how many it took. Each insert takes some milliseconds."""
    for number in range(WRITES_MAX):
        if getattr(upkeep.status, what):
            return number
        graph.mutate(INSERT_PERSON, n=f"p{number}")
    raise AssertionError(upkeep.status)


def test_it_is_off_unless_asked(tmp_path: Path) -> None:
    graph = fx(tmp_path / "g")
    for number in range(12):
        graph.mutate(INSERT_PERSON, n=f"p{number}")
    assert upkeep_threads() == []
    assert fragments(graph) == 13


def test_fragments_stay_few_while_others_write_and_every_write_is_there(tmp_path: Path) -> None:
    graph = fx(tmp_path / "g", actor="keeper")
    with graph.upkeep(every=0.01) as upkeep:
        written = write_until(graph, upkeep, "commits")
        for number in range(40):
            graph.mutate(INSERT_PERSON, n=f"q{number}")
    status = upkeep.status
    assert (status.state, status.last_error) == ("stopped", None)
    assert status.looks >= status.commits > 0
    assert status.last_work_at is not None
    assert status.work_seconds > 0
    assert fragments(graph) < 4 + written + 40
    assert len(people(graph)) == 4 + written + 40
    made = [commit for commit in graph.commits() if commit.py["kind"] == "optimize"]
    assert len(made) == status.commits
    assert {commit.actor_id for commit in made} == {"keeper"}
    assert graph.verify().ok


def test_indexes_are_extended_when_many_rows_are_without(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(background, "UNINDEXED_ROWS_MIN", 10)
    graph = fx(tmp_path / "g")
    graph.ensure_indices()
    graph.load(lines(*(person(f"r{number}") for number in range(30))), mode="append")
    with graph.upkeep(every=0.01) as upkeep:
        write_until(graph, upkeep, "commits")
    [status] = [one for one in graph.indexes() if (one.type, one.column) == ("node:Person", "id")]
    assert status.rows_indexed >= 30


def test_nothing_is_done_where_it_does_not_pay(tmp_path: Path) -> None:
    graph = fx(tmp_path / "g")
    run = background._Run(graph._storage, lambda: graph.schema, background.UpkeepPlan("main"))
    assert background._look(run) == (0, 0)
    version = graph.snapshot().version
    assert background._look(run) == (0, 0)
    assert graph.snapshot().version == version


def test_old_versions_go_when_that_was_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(background, "CLEANUP_EVERY_S", 0.0)
    graph = fx(tmp_path / "g")
    for number in range(5):
        graph.mutate(INSERT_PERSON, n=f"p{number}")
    with graph.upkeep(every=0.01, keep_versions=1, grace=0) as upkeep:
        write_until(graph, upkeep, "versions_removed")
    assert graph.verify().ok


def test_an_error_is_told_and_reaches_nobody(tmp_path: Path) -> None:
    graph = fx(tmp_path / "g")
    with graph.upkeep(every=0.01) as upkeep:
        with armed(Point.COMPACTION_WRITTEN, visit=None):
            write_until(graph, upkeep, "last_error")
            assert "compaction.after_write" in (upkeep.status.last_error or "")
            assert upkeep.is_running
        write_until(graph, upkeep, "commits")
    assert upkeep.status.last_error is None
    assert graph.verify().ok


def test_an_error_that_lasts_is_logged_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    graph = fx(tmp_path / "g")
    with graph.upkeep(every=0.01) as upkeep:
        (tmp_path / "g").rename(tmp_path / "away")
        looks = upkeep.status.looks
        deadline = time.monotonic() + 60
        while upkeep.status.looks < looks + 5:
            assert time.monotonic() < deadline
            time.sleep(0.01)
    assert upkeep.status.last_error is not None
    assert [record.levelname for record in caplog.records if record.name == "omnigraph.upkeep"] == ["WARNING"]


def test_one_handle_has_one_and_closing_ends_it(tmp_path: Path) -> None:
    graph = fx(tmp_path / "g")
    upkeep = graph.upkeep()
    with pytest.raises(BadRequest, match="running already"):
        graph.upkeep()
    graph.close()
    assert not upkeep.is_running
    assert upkeep.status.state == "stopped"
    upkeep.stop()
    with graph.upkeep(every="2s") as again:
        assert again.is_running
    with pytest.raises(OpenedReadOnly):
        Graph.open(graph.uri, read_only=True).upkeep()
    with pytest.raises(BadRequest, match="every"):
        graph.upkeep(every="often")


ENDS = {
    "exit": "upkeep = graph.upkeep(every=0.01)",
    "error": "upkeep = graph.upkeep(every=0.01)\nraise SystemExit(3)",
    "fork": """
        upkeep = graph.upkeep(every=0.01)
        child = os.fork()
        if child == 0:
            assert not upkeep.is_running
            assert upkeep.status.state == 'stopped'
            upkeep.stop()
            os._exit(7)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
        assert upkeep.is_running
    """,
}


@pytest.fixture(scope="module")
def scattered(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("scattered") / "g"
    graph = fx(path)
    for number in range(66):
        graph.mutate(INSERT_PERSON, n=f"p{number}")
    return path


@pytest.mark.parametrize(("end", "code"), [("exit", 0), ("error", 3), ("fork", 0)])
def test_it_ends_with_its_process_and_leaves_nothing_to_resolve(
    scattered: Path, tmp_path: Path, end: str, code: int
) -> None:
    shutil.copytree(scattered, tmp_path / "g")
    graph = Graph.open(str(tmp_path / "g"))
    program = (
        f"import os, sys, omnigraph as og\ngraph = og.open(sys.argv[1], durability='os')\n{textwrap.dedent(ENDS[end])}"
    )
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", program, graph.uri],
        env=os.environ,
        check=False,
        capture_output=True,
        timeout=60,
    )
    assert done.returncode == code, done.stderr.decode()
    assert graph.pending_recoveries() == []
    assert len(people(graph)) == 70
