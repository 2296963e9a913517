"""Publish on a real `__manifest`: compare-and-swap, requirements, the retry budget, compaction."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from omnigraph.graph import Graph
from omnigraph.model.errors import ExpectedVersionMismatch, LeaseLost, ReadSetChanged, RowLevelCasContention
from omnigraph.storage import GraphStorage, open_storage
from omnigraph.storage.failpoints import Point, armed, visits
from omnigraph.storage.manifest import CommitIdentity, PublishPlan, VersionIs, head_of, publish
from omnigraph.storage.manifest.publishing import rows_of
from omnigraph.storage.manifest.store import COMPACT_ABOVE_FRAGMENTS
from support.processes.writers import SCHEMA, write_pair


def empty_commit(actor: str = "a") -> PublishPlan:
    return PublishPlan(identity=CommitIdentity(actor_id=actor))


def test_a_publish_is_one_version_with_commit_and_head(storage: GraphStorage) -> None:
    before = storage.manifest.load()
    published = publish(storage.manifest, empty_commit())
    assert published.manifest.version == before.version + 1 == published.commit.version
    fresh = open_storage(storage.root.uri).manifest.load()
    assert before.state.head is not None
    assert fresh.state.head == published.commit
    assert fresh.state.heads["main"].head_commit_id == published.commit.commit_id
    assert fresh.state.heads["main"].parent_commit_id == before.state.head.commit_id


def test_the_state_after_a_publish_equals_a_fresh_read(storage: GraphStorage) -> None:
    for _ in range(3):
        published = write_pair(storage)
        assert open_storage(storage.root.uri).manifest.load().state == published.manifest.state


def test_a_stale_table_version_is_refused_with_its_facts(storage: GraphStorage) -> None:
    write_pair(storage)
    plan = PublishPlan(identity=CommitIdentity(), requirements=(VersionIs("node:Person", 1),))
    with pytest.raises(ExpectedVersionMismatch) as refused:
        publish(storage.manifest, plan)
    assert refused.value.details() == {"table_key": "node:Person", "expected": 1, "actual": 2}


def test_a_stale_head_is_refused_and_never_re_parented(storage: GraphStorage) -> None:
    stale = head_of(storage.manifest.load())
    newer = publish(storage.manifest, empty_commit())
    with pytest.raises(ReadSetChanged) as refused:
        publish(storage.manifest, PublishPlan(identity=CommitIdentity(), requirements=(stale,)))
    assert refused.value.member == "graph_head:main"
    assert refused.value.actual == newer.commit.commit_id


def test_an_absent_head_row_is_a_fact_that_can_be_required(storage: GraphStorage) -> None:
    graph = Graph(storage)
    graph.create_branch("fresh")
    absent = head_of(storage.manifest.load("fresh"))
    assert absent.head_commit_id is None
    publish(storage.manifest, PublishPlan(branch="fresh", identity=CommitIdentity(), requirements=(absent,)))
    with pytest.raises(ReadSetChanged):
        publish(storage.manifest, PublishPlan(branch="fresh", identity=CommitIdentity(), requirements=(absent,)))


def test_a_re_created_branch_is_not_the_branch_that_was_read(storage: GraphStorage) -> None:
    graph = Graph(storage)
    graph.create_branch("b")
    token = head_of(storage.manifest.load("b"))
    graph.delete_branch("b")
    graph.create_branch("b")
    with pytest.raises(ReadSetChanged) as refused:
        publish(storage.manifest, PublishPlan(branch="b", identity=CommitIdentity(), requirements=(token,)))
    assert refused.value.member == "branch_identifier:b"


def _competitor(storage: GraphStorage) -> Callable[[], None]:
    """Publishes from another handle, as a process that ignores the lease would, without reaching the failpoint."""
    other = open_storage(storage.root.uri, durability="os").manifest

    def publish_first() -> None:
        loaded = other.load()
        _, rows = rows_of(empty_commit("competitor"), loaded)
        other.commit(loaded, rows)

    return publish_first


def test_tx_C41_a_publish_that_loses_five_times_succeeds_at_the_sixth(storage: GraphStorage) -> None:
    compete, losses = _competitor(storage), 5

    def sometimes() -> None:
        if visits(Point.PUBLISH_LOADED) <= losses:
            compete()

    with armed(Point.PUBLISH_LOADED, sometimes, visit=None):
        published = publish(storage.manifest, empty_commit("winner"))
    history = storage.manifest.load().state.history()
    assert [commit.actor_id for commit in history][:6] == ["winner"] + ["competitor"] * 5
    assert published.commit.parent_id == history[1].commit_id


def test_tx_C42_a_publish_that_loses_six_times_gives_up_with_a_typed_conflict(storage: GraphStorage) -> None:
    with armed(Point.PUBLISH_LOADED, _competitor(storage), visit=None), pytest.raises(RowLevelCasContention) as refused:
        publish(storage.manifest, empty_commit("loser"))
    assert "exhausted 5 retries" in str(refused.value)
    assert "loser" not in {commit.actor_id for commit in storage.manifest.load().state.history()}


def test_a_lost_lease_stops_a_publish_before_it_writes(storage: GraphStorage) -> None:
    before = storage.manifest.load().version

    def fence() -> None:
        raise LeaseLost("taken over")

    with pytest.raises(LeaseLost):
        publish(storage.manifest, empty_commit(), fence=fence)
    assert storage.manifest.load().version == before


def test_the_manifest_is_compacted_in_the_window_and_keeps_every_row(tmp_path: Path) -> None:
    Graph.init(str(tmp_path / "g"), SCHEMA, durability="os")
    storage = open_storage(str(tmp_path / "g"), durability="os")
    ids = set()
    for _ in range(COMPACT_ABOVE_FRAGMENTS + 20):
        ids.add(publish(storage.manifest, empty_commit()).commit.commit_id)
        storage.manifest.forget("main")  # who does not know the rows of the last fragment begins another
    loaded = storage.manifest.load()
    assert len(loaded.fragments) < COMPACT_ABOVE_FRAGMENTS
    fresh = open_storage(storage.root.uri).manifest.load()
    assert fresh.state == loaded.state
    assert ids < set(fresh.state.commits)
    versions = [commit.version for commit in fresh.state.history()]
    assert versions == sorted(set(versions), reverse=True)


def test_every_commit_can_be_found_again_by_its_version(tmp_path: Path) -> None:
    graph = Graph.init(str(tmp_path / "g"), SCHEMA, durability="os")
    storage = open_storage(str(tmp_path / "g"), durability="os")
    published = [write_pair(storage) for _ in range(5)]
    for number, entry in enumerate(published, start=1):
        snapshot = graph.snapshot_at(entry.commit.commit_id)
        assert snapshot.commit_id == entry.commit.commit_id
        assert {pin.row_count for pin in snapshot.tables} == {number}
