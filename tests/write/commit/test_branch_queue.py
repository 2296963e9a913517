"""Writers of one process queue for a branch, with their files written: one chain of commits, whatever goes wrong."""

from __future__ import annotations

import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from unittest.mock import Mock

import pytest

from omnigraph.graph import Graph
from omnigraph.model.errors import (
    BranchExists,
    Corrupt,
    HistoricalVersionReclaimed,
    Internal,
    LeaseLost,
    LeaseTimeout,
    OmniGraphError,
    Unreachable,
)
from omnigraph.storage import open_storage
from omnigraph.storage.failpoints import InjectedFault, Point, armed, visits
from omnigraph.storage.leases import HeldLeases
from omnigraph.storage.manifest import CommitIdentity, PublishPlan, publish
from omnigraph.write.commit import branch_queue
from omnigraph.write.rules.violations import ValidationFailed
from support.graphs.people import INSERT_PERSON, fx, people
from support.processes.queued_writers import two_inserts, two_writers

PROGRAM = Path(__file__).parents[2] / "support" / "processes" / "queued_writers.py"


@pytest.fixture
def graph(tmp_path: Path) -> Graph:
    graph = fx(tmp_path / "g")
    graph.mutate(INSERT_PERSON, n="warm")
    return graph


def sidecars(graph: Graph) -> list[str]:
    return [path.name for path in (Path(graph.uri) / "__recovery").glob("*.json")]


def require_whole(graph: Graph) -> None:
    history = graph.commits()
    assert all(child.parent_id == parent.commit_id for child, parent in pairwise(history))
    assert sidecars(graph) == []
    assert graph.verify().ok


def test_both_land_one_after_the_other_and_each_commit_shows_its_own_work(graph: Graph) -> None:
    one, two = (written.result().commit_id for written in two_inserts(graph))
    assert [commit.commit_id for commit in graph.commits()[:2]] == [two, one]
    assert one is not None
    rows = graph.at(one).query("query q() { match { $p: Person } return { $p.name } }")
    assert {row["p.name"] for row in rows} == set(people(graph)) - {"second"}
    require_whole(graph)


def test_a_publish_that_fails_is_finished_and_the_next_writer_follows_it(graph: Graph) -> None:
    def fails() -> None:
        raise InjectedFault("the disk said no")

    one, two = (written.result().commit_id for written in two_inserts(graph, then=fails))
    assert [commit.commit_id for commit in graph.commits()[:2]] == [two, one]
    require_whole(graph)


def test_when_the_one_before_is_taken_back_the_next_one_writes_all_the_same(graph: Graph) -> None:
    def another_program_publishes() -> None:
        publish(open_storage(graph.uri).manifest, PublishPlan(identity=CommitIdentity()))

    one, two = (written.result().commit_id for written in two_inserts(graph, then=another_program_publishes))
    newest = [commit.commit_id for commit in graph.commits()[:2]]
    assert newest == [one, two], "the first was prepared again and came last"
    assert {"first", "second"} <= set(people(graph))
    require_whole(graph)


def test_what_the_one_before_makes_wrong_is_refused_in_the_turn(tmp_path: Path) -> None:
    graph = Graph.init(str(tmp_path / "u"), "node User { handle: String @key  mail: String? @unique }\n")
    add = 'query add($n: String) { insert User { handle: $n, mail: "a@x" } }'
    one, two = two_writers(
        lambda: graph.mutate(add, n="first"),
        lambda: graph.mutate(add, n="second"),
        lambda: None,
        Point.TABLE_STAGED,
    )
    assert one.result().commit_id == graph.commits()[0].commit_id
    assert isinstance(two.exception(), ValidationFailed)
    require_whole(graph)


def test_the_last_of_a_run_gives_the_lease_back_and_the_next_one_takes_it_anew(
    graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(branch_queue, "HANDOVERS_MAX", 0)
    with armed(Point.LEASE_ACQUIRED, lambda: None, visit=None):
        one, two = two_inserts(graph)
        assert visits(Point.LEASE_ACQUIRED) == 2
    assert [commit.commit_id for commit in graph.commits()[:2]] == [two.result().commit_id, one.result().commit_id]
    require_whole(graph)


def test_a_writer_that_gives_up_waiting_leaves_no_lease_behind(graph: Graph) -> None:
    storage = open_storage(graph.uri)
    with (
        branch_queue.window(storage, "main"),
        pytest.raises(LeaseTimeout),
        branch_queue.window(storage, "main", wait_s=0),
    ):
        raise AssertionError("two writers hold one branch")
    assert not branch_queue.is_busy(storage, "main")
    with storage.leases.hold("main", wait_s=0):
        pass  # the lease is free


@pytest.mark.parametrize(
    "damage",
    [
        Corrupt("t", "half a file"),
        BranchExists("b", "b"),
        HistoricalVersionReclaimed("t", 1),
        Internal("storage engine failed: preempted by a concurrent transaction"),
    ],
)
def test_what_a_writer_finds_after_it_lost_the_branch_is_told_as_the_loss_and_else_as_it_is(
    graph: Graph, monkeypatch: pytest.MonkeyPatch, damage: OmniGraphError
) -> None:
    storage = open_storage(graph.uri)

    def write(check_says: OmniGraphError | None) -> None:
        with monkeypatch.context() as patched, branch_queue.window(storage, "main"):
            patched.setattr(HeldLeases, "check", Mock(side_effect=check_says))
            raise damage

    for said, told in ((None, type(damage)), (Unreachable("no answer"), type(damage)), (LeaseLost("taken"), LeaseLost)):
        with pytest.raises(told):
            write(said)
    assert not branch_queue.is_busy(storage, "main")


def test_killed_before_the_publish_the_first_is_finished_and_the_second_that_waited_is_absent(graph: Graph) -> None:
    before = len(graph.commits())
    done = subprocess.run([sys.executable, str(PROGRAM), graph.uri], check=False, timeout=120)
    assert done.returncode == -9
    assert len(sidecars(graph)) == 1, "who waits has written no intent"
    after = Graph.open(graph.uri, durability="os")
    assert "first" in people(after)
    assert "second" not in people(after)
    assert len(after.commits()) == before + 1
    require_whole(after)
    after.mutate(INSERT_PERSON, n="second")
    require_whole(after)
