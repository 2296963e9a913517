"""Upkeep: a server that was asked to keeps its graphs in good shape while it serves, and only then."""

from __future__ import annotations

import signal
from pathlib import Path

from omnigraph.graph import Graph
from server.served_library import ADD_AUTHOR, G, open_server
from support.servers.http_server import HttpServer

WRITES_MAX = 2_000


def compactions(graph: Graph) -> int:
    return sum(commit.py["kind"] == "optimize" for commit in graph.commits())


def write(server: HttpServer, number: int) -> None:
    answer = server.send("POST", f"{G}/mutate", json={"query": ADD_AUTHOR, "params": {"h": f"new-{number}"}})
    assert answer.status == 200


def test_small_files_are_put_together_while_clients_write(tmp_path: Path) -> None:
    with open_server(tmp_path, "--upkeep") as server:
        graph = Graph.open(server.extra["cluster"].uri_of("library"), read_only=True)
        written = 0
        while compactions(graph) == 0:
            assert written < WRITES_MAX, server.log_text()[-4000:]
            write(server, written)
            written += 1
        server.logged("upkeep runs")
        server.logged("upkeep worked", "commits=1")
        assert server.stop(signal.SIGTERM) == 0
        assert len(graph.query("query q() { match { $a: Author } return { $a.handle } }").rows()) == 3 + written
        assert graph.verify().ok


def test_without_being_asked_it_leaves_the_files_alone(tmp_path: Path) -> None:
    with open_server(tmp_path) as server:
        for number in range(3):
            write(server, number)
        assert "upkeep runs" not in server.log_text()
