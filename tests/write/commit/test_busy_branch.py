"""A busy branch: many threads on one branch, each with its own commit, and nobody is told to try again."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path

import pytest

from omnigraph.graph import Graph
from omnigraph.storage import open_storage
from omnigraph.write.commit.branch_queue import is_busy, window
from support.graphs.people import INSERT_PERSON, fx, people


@pytest.fixture
def graph(tmp_path: Path) -> Graph:
    return fx(tmp_path / "g")


def test_of_many_threads_every_insert_lands_once_in_one_chain(graph: Graph) -> None:
    before, threads = len(graph.commits()), 48
    start = threading.Barrier(threads)

    def insert(number: int) -> str | None:
        start.wait()
        return graph.mutate(INSERT_PERSON, n=f"p{number}").commit_id

    with ThreadPoolExecutor(threads) as pool:
        commits = set(pool.map(insert, range(threads)))
    history = graph.commits()
    assert commits == {commit.commit_id for commit in history[:threads]}
    assert len(history) == before + threads
    assert all(child.parent_id == parent.commit_id for child, parent in pairwise(history))
    assert {f"p{number}" for number in range(threads)} <= set(people(graph))


def test_work_that_queued_reads_what_those_before_it_wrote(graph: Graph) -> None:
    """An update that waits for the branch is prepared when it has it, so it cannot be overtaken and loses nothing."""
    storage = open_storage(graph.uri, durability="os")
    done: list[int] = []
    update = "query q() { update Person set { age: 77 } where age = 25 }"
    with window(storage, "main"):
        assert is_busy(storage, "main")
        queued = threading.Thread(target=lambda: done.append(graph.mutate(update).affected_nodes))
        queued.start()
        queued.join(timeout=0.2)
        assert not done
    queued.join()
    assert done == [1]
    assert people(graph)["Bob"] == 77
    assert not is_busy(storage, "main")
