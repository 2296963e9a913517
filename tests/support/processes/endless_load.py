"""A load on a real Spark session whose driver dies while its tasks are at work. A program of its own."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass

from omnigraph.graph import Graph
from omnigraph.language.schema import Catalog
from omnigraph.model.progress import Progress
from omnigraph.write.intake.records import Record
from omnigraph.write.intake.sources import ItemSource, Unreadable

WAIT_S_MAX = 240.0


@dataclass(frozen=True)
class Numbers:
    """A few records; an endless item then stays at work until its process is ended."""

    number: int
    endless: bool
    counts_own_lines: bool = False
    size: int = 100

    @property
    def file(self) -> str:
        return f"numbers-{self.number}"

    def records(self, catalog: Catalog) -> Iterator[Record | Unreadable]:
        for line in range(1, 11):
            yield Record(line, line, "node", "P", None, None, None, {"k": f"{self.number}-{line}"})
        deadline = time.monotonic() + WAIT_S_MAX
        while self.endless and time.monotonic() < deadline:
            pass  # busy, as a kernel is: nothing here would notice a closed pipe


def die_between_tasks(step: Progress) -> None:
    if step.stage == "decode" and step.tasks:
        os.kill(os.getpid(), signal.SIGKILL)


def main() -> None:
    items = ItemSource(tuple(Numbers(number, endless=number > 0) for number in range(3)))
    graph = Graph.open(sys.argv[1], durability="os")
    graph.load(items, mode="append", engine="spark", spark="local[2]", progress=die_between_tasks)


if __name__ == "__main__":
    main()
