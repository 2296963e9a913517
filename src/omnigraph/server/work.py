"""Work: where the engine runs. Reads end with their request; a write that was admitted runs to its end."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, TypeVar

from omnigraph.model.errors import LeaseTimeout, OmniGraphError
from omnigraph.server.admission import Admission, Slot
from omnigraph.server.http import ClientGone, Request
from omnigraph.server.lanes import Lanes, Turn, WriteLane
from omnigraph.server.observe import event, failure
from omnigraph.server.threads import Outcome

Answer = TypeVar("Answer")

PATIENCE_SECONDS = 0.05
"""A read that takes longer is watched: it ends when its client has gone."""
WRITES_OF_A_BRANCH = 4
"""Threads that writes of one branch take: one commits, the others prepare meanwhile. More make it no faster."""
TURN_SECONDS = 60.0
"""How long a mutation waits for its turn: no longer than it would then wait for the branch itself."""


def reads_of_an_actor(threads: int, *, is_open: bool) -> int:
    """How many of the threads one actor may take: the rest is for everybody else, if there is anybody else."""
    return threads if is_open else max(1, threads * 3 // 4)


class Work:
    """The threads of one process, and the writes that are under way."""

    def __init__(
        self, read_threads: int, write_threads: int, load_threads: int, admission: Admission, *, is_open: bool = False
    ) -> None:
        self.admission = admission
        self._reads = Lanes(read_threads, reads_of_an_actor(read_threads, is_open=is_open), "read")
        self._brief = Lanes(write_threads, WRITES_OF_A_BRANCH, "write")
        self._long = Lanes(load_threads, WRITES_OF_A_BRANCH, "load")
        self.writing = 0
        self._one_is_done = asyncio.Event()

    async def read(
        self, request: Request, actor: str | None, run: Callable[[], Answer], cancel: Callable[[], None]
    ) -> Answer:
        """Runs a read. When the client goes away before it ends, `cancel` is called and ClientGone raised; a read that
        has not begun by then never does."""
        running: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        running.add_done_callback(_was_looked_at)
        turn = self._reads.begin(actor, run, lambda outcome: _settle(running, outcome))
        leaving: asyncio.Future[None] | None = None
        try:
            done, _ = await asyncio.wait({running}, timeout=PATIENCE_SECONDS)
            if done or not request.is_read or request.is_detached:
                return await running
            leaving = asyncio.ensure_future(request.gone())
            either: set[asyncio.Future[Any]] = {running, leaving}
            await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
            if running.done():
                return running.result()
            cancel()
            if not self._reads.withdraw(turn):
                with contextlib.suppress(Exception):
                    await running
            raise ClientGone
        except asyncio.CancelledError:  # a stop that waits no longer
            cancel()
            self._reads.withdraw(turn)
            raise
        finally:
            if leaving is not None:
                leaving.cancel()

    def begin(
        self, slot: Slot, lane: WriteLane, run: Callable[[], Answer], *, is_long: bool = False
    ) -> asyncio.Future[Answer]:
        """Starts a write that was admitted; its answer. Whatever becomes of the request, it runs to its end and holds
        its slot. Raises if it will not run. Long work has threads and lanes of its own: it may take minutes before it
        needs its branch."""
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[Answer] = loop.create_future()
        lanes = self._long if is_long else self._brief
        try:
            turn = lanes.begin(lane, run, lambda outcome: self._end(outcome, slot, answer))
        except OmniGraphError:  # there is no thread for it
            self.admission.free(slot)
            raise
        self.writing += 1
        if not is_long and turn.waits:
            timer = loop.call_later(TURN_SECONDS, self._give_up, turn, lane)
            answer.add_done_callback(lambda _: timer.cancel())
        return answer  # the request may be cancelled, and the answer with it; the write is not

    def _give_up(self, turn: Turn, lane: WriteLane) -> None:
        """Its turn did not come: it has not begun, and trying again is safe."""
        if self._brief.withdraw(turn):
            named = "the branches of the graph" if lane.branch is None else f"branch '{lane.branch}'"
            late = LeaseTimeout(f"timed out waiting for {named}: other writes of this server are first")
            turn.ended(Outcome(error=late))

    def _end(self, outcome: Outcome, slot: Slot, answer: asyncio.Future[Answer]) -> None:
        self.writing -= 1
        self._one_is_done.set()
        self.admission.free(slot)
        if answer.done():
            _tell_nobody(outcome.error)
        else:
            _settle(answer, outcome)

    def produce(self, run: Callable[[], None]) -> Future[None]:
        """A thread of its own for a stream: a slow client holds it, and nobody else waits for it."""
        done: Future[None] = Future()

        def running() -> None:
            try:
                run()
            finally:
                done.set_result(None)

        threading.Thread(target=running, name="stream", daemon=True).start()
        return done

    async def finish(self, seconds: float) -> int:
        """Waits for the writes that were admitted, and returns how many are not done in time."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while self.writing:
                    self._one_is_done.clear()
                    await self._one_is_done.wait()
        return self.writing

    def close(self) -> None:
        self._reads.close()
        self._brief.close()
        self._long.close()


def _settle(answer: asyncio.Future[Answer], outcome: Outcome) -> None:
    """What the thread came to is the answer, if somebody still waits for it."""
    error = outcome.error
    if answer.done():
        return
    if error is None:
        answer.set_result(outcome.value)
    elif isinstance(error, asyncio.CancelledError):  # the process ends
        answer.cancel()
    elif isinstance(error, Exception) and not isinstance(error, StopIteration):
        answer.set_exception(error)
    else:
        answer.set_exception(_as_failure(error))


def _as_failure(error: BaseException) -> RuntimeError:
    """What a future does not take, and what would end the event loop and the whole server, as a failure of one call."""
    failed = RuntimeError(f"the engine raised {error!r}")
    failed.__cause__ = error
    return failed


def _was_looked_at(answer: asyncio.Future[Any]) -> None:
    """Nobody has to be told of a read that failed after its caller had left."""
    if not answer.cancelled():
        answer.exception()


def _tell_nobody(error: BaseException | None) -> None:
    """A write whose caller has left: the log says that it failed. A refusal's text may have values of rows in it."""
    if isinstance(error, OmniGraphError):
        event("a write was refused after its caller had left", level=logging.WARNING, code=error.code)
    elif error is not None and not isinstance(error, asyncio.CancelledError):
        failure("a write failed after its caller had left", error)
