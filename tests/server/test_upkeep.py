"""Upkeep: a server that was asked to keeps its graphs in good shape while it serves, and only then."""

from __future__ import annotations

import signal
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from omnigraph.graph import Graph
from omnigraph.server.boot.upkeep import ServedUpkeep
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


def test_an_address_that_comes_again_with_another_handle_has_upkeep_of_that_one(tmp_path: Path) -> None:
    first = Graph.init(str(tmp_path / "g"), "node Person { name: String @key }", durability="os")
    second = Graph.open(first.uri)
    served = ServedUpkeep()

    def serve(*graphs: Graph) -> None:
        generation: Any = SimpleNamespace(graphs={graph.uri: SimpleNamespace(bare=graph) for graph in graphs})
        served.follow(generation)

    def running(graph: Graph) -> bool:
        return graph._upkeep is not None and graph._upkeep.is_running

    serve(first)
    assert (running(first), running(second)) == (True, False)
    serve(second)
    assert (running(first), running(second)) == (False, True)
    serve()
    assert (running(first), running(second)) == (False, False)
