"""Lanes: the writes of one branch, or the reads of one actor, take some of the threads and never all of them.

What waits for a place in its lane takes no thread, and keeps nobody waiting elsewhere.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from functools import partial
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
    """An object of its own, by which the threads know this piece of work."""
    ended: Ended
    waits: bool = False
    """It did not begin at once: others of its lane were first, or there was no thread free."""


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
        turn, line = Turn(lane, partial(run), ended), self._lines.get(lane) or _Line()
        if line.running < self._in_a_lane:
            turn.waits = not self._threads.run(turn.run, partial(self._end, turn))
            line.running += 1
            self._lines[lane] = line
        else:
            turn.waits = True
            line.waiting.append(turn)
        return turn

    def withdraw(self, turn: Turn) -> bool:
        """Ends the waiting of a turn that has not begun; it never will, and `ended` is not called. False if it has."""
        line = self._lines.get(turn.lane)
        if line is None:
            return False
        if turn in line.waiting:
            line.waiting.remove(turn)
            return True
        if not self._threads.withdraw(turn.run):
            return False
        line.running -= 1
        self._go_on(turn.lane, line)
        return True

    def _end(self, turn: Turn, outcome: Outcome) -> None:
        line = self._lines[turn.lane]
        line.running -= 1
        turn.ended(outcome)
        self._go_on(turn.lane, line)

    def _go_on(self, lane: Hashable, line: _Line) -> None:
        """A place is free: the next one takes it, unless what ended has begun something else here."""
        if line.waiting and line.running < self._in_a_lane:
            self._begin_next(line)
        elif not line.running:
            del self._lines[lane]

    def _begin_next(self, line: _Line) -> None:
        turn = line.waiting.popleft()
        line.running += 1
        try:
            self._threads.run(turn.run, partial(self._end, turn))
        except OmniGraphError as error:  # no thread: it is told, and never runs
            asyncio.get_running_loop().call_soon(self._end, turn, Outcome(error=error))

    def close(self) -> None:
        """What has begun ends; what waits is told that it will not begin."""
        self._threads.close()
        for line in self._lines.values():
            while line.waiting:
                line.waiting.popleft().ended(Outcome(error=asyncio.CancelledError()))
