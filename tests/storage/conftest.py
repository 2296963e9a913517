"""The graph that most tests of storage begin with: empty, with the schema of the module or with people."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from omnigraph.graph import Graph
from omnigraph.storage import GraphStorage, open_storage
from support.processes.writers import SCHEMA


def _made(uri: str, request: pytest.FixtureRequest) -> GraphStorage:
    Graph.init(uri, getattr(request.module, "SCHEMA", SCHEMA), durability="os")
    return open_storage(uri, durability="os")


@pytest.fixture
def storage(new_root: Callable[[str], str], request: pytest.FixtureRequest) -> GraphStorage:
    """On local disk and on S3: the test runs on both."""
    return _made(new_root("g"), request)


@pytest.fixture
def local(tmp_path: Path, request: pytest.FixtureRequest) -> GraphStorage:
    """On local disk alone."""
    return _made(str(tmp_path / "g"), request)
