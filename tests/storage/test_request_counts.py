"""What reading a graph costs, in requests to a real S3 server: the same for a young graph and for an old one."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import obstore
import pytest

from omnigraph.graph import Graph
from omnigraph.storage import GraphStorage, open_storage
from omnigraph.storage.manifest import CommitIdentity, PublishPlan, publish
from support.processes.writers import SCHEMA
from support.servers.counting_proxy import counting_proxy
from support.servers.s3_server import S3Server, environment_for
from support.size import sized

pytestmark = [pytest.mark.s3, pytest.mark.timeout(600)]
MANY = sized(1100, 2000)
"""More versions than one answer to a listing holds (1,000)."""


def grown(folder: Path, commits: int) -> GraphStorage:
    """A local graph with this many commits, its manifest compacted at the end."""
    Graph.init(str(folder), SCHEMA, durability="os")
    storage = open_storage(str(folder), durability="os")
    for _ in range(commits):
        publish(storage.manifest, PublishPlan(identity=CommitIdentity()))
    storage.manifest.compact(storage.manifest.load())
    return storage


def upload(storage: GraphStorage, server: S3Server, name: str) -> str:
    """Copies what the newest version needs: main has no absolute path in it, so it may move."""
    root = Path(storage.root.uri)
    live = {
        f"__manifest/data/{file.path}"
        for fragment in storage.manifest.load().handle.get_fragments()
        for file in fragment.metadata.files
    }
    store = server.store(name)

    def is_needed(path: str) -> bool:
        if path.startswith("__manifest/"):
            return path in live or (path.startswith("__manifest/_versions/") and path.endswith(".manifest"))
        return not path.startswith("__leases/")

    paths = [str(path.relative_to(root)) for path in root.rglob("*") if path.is_file()]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda path: obstore.put(store, path, (root / path).read_bytes()), filter(is_needed, paths)))
    return server.uri(name)


def test_opening_and_reading_costs_the_same_after_10_and_after_many_commits(
    tmp_path: Path, s3_server: S3Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    costs: dict[int, list[str]] = {}
    with counting_proxy(s3_server.port) as (endpoint, counter):
        for commits in (10, MANY):
            uri = upload(grown(tmp_path / f"g{commits}", commits), s3_server, f"counts/{commits}")
            for name, value in environment_for(endpoint).items():
                monkeypatch.setenv(name, value)
            counter.take()
            graph = Graph.open(uri, read_only=True)
            assert len(graph.snapshot().tables) == 2
            costs[commits] = counter.take()
            assert len(graph.commits()) == commits + 1
            counter.take()
            graph.snapshot()
            assert len(warm := counter.take()) == 1, warm
    assert [request.split()[0] for request in costs[10]] == [request.split()[0] for request in costs[MANY]]
    assert len(costs[MANY]) <= 12, costs[MANY]
