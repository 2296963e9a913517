"""Streams: lines that a thread makes and a client takes, two chunks between them, and a budget for the process.

A slow client makes its producer wait; one that leaves an answer unread for too long, or goes away, ends it. What a
stream holds is given back once its producer has ended.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncGenerator, Iterator
from concurrent.futures import Future
from contextlib import suppress

from omnigraph.model.errors import ResourceLimitExceeded
from omnigraph.server.http import BrokenStream, ClientGone, Request
from omnigraph.server.work import Work

CHUNK_BYTES = 65_536
QUEUE_CHUNKS = 2
RESERVED_BYTES = 262_144
BUDGET_BYTES = 2_097_152
WAIT_SECONDS = 0.25


class Transport:
    """What all streams of a process may hold together."""

    def __init__(self, budget: int = BUDGET_BYTES) -> None:
        self._budget = budget
        self._streams = asyncio.Semaphore(budget // RESERVED_BYTES)

    async def reserve(self) -> None:
        """Room for one stream. Waits a moment, then raises ResourceLimitExceeded."""
        try:
            await asyncio.wait_for(self._streams.acquire(), WAIT_SECONDS)
        except TimeoutError:
            limit = self._budget
            raise ResourceLimitExceeded("stream_export_transport_bytes", limit, limit + RESERVED_BYTES) from None

    def release(self) -> None:
        self._streams.release()


class Ended(Exception):
    """Nobody takes the lines any more."""


class Pipe:
    """Chunks from a thread to the event loop, at most two waiting."""

    def __init__(self, loop: asyncio.AbstractEventLoop, idle_seconds: float) -> None:
        self._loop = loop
        self._idle_seconds = idle_seconds
        self._room = threading.Semaphore(QUEUE_CHUNKS)
        self._queue: asyncio.Queue[bytes | BaseException | None] = asyncio.Queue()
        self._ended = threading.Event()

    def put(self, item: bytes | BaseException | None) -> None:
        """Called by the producer: waits for room. Raises Ended when the client is gone or takes nothing."""
        if not self._room.acquire(timeout=self._idle_seconds) or self._ended.is_set():
            raise Ended
        self._loop.call_soon_threadsafe(self._queue.put_nowait, item)

    async def get(self) -> bytes | BaseException | None:
        item = await self._queue.get()
        self._room.release()
        return item

    def tell(self, item: BaseException) -> None:
        """Called on the event loop: wakes a consumer that waits for a chunk that will not come."""
        self._queue.put_nowait(item)

    def end(self) -> None:
        """Called by the consumer: the producer stops at its next chunk."""
        self._ended.set()
        self._room.release()


async def stream_lines(
    request: Request, lines: Iterator[bytes], work: Work, transport: Transport, idle_seconds: float
) -> AsyncGenerator[bytes, None]:
    """The lines in chunks. The reservation of the transport is given back when the producer has ended."""
    pipe = Pipe(asyncio.get_running_loop(), idle_seconds)
    try:
        producer = work.produce(lambda: _produce(lines, pipe))
    except RuntimeError as error:  # the system has no thread left
        transport.release()
        raise BrokenStream from error
    watcher = asyncio.ensure_future(_end_when_gone(request, pipe))
    try:
        while (item := await pipe.get()) is not None:
            if isinstance(item, ClientGone):
                raise item
            if isinstance(item, BaseException):
                raise BrokenStream from item
            yield item
    finally:
        pipe.end()
        watcher.cancel()
        _release_after(producer, transport, asyncio.get_running_loop())


def _release_after(producer: Future[None], transport: Transport, loop: asyncio.AbstractEventLoop) -> None:
    def released(_: Future[None]) -> None:
        with suppress(RuntimeError):  # the loop has ended, and the budget with it
            loop.call_soon_threadsafe(transport.release)

    producer.add_done_callback(released)


async def _end_when_gone(request: Request, pipe: Pipe) -> None:
    await request.gone()
    pipe.end()
    pipe.tell(ClientGone())


def _produce(lines: Iterator[bytes], pipe: Pipe) -> None:
    try:
        for chunk in chunked(lines):
            pipe.put(chunk)
        pipe.put(None)
    except Ended:
        pass
    except BaseException as error:  # noqa: BLE001 - told to the consumer, which logs it and breaks the body off
        with suppress(Ended):
            pipe.put(error)
    finally:
        close = getattr(lines, "close", None)
        if close is not None:
            close()


def chunked(lines: Iterator[bytes]) -> Iterator[bytes]:
    """Lines together in chunks of at most 64 KiB; a long line spans several."""
    waiting = bytearray()
    for line in lines:
        waiting += line
        while len(waiting) >= CHUNK_BYTES:
            yield bytes(waiting[:CHUNK_BYTES])
            del waiting[:CHUNK_BYTES]
    if waiting:
        yield bytes(waiting)
