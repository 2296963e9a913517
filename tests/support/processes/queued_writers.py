"""Two writers: the second queues, its files written, while the first publishes. A program, so a test can kill it."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from typing import TypeVar

from omnigraph.graph import Graph
from omnigraph.storage.failpoints import Point, armed
from omnigraph.write.results import MutationResult

INSERT = "query add($n: String) { insert Person { name: $n } }"
WAIT_S = 60.0
Result = TypeVar("Result")


def two_writers(
    first: Callable[[], Result], second: Callable[[], Result], then: Callable[[], None], news: Point
) -> tuple[Future[Result], Future[Result]]:
    """Runs two writes at once. The first waits with its publish until the second came to `news`, and does `then`."""
    is_first, is_near = threading.Event(), threading.Event()

    def before_publish() -> None:
        is_first.set()
        assert is_near.wait(WAIT_S), f"the second writer did not come to {news}"
        then()

    with ExitStack() as stack:
        stack.enter_context(armed(Point.MUTATION_BEFORE_PUBLISH, before_publish))
        pool = stack.enter_context(ThreadPoolExecutor(2))
        one = pool.submit(first)
        assert is_first.wait(WAIT_S), "the first writer did not come to its publish"
        stack.enter_context(armed(news, is_near.set))
        two = pool.submit(second)
        two.exception(WAIT_S)
        one.exception(WAIT_S)
        return one, two


def two_inserts(
    graph: Graph, then: Callable[[], None] = lambda: None
) -> tuple[Future[MutationResult], Future[MutationResult]]:
    """People called `first` and `second`; the files of the second are written before the first is published."""
    return two_writers(
        lambda: graph.mutate(INSERT, n="first"),
        lambda: graph.mutate(INSERT, n="second"),
        then,
        Point.TABLE_STAGED,
    )


if __name__ == "__main__":
    two_inserts(Graph.open(sys.argv[1], durability="os"), then=lambda: os.kill(os.getpid(), signal.SIGKILL))
