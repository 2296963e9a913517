"""Two servers for the rows of the contract: one that stays as it is, and one whose main branch may be written."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from server.served_library import library_server, open_server
from support.servers.http_server import HttpServer


@pytest.fixture(scope="session")
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HttpServer]:
    """Nobody writes its main branch: rows about what is there can rely on it."""
    with library_server(tmp_path_factory.mktemp("library")) as server:
        yield server


@pytest.fixture(scope="session")
def scratch(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HttpServer]:
    """The same example; its main branch is written by tests, which ask for nothing but their own entities."""
    with library_server(tmp_path_factory.mktemp("scratch")) as server:
        yield server


@pytest.fixture(scope="session")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HttpServer]:
    """A server without tokens and policies."""
    with open_server(tmp_path_factory.mktemp("opened")) as server:
        yield server
