"""Streams: what one holds is given back however it ends, and whoever reads it is told that it broke off."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from unittest.mock import Mock

import pytest

from omnigraph.server.admission import Admission
from omnigraph.server.http import BrokenStream
from omnigraph.server.streams import RESERVED_BYTES, Transport, stream_lines
from omnigraph.server.work import Work


class Reading:
    """A request whose client stays."""

    async def gone(self) -> None:
        await asyncio.Event().wait()


class Panic(BaseException):
    """As an engine in another language raises it: no Exception."""


def panicking() -> Iterator[bytes]:
    yield b"line"
    raise Panic


async def read_all(lines: Iterator[bytes], transport: Transport) -> None:
    await transport.reserve()
    work = Work(1, 1, 1, Admission(1, 1))
    async for _ in stream_lines(Reading(), lines, work, transport, 30):  # type: ignore[arg-type]
        pass


def test_a_stream_that_gets_no_thread_breaks_off_and_gives_its_room_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threading.Thread, "start", Mock(side_effect=RuntimeError("can't start new thread")))

    async def run() -> None:
        transport = Transport(RESERVED_BYTES)
        for _ in range(3):
            with pytest.raises(BrokenStream):
                await read_all(iter([b"line"]), transport)

    asyncio.run(run())


def test_a_stream_whose_engine_raises_what_is_no_exception_breaks_off_too() -> None:
    async def run() -> None:
        with pytest.raises(BrokenStream) as broken:
            await asyncio.wait_for(read_all(panicking(), Transport()), 30)
        assert isinstance(broken.value.__cause__, Panic)

    asyncio.run(run())
