"""Work: a write that was admitted runs to its end with what it needs, and whoever cannot be told is not forgotten."""

from __future__ import annotations

import asyncio
import itertools
import logging
import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from omnigraph.model.errors import BadRequest, ResourceLimitExceeded
from omnigraph.server.admission import Admission
from omnigraph.server.lanes import WriteLane
from omnigraph.server.operations.spool import Spool
from omnigraph.server.work import WRITES_OF_A_BRANCH, Work

MANY = 1 << 40
LANE = WriteLane("library", "main")


def made(write_threads: int = 2) -> tuple[Work, Admission]:
    admission = Admission(8, MANY)
    return Work(1, write_threads, 1, admission), admission


async def until(check: Callable[[], bool], what: str) -> None:
    for _ in range(2000):
        if check():
            return
        await asyncio.sleep(0.005)
    raise AssertionError(what)


async def refused_later(work: Work, admission: Admission) -> tuple[asyncio.Future[None], threading.Event]:
    """A request whose write runs, and is refused as soon as the event is set."""
    go = threading.Event()

    def refused() -> None:
        go.wait()
        raise BadRequest("row 17 has a value of the caller's")

    asking = work.begin(admission.take("ann", 1), LANE, refused)
    await until(lambda: work.writing == 1, "it runs")
    return asking, go


def test_a_refused_write_is_told_to_its_caller_and_not_to_the_log_of_a_stop(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def run() -> int:
        work, admission = made()
        asking, go = await refused_later(work, admission)
        stopping = asyncio.ensure_future(work.finish(30))
        await asyncio.sleep(0)
        go.set()
        with pytest.raises(BadRequest):
            await asking
        unfinished = await stopping
        work.close()
        return unfinished

    with caplog.at_level(logging.DEBUG):
        assert asyncio.run(run()) == 0
    assert "row 17" not in caplog.text
    assert "never retrieved" not in caplog.text


def test_a_spooled_body_is_there_until_its_write_has_ended_also_when_the_request_is_cancelled() -> None:
    async def run() -> list[int]:
        work, admission = made(write_threads=1)
        go, found, place = threading.Event(), list[int](), list[Path]()
        first = work.begin(admission.take("ann", 1), LANE, go.wait)

        async def load() -> None:
            with Spool(in_memory_max=10) as spool:
                spool.write(b"x" * 1000)
                source = spool.source()
                assert isinstance(source, Path)
                place.append(source)
                write = spool.given_to(lambda: found.append(len(source.read_bytes())))
                running = work.begin(admission.take("ann", 1), LANE, write)
                spool.keep()
            await running

        loading = asyncio.ensure_future(load())
        await until(lambda: work.writing == 2, "it waits for the thread")
        loading.cancel()
        with pytest.raises(asyncio.CancelledError):
            await loading
        go.set()
        assert await work.finish(30) == 0
        await first
        assert not place[0].exists(), "the write closed it"
        work.close()
        return found

    assert asyncio.run(run()) == [1000]


def test_a_spooled_body_is_gone_when_its_write_was_not_admitted() -> None:
    with Spool(in_memory_max=10) as spool:
        spool.write(b"x" * 1000)
        source = spool.source()
        assert isinstance(source, Path)
        spool.given_to(lambda: None)
    assert not source.exists()


def test_a_write_that_fails_after_its_caller_left_is_told_in_the_log_without_its_text(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def run() -> None:
        work, admission = made()
        asking, go = await refused_later(work, admission)
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        go.set()
        await until(lambda: admission.running == 0, "its place is free")
        work.close()

    logging.getLogger("omnigraph.server").propagate = True
    with caplog.at_level(logging.INFO, logger="omnigraph.server"):
        asyncio.run(run())
    assert "bad_request" in caplog.text
    assert "row 17" not in caplog.text


def test_a_write_that_raises_what_a_future_cannot_hold_is_answered() -> None:
    async def run() -> None:
        work, admission = made()

        def odd() -> None:
            raise StopIteration

        with pytest.raises(RuntimeError, match="StopIteration"):
            await asyncio.wait_for(work.begin(admission.take("ann", 1), LANE, odd), 30)
        assert admission.running == 0
        work.close()

    asyncio.run(run())


def test_long_work_of_a_branch_keeps_no_write_of_it_waiting() -> None:
    async def run() -> str:
        admission = Admission(100, MANY)
        work, go = Work(1, WRITES_OF_A_BRANCH, WRITES_OF_A_BRANCH, admission), threading.Event()
        loads = [
            work.begin(admission.take("ann", 1), LANE, go.wait, is_long=True) for _ in range(2 * WRITES_OF_A_BRANCH)
        ]
        answer = await asyncio.wait_for(work.begin(admission.take("ann", 1), LANE, lambda: "written"), 30)
        assert work.writing == len(loads)
        go.set()
        await asyncio.gather(*loads)
        work.close()
        return answer

    assert asyncio.run(run()) == "written"


def test_the_writes_of_a_lane_begin_in_the_order_in_which_they_came_and_few_at_a_time() -> None:
    async def run() -> tuple[list[int], int]:
        admission = Admission(100, MANY)
        work, go = Work(1, 3 * WRITES_OF_A_BRANCH, 1, admission), threading.Semaphore(0)
        begun: list[int] = []

        def write(number: int) -> None:
            begun.append(number)
            go.acquire()

        writes = [work.begin(admission.take("ann", 1), LANE, partial(write, number)) for number in range(20)]
        await until(lambda: len(begun) == WRITES_OF_A_BRANCH, "some have begun")
        other = work.begin(admission.take("ann", 1), WriteLane("library", "drafts"), lambda: "elsewhere")
        assert await asyncio.wait_for(other, 30) == "elsewhere"
        at_once = len(begun)
        for _ in writes:
            go.release()
        await asyncio.gather(*writes)
        work.close()
        return begun, at_once

    begun, at_once = asyncio.run(run())
    assert at_once == WRITES_OF_A_BRANCH
    assert set(begun[:WRITES_OF_A_BRANCH]) == set(range(WRITES_OF_A_BRANCH))
    assert sorted(begun) == list(range(20))


def test_a_server_that_gets_no_threads_does_not_begin(monkeypatch: pytest.MonkeyPatch) -> None:
    """A pool would take a write before it starts a thread for it: refused to its caller, and run all the same."""
    start, count = threading.Thread.start, itertools.count()

    def starting(thread: threading.Thread) -> None:
        if next(count) == 3:
            raise RuntimeError("can't start new thread")
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", starting)
    with pytest.raises(ResourceLimitExceeded, match="threads"):
        Work(1, 8, 1, Admission(1, MANY))
