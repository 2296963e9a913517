"""Lanes: the writes of one branch, or the reads of one actor, take some of the threads and never all of them.

What waits for a place in its lane takes no thread, and keeps nobody waiting elsewhere.
"""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Callable, Hashable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

from omnigraph.model.errors import ResourceLimitExceeded


@dataclass(frozen=True, slots=True)
class WriteLane:
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
    """Threads that lanes share, each of them up to a number. For the event loop's thread alone."""

    def __init__(self, threads: int, in_a_lane: int, name: str) -> None:
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix=name)
        self._in_a_lane = in_a_lane
        self._lines: dict[Hashable, _Line] = {}
        _start_all(self._threads, threads)

    def begin(self, lane: Hashable, run: Callable[[], Any], ended: Ended) -> None:
        """Runs it when its turn in its lane has come; `ended` is called in this thread. Raises if it will not run."""
        line = self._lines.setdefault(lane, _Line())
        if line.running < self._in_a_lane:
            self._run(lane, line, run, ended)
        else:
            line.waiting.append((run, ended))

    def _run(self, lane: Hashable, line: _Line, run: Callable[[], Any], ended: Ended) -> None:
        loop = asyncio.get_running_loop()
        running = self._threads.submit(run)
        line.running += 1
        running.add_done_callback(lambda _: loop.call_soon_threadsafe(self._end, lane, line, running, ended))

    def _end(self, lane: Hashable, line: _Line, done: Future[Any], ended: Ended) -> None:
        line.running -= 1
        if line.waiting:
            self._run(lane, line, *line.waiting.popleft())
        elif not line.running:
            del self._lines[lane]
        ended(done)

    def close(self) -> None:
        """What has begun ends; what waits in the pool does not begin."""
        self._threads.shutdown(wait=False, cancel_futures=True)


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
