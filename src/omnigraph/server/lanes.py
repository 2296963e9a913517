"""Lanes: the writes of one branch take few threads. Those that wait take none, and keep nobody waiting elsewhere."""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

from omnigraph.model.errors import ResourceLimitExceeded

LANE_THREADS = 4
"""Threads that the writes of one lane take: one commits, the others prepare meanwhile. More make it no faster."""


@dataclass(frozen=True, slots=True)
class Lane:
    """Writes that may have to wait for each other."""

    graph_id: str
    branch: str | None = None
    """None for what concerns the graph as a whole: branches, tags, the schema."""


Ended = Callable[[Future[Any]], None]


@dataclass(slots=True)
class _Line:
    running: int = 0
    waiting: deque[tuple[Callable[[], Any], Ended]] = field(default_factory=deque)


class Lanes:
    """A number of threads, shared by lanes. For the event loop's thread alone."""

    def __init__(self, threads: int, name: str) -> None:
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix=name)
        self._lines: dict[Lane, _Line] = {}
        _start_all(self._threads, threads)

    def begin(self, lane: Lane, run: Callable[[], Any], ended: Ended) -> None:
        """Runs it when its turn in its lane has come; `ended` is called in this thread. Raises if it will not run."""
        line = self._lines.setdefault(lane, _Line())
        if line.running < LANE_THREADS:
            self._run(lane, line, run, ended)
        else:
            line.waiting.append((run, ended))

    def _run(self, lane: Lane, line: _Line, run: Callable[[], Any], ended: Ended) -> None:
        loop = asyncio.get_running_loop()
        running = self._threads.submit(run)
        line.running += 1
        running.add_done_callback(lambda _: loop.call_soon_threadsafe(self._end, lane, line, running, ended))

    def _end(self, lane: Lane, line: _Line, done: Future[Any], ended: Ended) -> None:
        line.running -= 1
        if line.waiting:
            self._run(lane, line, *line.waiting.popleft())
        elif not line.running:
            del self._lines[lane]
        ended(done)

    def close(self) -> None:
        self._threads.shutdown(wait=False)


def _start_all(threads: ThreadPoolExecutor, count: int) -> None:
    """A pool takes a task before it starts a thread for it: where the system has none left, the caller would be told
    that the task was refused, and another thread would run it. So all threads are there before the first task."""
    together = threading.Barrier(count + 1)
    for number in range(count):
        try:
            threads.submit(together.wait)
        except RuntimeError as error:
            together.abort()
            raise ResourceLimitExceeded("threads of a server", number, count) from error
    together.wait()
