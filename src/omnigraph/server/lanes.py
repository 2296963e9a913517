"""Lanes: the writes of one branch, or the reads of one actor, take some of the threads and never all of them.

What waits for a place in its lane takes no thread, and keeps nobody waiting elsewhere.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Any

from omnigraph.model.errors import OmniGraphError
from omnigraph.server.threads import Outcome, Threads

Ended = Callable[[Outcome], None]


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
        self._threads = Threads(threads, name)
        self._in_a_lane = in_a_lane
        self._lines: dict[Hashable, _Line] = {}

    def begin(self, lane: Hashable, run: Callable[[], Any], ended: Ended) -> Turn:
        """Runs it when its turn in its lane has come; `ended` is called in this thread, once. Raises if it never runs,
        because there is no thread for it."""
        turn, line = Turn(lane, run, ended), self._lines.get(lane) or _Line()
        if line.running < self._in_a_lane:
            self._threads.run(turn.run, lambda outcome: self._end(turn, outcome))
            line.running += 1
            self._lines[lane] = line
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

    def _end(self, turn: Turn, outcome: Outcome) -> None:
        line = self._lines[turn.lane]
        line.running -= 1
        turn.ended(outcome)
        if line.waiting and line.running < self._in_a_lane:  # what ended may have begun something else here
            self._begin_next(line)
        elif not line.running:
            del self._lines[turn.lane]

    def _begin_next(self, line: _Line) -> None:
        turn = _next(line)
        line.running += 1
        try:
            self._threads.run(turn.run, lambda outcome: self._end(turn, outcome))
        except OmniGraphError as error:  # no thread: it is told, and never runs
            asyncio.get_running_loop().call_soon(self._end, turn, Outcome(error=error))

    def close(self) -> None:
        """What has begun ends; what waits is told that it will not begin."""
        self._threads.close()
        for line in self._lines.values():
            while line.waiting:
                _next(line).ended(Outcome(error=asyncio.CancelledError()))


def _next(line: _Line) -> Turn:
    turn = line.waiting.popleft()
    turn.is_waiting = False
    return turn
