"""A real server with the example of the contract, and handles on it."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

import omnigraph as og
from server.served_library import library_server
from support.servers.http_server import HttpServer

As = Callable[..., og.RemoteGraph]


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HttpServer]:
    with library_server(tmp_path_factory.mktemp("client")) as running:
        yield running


@pytest.fixture
def as_actor(server: HttpServer) -> Iterator[As]:
    """A handle for an actor of the example."""
    opened: list[og.RemoteGraph] = []

    def connected(actor: str = "cy", **options: object) -> og.RemoteGraph:
        graph = og.open(f"{server.base}/graphs/library", token=f"t-{actor}", **options)  # type: ignore[call-overload]
        opened.append(graph)
        return graph

    yield connected
    for graph in opened:
        graph.close()


@pytest.fixture
def remote(as_actor: As) -> og.RemoteGraph:
    """Who may do everything."""
    return as_actor("cy")
