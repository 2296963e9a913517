"""A bulk load as a program of its own, so that a test can kill it at any place. The kernels run in this process."""

from __future__ import annotations

import sys

import pytest

from omnigraph.graph import Graph
from omnigraph.write.intake.line_files import line_source
from support.loads.inline_run import STAND_IN, run_inline


def main() -> None:
    uri, file, mode, branch = sys.argv[1:]
    run_inline(pytest.MonkeyPatch())
    graph = Graph.open(uri, durability="os")
    graph.load(line_source(file, split_bytes=500), mode=mode, branch=branch, engine="spark", spark=STAND_IN)


if __name__ == "__main__":
    main()
