"""Threads: a number of them that run calls of the event loop. The one that was last at work gets the next call.

A pool of the standard library takes a call before it starts a thread for it: where the system has none left, the caller
would be told that the call was refused, and another thread would run it. And of many idle threads it wakes the one that
has slept longest, whose memory is cold.
"""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from queue import SimpleQueue
from typing import Any

from omnigraph.model.errors import Unreachable
from omnigraph.server.http import Overloaded

RETRY_SECONDS = 5


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a call came to: a value, or an error."""

    value: Any = None
    error: BaseException | None = None


Told = Callable[[Outcome], None]
_Inbox = SimpleQueue[tuple[Callable[[], Any], asyncio.AbstractEventLoop, Told] | None]


class Threads:
    """Up to so many threads. For the event loop's thread alone."""

    def __init__(self, count: int, name: str) -> None:
        self._count = count
        self._name = name
        self._all: list[_Inbox] = []
        self._idle: list[_Inbox] = []
        self._ready: deque[tuple[Callable[[], Any], Told]] = deque()
        self._is_closed = False

    def run(self, call: Callable[[], Any], told: Told) -> bool:
        """Runs a call in a thread, as soon as one is free; `told` hears in this thread what it came to. Whether it has
        begun. Raises if it never runs."""
        if self._is_closed:
            raise Unreachable("the server stops")
        if self._idle or len(self._all) < self._count:
            inbox = self._idle.pop() if self._idle else self._started()
            inbox.put((call, asyncio.get_running_loop(), lambda outcome: self._free(inbox, told, outcome)))
            return True
        self._ready.append((call, told))
        return False

    def withdraw(self, call: Callable[[], Any]) -> bool:
        """Ends the waiting of a call that has not begun: it never will, and nobody is told. False if it has."""
        place = next((each for each in self._ready if each[0] is call), None)
        if place is None:
            return False
        self._ready.remove(place)
        return True

    def _started(self) -> _Inbox:
        inbox: _Inbox = SimpleQueue()
        thread = threading.Thread(target=_work, args=(inbox,), name=f"{self._name}-{len(self._all)}")
        try:
            thread.start()
        except RuntimeError as error:
            raise Overloaded("the system has no thread left for the server", RETRY_SECONDS) from error
        self._all.append(inbox)
        return inbox

    def _free(self, inbox: _Inbox, told: Told, outcome: Outcome) -> None:
        self._idle.append(inbox)
        if self._ready and not self._is_closed:
            self.run(*self._ready.popleft())
        told(outcome)

    def close(self) -> None:
        """The threads end after what they are at; what has not begun is told that it will not."""
        self._is_closed = True
        for inbox in self._all:
            inbox.put(None)
        while self._ready:
            self._ready.popleft()[1](Outcome(error=asyncio.CancelledError()))


def _work(inbox: _Inbox) -> None:
    while (given := inbox.get()) is not None:
        call, loop, told = given
        try:
            outcome = Outcome(call())
        except BaseException as error:  # noqa: BLE001 - whatever it is, whoever asked must hear it
            outcome = Outcome(error=error)
        with suppress(RuntimeError):  # the loop is closed: nobody waits
            loop.call_soon_threadsafe(told, outcome)
        del given, call, loop, told, outcome  # nothing of it is kept while the thread waits for the next call
