"""A process that clones a graph: `SOURCE TARGET [history]`. Tests arm failpoints in it and kill it."""

from __future__ import annotations

import sys

from omnigraph.graph import Graph
from support.short_leases import shorten_leases


def main() -> None:
    source, target, *history = sys.argv[1:]
    shorten_leases()
    Graph.open(source, read_only=True).clone(target, history=bool(history))


if __name__ == "__main__":
    main()
