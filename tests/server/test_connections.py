"""Answers leave in one packet, and a write outlives the request that asked for it."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path

import pytest

from omnigraph.server.admission import Admission
from omnigraph.server.boot.connections import JoiningTransport
from omnigraph.server.http import Reply, send_reply
from omnigraph.server.http.replies import Message
from omnigraph.server.lanes import WriteLane
from omnigraph.server.work import Work
from server.served_library import G, open_server

LANE = WriteLane("library", "main")


class Wire:
    """A transport that keeps each packet."""

    def __init__(self) -> None:
        self.packets: list[bytes] = []

    def write(self, data: bytes) -> None:
        self.packets.append(data)

    def writelines(self, parts: tuple[bytes, ...]) -> None:
        self.packets.append(b"".join(parts))

    def is_closing(self) -> bool:
        return False


def sent(reply: Reply, *, without_body: bool = False) -> list[bytes]:
    """The packets of a reply, each message of it being written as uvicorn writes it."""
    wire = Wire()
    transport = JoiningTransport(wire)

    async def send(message: Message) -> None:
        data: bytes = b"head " if message["type"] == "http.response.start" else message["body"]
        if data:
            transport.write(data)

    asyncio.run(send_reply(send, reply, without_body=without_body, hold=transport.hold))
    assert not transport.is_closing()
    transport.write(b"next")
    return wire.packets


def test_head_and_body_of_an_answer_are_one_packet_and_the_next_is_another() -> None:
    assert sent(Reply(200, b"body")) == [b"head body", b"next"]


def test_an_answer_without_a_body_is_not_held_back() -> None:
    assert sent(Reply(204, b"")) == [b"head ", b"next"]
    assert sent(Reply(200, b"body"), without_body=True) == [b"head ", b"next"]


def test_a_head_request_is_answered_on_a_connection_that_is_used_again(tmp_path: Path) -> None:
    with open_server(tmp_path) as server:
        for method, body in (("HEAD", b""), ("GET", b"Author"), ("HEAD", b"")):
            answer = server.send(method, f"{G}/schema")
            assert answer.status == 200
            assert body in answer.body


def test_a_write_whose_request_is_cancelled_runs_to_its_end_and_gives_its_slot_back() -> None:
    admission, may_end, ended = Admission(1, 100), threading.Event(), []
    work = Work(1, 1, 1, admission)

    def write() -> None:
        may_end.wait()
        ended.append(True)

    async def main() -> int:
        request = work.begin(admission.take("ann", 1), LANE, write)
        await asyncio.sleep(0)
        request.cancel()
        with pytest.raises(asyncio.CancelledError):
            await request
        assert (work.writing, admission.running) == (1, 1)
        may_end.set()
        unfinished = await work.finish(30)
        while admission.running:
            await asyncio.sleep(0)
        return unfinished

    assert asyncio.run(main()) == 0
    assert ended == [True]
    work.close()


def test_a_stop_that_does_not_wait_long_enough_tells_how_many_writes_it_leaves() -> None:
    admission, may_end = Admission(2, 100), threading.Event()
    work = Work(1, 2, 1, admission)

    async def main() -> int:
        requests = [work.begin(admission.take("ann", 1), LANE, may_end.wait) for _ in range(2)]
        await asyncio.sleep(0)
        unfinished = await work.finish(0.01)
        may_end.set()
        await asyncio.gather(*requests)
        return unfinished

    assert asyncio.run(main()) == 2
    work.close()
