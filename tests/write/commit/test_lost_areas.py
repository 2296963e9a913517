"""Work whose staging area was lost is not committed: a cleaner may have taken its files.

On S3 the lease of the area runs out while its holder is held up, the next process that opens the graph to write removes
the area, and then the holder goes on.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from omnigraph.graph import Graph
from omnigraph.model.errors import LeaseLost
from omnigraph.storage.bulk.area import staging_folders
from omnigraph.storage.failpoints import Point, armed
from omnigraph.storage.layout import STAGING
from support.loads.inline_run import STAND_IN, run_inline
from support.servers.s3_server import S3Server

pytestmark = [pytest.mark.s3, pytest.mark.timeout(120)]
ADD = "query add($n: String) { insert Person { name: $n } }"
NAMES = "query names() { match { $p: Person } return { $p.name as name } order { name asc } }"
BEFORE = [f"n{number:02}" for number in range(12)]


@pytest.fixture
def graph(s3: S3Server, tmp_path: Path, short_leases: None, monkeypatch: pytest.MonkeyPatch) -> Graph:
    # Whoever opens the graph does not wait for a living writer: else it would be for longer than a test may take.
    monkeypatch.setattr("omnigraph.write.recovery.recover.LEASE_WAIT_S", 3600)
    graph = Graph.init(s3.uri(f"{tmp_path.name}/g.omni"), "node Person { name: String @key  age: I32? }")
    for name in BEFORE:
        graph.mutate(ADD, n=name)
    return graph


def losing(graph: Graph) -> tuple[Callable[[], None], list[str]]:
    """What happens while the holder is held up, and the areas that were taken."""
    taken: list[str] = []

    def lose() -> None:
        objects = graph._storage.objects
        for folder in staging_folders(graph._storage):
            path = f"{STAGING}/{folder}/alive"
            stored = objects.read(path)
            assert stored is not None
            objects.write(path, json.dumps({**json.loads(stored.data), "owner": None, "expires_at": 0.0}).encode())
            taken.append(folder)
        Graph.open(graph.uri)
        assert staging_folders(graph._storage) == []

    return lose, taken


def require_whole(uri: str) -> None:
    graph = Graph.open(uri)
    assert [row["name"] for row in graph.query(NAMES)] == BEFORE
    graph.mutate(ADD, n="next")
    graph.optimize()
    assert graph.verify().ok
    assert [row["name"] for row in Graph.open(uri).query(NAMES)] == [*BEFORE, "next"]


def test_a_load_that_lost_its_staging_area_fails_and_commits_nothing(
    graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_inline(monkeypatch)
    lose, taken = losing(graph)
    lines = [b'{"type": "Person", "data": {"name": "lost%d"}}\n' % number for number in range(5)]
    with armed(Point.MUTATION_ARMED, lose), pytest.raises(LeaseLost):
        graph.load(lines, mode="append", engine="spark", spark=STAND_IN)
    assert taken
    require_whole(graph.uri)


@pytest.mark.parametrize("point", [Point.COMPACTION_WRITTEN, Point.MUTATION_ARMED])
def test_an_optimize_that_lost_its_staging_area_reports_it_and_compacts_nothing(graph: Graph, point: Point) -> None:
    lose, taken = losing(graph)
    with armed(point, lose):
        report = graph.optimize()
    assert taken
    assert report.compacted == ()
    assert report.conflict is not None
    assert "lease" in report.conflict
    require_whole(graph.uri)
