"""Lanes: the writes of one branch, or the reads of one actor, take some of the threads and never all of them.

What waits for a place in its lane takes no thread, and keeps nobody waiting elsewhere.
"""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Callable, Hashable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from omnigraph.model.errors import ResourceLimitExceeded

Ended = Callable[[Future[Any]], None]


@dataclass(frozen=True, slots=True)
class WriteLane:
    """Writes that may have to wait for each other."""

    graph_id: str
    branch: str | None = None
    """None for what concerns the graph as a whole: branches, tags, the schema."""


@dataclass(slots=True, eq=False)
class Turn:
    """One piece of work on its way through a lane."""

    lane: Hashable
    run: Callable[[], Any]
    ended: Ended
    is_waiting: bool = False


@dataclass(slots=True)
class _Line:
    running: int = 0
    waiting: deque[Turn] = field(default_factory=deque)


class Lanes:
    """Threads that lanes share, each of them up to a number. For the event loop's thread alone."""

    def __init__(self, threads: int, in_a_lane: int, name: str) -> None:
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix=name)
        self._in_a_lane = in_a_lane
        self._lines: dict[Hashable, _Line] = {}
        _start_all(self._threads, threads)

    def begin(self, lane: Hashable, run: Callable[[], Any], ended: Ended) -> Turn:
        """Runs it when its turn in its lane has come; `ended` is called in this thread, once. Raises RuntimeError if
        the threads are gone."""
        turn, line = Turn(lane, run, ended), self._lines.setdefault(lane, _Line())
        if line.running < self._in_a_lane:
            self._run(turn, line)
        else:
            turn.is_waiting = True
            line.waiting.append(turn)
        return turn

    def withdraw(self, turn: Turn) -> bool:
        """Ends the waiting of a turn that has not begun; it never will, and `ended` is not called. False if it has."""
        if not turn.is_waiting:
            return False
        turn.is_waiting = False
        self._lines[turn.lane].waiting.remove(turn)
        return True

    def _run(self, turn: Turn, line: _Line) -> None:
        loop = asyncio.get_running_loop()
        running = self._threads.submit(turn.run)
        line.running += 1

        def tell(done: Future[Any]) -> None:  # must not refer to `running`: a result would stay until a collection
            with suppress(RuntimeError):  # the loop is closed: nobody waits
                loop.call_soon_threadsafe(self._end, turn, line, done)

        running.add_done_callback(tell)

    def _end(self, turn: Turn, line: _Line, done: Future[Any]) -> None:
        turn.ended(done)
        line.running -= 1
        if line.waiting:
            self._run(_next(line), line)
        elif not line.running:
            del self._lines[turn.lane]

    def close(self) -> None:
        """What has begun ends; whoever waits is told that it will not begin."""
        self._threads.shutdown(wait=False, cancel_futures=True)
        for line in self._lines.values():
            while line.waiting:
                _next(line).ended(_cancelled())


def _next(line: _Line) -> Turn:
    turn = line.waiting.popleft()
    turn.is_waiting = False
    return turn


def _cancelled() -> Future[Any]:
    future: Future[Any] = Future()
    future.cancel()
    return future


def _start_all(threads: ThreadPoolExecutor, count: int) -> None:
    """A pool takes a task before it starts a thread for it: where the system has none left, the caller would be told
    that the task was refused, and another thread would run it. So all threads are there before the first task."""
    together = threading.Barrier(count + 1)
    begun: list[Future[int]] = []
    try:
        while len(begun) < count:
            begun.append(threads.submit(together.wait))
        together.wait()
    except RuntimeError as error:
        together.abort()
        raise ResourceLimitExceeded("threads of a server", len(begun), count) from error
    except BaseException:  # an interrupt: threads that wait for each other would keep the process
        together.abort()
        raise
