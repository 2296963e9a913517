"""A library on disk, and `omnigraph mcp` as a process that the official client talks to."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from mcp.client.stdio import StdioServerParameters

import omnigraph as og

SCHEMA = """node Author { handle: String @key  born: I32? }
node Book { isbn: String @key  title: String }
edge Wrote: Author -> Book
"""
QUERIES = """query born_after($y: I32, $n: I64?) @description("Authors born after a year.") @instruction("Pass y.") {
  match { $a: Author  $a.born > $y } return { $a.handle } order { $a.handle }
}
query add_author($h: String) { insert Author { handle: $h } }
"""
Command = Callable[..., StdioServerParameters]


@pytest.fixture(scope="session")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with `lib.omni`, which has 2,000 authors, and `library.gq`."""
    folder = tmp_path_factory.mktemp("mcp")
    graph = og.init(folder / "lib.omni", schema=SCHEMA, durability="os")
    lines = [b'{"type":"Author","data":{"handle":"a%04d","born":%d}}' % (n, n) for n in range(2000)]
    graph.load(lines, mode="append")
    (folder / "library.gq").write_text(QUERIES)
    return folder


@pytest.fixture
def command(shelf: Path) -> Command:
    """How the client starts `omnigraph mcp`."""

    def made(*arguments: str) -> StdioServerParameters:
        keep = {name: os.environ[name] for name in ("PATH", "HOME", "PYTHONPATH") if name in os.environ}
        return StdioServerParameters(
            command=sys.executable,
            args=["-m", "omnigraph.cli", "mcp", *arguments],
            env=keep | {"OMNIGRAPH_HOME": str(shelf / "home")},
            cwd=str(shelf),
        )

    return made
