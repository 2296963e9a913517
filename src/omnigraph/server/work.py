"""Work: where the engine runs. Reads end with their request; a write that was admitted runs to its end, in its lane."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeVar

from omnigraph.model.errors import OmniGraphError
from omnigraph.server.admission import Admission, Slot
from omnigraph.server.http import ClientGone, Request
from omnigraph.server.lanes import Lane, Lanes
from omnigraph.server.observe import event, failure

Answer = TypeVar("Answer")

PATIENCE_SECONDS = 0.05
"""A read that takes longer is watched: it ends when its client has gone."""


class Work:
    """The threads of one process, and the writes that are under way."""

    def __init__(self, read_threads: int, write_threads: int, load_threads: int, admission: Admission) -> None:
        self.admission = admission
        self._readers = ThreadPoolExecutor(read_threads, thread_name_prefix="read")
        self._brief = Lanes(write_threads, "write")
        self._long = Lanes(load_threads, "load")
        self.writing = 0
        self._are_all_done = asyncio.Event()

    async def read(self, request: Request, run: Callable[[], Answer], cancel: Callable[[], None]) -> Answer:
        """Runs a read. `cancel` is called, and ClientGone raised, when the client goes away while it runs."""
        running = asyncio.wrap_future(self._readers.submit(run))
        done, _ = await asyncio.wait({running}, timeout=PATIENCE_SECONDS)
        if done or not request.is_read or request.is_detached:
            return await running
        leaving = asyncio.ensure_future(request.gone())
        either: set[asyncio.Future[Any]] = {running, leaving}
        try:
            await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
            if running.done():
                return running.result()
            cancel()
            with contextlib.suppress(Exception):
                await running
            raise ClientGone
        finally:
            leaving.cancel()

    def begin(
        self, slot: Slot, lane: Lane, run: Callable[[], Answer], *, is_long: bool = False
    ) -> asyncio.Future[Answer]:
        """Starts a write that was admitted; its answer. Whatever becomes of the request, it runs to its end and holds
        its slot. Raises if it will not run. Long work has threads and lanes of its own: it may take minutes before it
        needs its branch."""
        answer: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        lanes = self._long if is_long else self._brief
        try:
            lanes.begin(lane, run, lambda done: self._end(done, slot, answer))
        except RuntimeError:  # the threads are gone: the process ends
            self.admission.free(slot)
            raise
        self.writing += 1
        return answer  # the request may be cancelled, and the answer with it; the write is not

    def _end(self, writing: Future[Answer], slot: Slot, answer: asyncio.Future[Answer]) -> None:
        self.writing -= 1
        if not self.writing:
            self._are_all_done.set()
        self.admission.free(slot)
        error = writing.exception()
        if answer.done():
            _tell_nobody(error)
        elif error is None:
            answer.set_result(writing.result())
        elif isinstance(error, StopIteration):  # the one error that a future does not take
            answer.set_exception(RuntimeError(f"a write raised {error!r}"))
        else:
            answer.set_exception(error)

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
        self._are_all_done.clear()
        if self.writing:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._are_all_done.wait(), seconds)
        return self.writing

    def close(self) -> None:
        self._readers.shutdown(wait=False, cancel_futures=True)
        self._brief.close()
        self._long.close()


def _tell_nobody(error: BaseException | None) -> None:
    """A write whose caller has left: the log says that it failed. A refusal's text may have values of rows in it."""
    if isinstance(error, OmniGraphError):
        event("a write was refused after its caller had left", level=logging.WARNING, code=error.code)
    elif error is not None:
        failure("a write failed after its caller had left", error)
