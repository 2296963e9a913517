"""Work: a write that was admitted runs to its end with what it needs, and whoever cannot be told is not forgotten."""

from __future__ import annotations

import asyncio
import gc
import logging
import threading
import weakref
from collections.abc import Callable
from functools import partial
from pathlib import Path
from unittest.mock import Mock

import pytest

from omnigraph.model.errors import BadRequest, LeaseTimeout
from omnigraph.server import work as work_module
from omnigraph.server.admission import Admission, Slot
from omnigraph.server.http import ClientGone, Overloaded
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


class Panic(BaseException):
    """As an engine in another language raises it: no Exception."""


@pytest.mark.parametrize("raised", [Panic, SystemExit])
@pytest.mark.parametrize("kind", ["read", "write"])
def test_what_is_no_exception_is_a_failure_of_one_call_and_does_not_end_the_server(
    kind: str, raised: type[BaseException]
) -> None:
    async def run() -> None:
        work, admission = made()

        def ends() -> None:
            raise raised

        slot = admission.take("ann", 1)
        asked = work.begin(slot, LANE, ends) if kind == "write" else work.read(Asking(), "ann", ends, lambda: None)  # type: ignore[arg-type]
        with pytest.raises(RuntimeError, match=raised.__name__) as told:
            await asyncio.wait_for(asked, 30)
        assert isinstance(told.value.__cause__, raised)
        assert work.writing == 0
        work.close()

    asyncio.run(run())


def many(admission: Admission, count: int) -> list[Slot]:
    return [admission.take("ann", 1) for _ in range(count)]


@pytest.mark.parametrize("is_long", [False, True], ids=["mutations", "loads"])
def test_the_writes_of_a_branch_begin_in_the_order_in_which_they_came_and_few_at_a_time(is_long: bool) -> None:
    async def run() -> None:
        admission = Admission(100, MANY)
        work, begun = Work(1, 3 * WRITES_OF_A_BRANCH, 3 * WRITES_OF_A_BRANCH, admission), list[int]()
        may_end = [threading.Event() for _ in range(20)]

        def write(number: int) -> None:
            begun.append(number)
            may_end[number].wait()

        writes = [
            work.begin(slot, LANE, partial(write, number), is_long=is_long)
            for number, slot in enumerate(many(admission, 20))
        ]
        other = work.begin(
            admission.take("bo", 1), WriteLane("library", "drafts"), lambda: "elsewhere", is_long=is_long
        )
        assert await asyncio.wait_for(other, 30) == "elsewhere"
        await until(lambda: len(begun) == WRITES_OF_A_BRANCH, "some have begun")
        for number, event in enumerate(may_end):
            expected = min(20, WRITES_OF_A_BRANCH + number)
            await until(lambda expected=expected: len(begun) == expected, "the next one has begun")  # type: ignore[misc]
            assert set(begun) == set(range(expected))
            event.set()
        await asyncio.gather(*writes)
        assert (work.writing, admission.running, work._brief._lines, work._long._lines) == (0, 0, {}, {})
        work.close()

    asyncio.run(run())


def test_long_work_of_a_branch_keeps_no_write_of_it_waiting() -> None:
    async def run() -> str:
        admission = Admission(100, MANY)
        work, go = Work(1, WRITES_OF_A_BRANCH, WRITES_OF_A_BRANCH, admission), threading.Event()
        slots = many(admission, 2 * WRITES_OF_A_BRANCH)
        loads = [work.begin(slot, LANE, go.wait, is_long=True) for slot in slots]
        answer = await asyncio.wait_for(work.begin(admission.take("ann", 1), LANE, lambda: "written"), 30)
        assert work.writing == len(loads)
        go.set()
        await asyncio.gather(*loads)
        work.close()
        return answer

    assert asyncio.run(run()) == "written"


def test_a_write_whose_turn_does_not_come_is_refused_and_never_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(work_module, "TURN_SECONDS", 0.05)

    async def run() -> None:
        admission, ran = Admission(100, MANY), list[str]()
        work, go = Work(1, WRITES_OF_A_BRANCH, 1, admission), threading.Event()
        first = [work.begin(slot, LANE, go.wait) for slot in many(admission, WRITES_OF_A_BRANCH)]
        late = work.begin(admission.take("ann", 1), LANE, lambda: ran.append("late"))
        with pytest.raises(LeaseTimeout, match="branch 'main'"):
            await asyncio.wait_for(late, 30)
        assert admission.running == len(first)
        go.set()
        await asyncio.gather(*first)
        assert await work.finish(30) == 0
        assert ran == []
        work.close()

    asyncio.run(run())


def test_a_write_whose_lane_is_free_waits_no_longer_for_a_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """So many branches stand still that they have all threads."""
    monkeypatch.setattr(work_module, "TURN_SECONDS", 0.05)

    async def run() -> None:
        admission, ran = Admission(100, MANY), list[str]()
        work, go = Work(1, 2, 1, admission), threading.Event()
        still = [work.begin(slot, LANE, go.wait) for slot in many(admission, 2)]
        late = work.begin(admission.take("ann", 1), WriteLane("library", "drafts"), lambda: ran.append("late"))
        with pytest.raises(LeaseTimeout, match="branch 'drafts'"):
            await asyncio.wait_for(late, 30)
        assert (work.writing, admission.running) == (2, 2)
        go.set()
        await asyncio.gather(*still)
        assert (await work.finish(30), ran, work._brief._lines) == (0, [], {})
        work.close()

    asyncio.run(run())


def test_what_still_waits_when_the_threads_go_is_told_and_what_runs_is_answered() -> None:
    async def run() -> None:
        admission, go, begun = Admission(100, MANY), threading.Event(), list[int]()
        work = Work(1, WRITES_OF_A_BRANCH, 1, admission)

        def write() -> bool:
            begun.append(1)
            return go.wait()

        running = [work.begin(slot, LANE, write) for slot in many(admission, WRITES_OF_A_BRANCH)]
        waiting = work.begin(admission.take("ann", 1), LANE, lambda: None)
        await until(lambda: len(begun) == WRITES_OF_A_BRANCH, "they run")
        work.close()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        go.set()
        assert await asyncio.wait_for(asyncio.gather(*running), 30) == [True] * WRITES_OF_A_BRANCH
        assert admission.running == 0

    asyncio.run(run())


def test_a_stop_waits_for_writes_that_begin_while_it_waits() -> None:
    """The second one begins after the first has ended, and before whoever stops has looked."""
    second = threading.Event()

    class Refilling(Admission):
        refills = 1

        def free(self, slot: Slot) -> None:
            super().free(slot)
            if self.refills:
                self.refills -= 1
                work.begin(self.take("ann", 1), LANE, second.wait)

    admission = Refilling(100, MANY)
    work = Work(1, 2, 1, admission)

    async def run() -> None:
        stopping = asyncio.ensure_future(work.finish(30))
        await work.begin(admission.take("ann", 1), LANE, lambda: None)
        await asyncio.sleep(0.01)
        assert (work.writing, stopping.done()) == (1, False)
        second.set()
        assert await stopping == 0
        work.close()

    asyncio.run(run())


class Asking:
    """A request that was read, whose client leaves when it is told to."""

    is_read, is_detached = True, False

    def __init__(self) -> None:
        self.leaves = asyncio.Event()

    async def gone(self) -> None:
        await self.leaves.wait()


def test_a_read_whose_client_leaves_while_it_waits_never_runs() -> None:
    async def run() -> None:
        work, go, ran = Work(4, 1, 1, Admission(1, MANY)), threading.Event(), list[str]()
        busy = [asyncio.ensure_future(work.read(Asking(), "ann", go.wait, go.clear)) for _ in range(3)]  # type: ignore[arg-type]
        await asyncio.sleep(0)
        request = Asking()
        late = asyncio.ensure_future(work.read(request, "ann", lambda: ran.append("late"), lambda: None))  # type: ignore[arg-type]
        await asyncio.sleep(0)
        assert await asyncio.wait_for(work.read(Asking(), "bo", lambda: "other", lambda: None), 30) == "other"  # type: ignore[arg-type]
        request.leaves.set()
        with pytest.raises(ClientGone):
            await asyncio.wait_for(late, 30)
        go.set()
        await asyncio.gather(*busy)
        assert ran == []
        work.close()

    asyncio.run(run())


def test_a_read_whose_client_leaves_while_it_waits_for_a_thread_never_runs() -> None:
    async def run() -> None:
        work, go, ran = Work(2, 1, 1, Admission(1, MANY), is_open=True), threading.Event(), list[str]()
        busy = [asyncio.ensure_future(work.read(Asking(), "ann", go.wait, go.clear)) for _ in range(2)]  # type: ignore[arg-type]
        await asyncio.sleep(0)
        request = Asking()
        late = asyncio.ensure_future(work.read(request, "bo", lambda: ran.append("late"), lambda: None))  # type: ignore[arg-type]
        await asyncio.sleep(0)
        request.leaves.set()
        with pytest.raises(ClientGone):
            await asyncio.wait_for(late, 30)
        go.set()
        await asyncio.gather(*busy)
        assert (ran, work._reads._lines) == ([], {})
        work.close()

    asyncio.run(run())


class Rows:
    """A result."""


def test_the_result_of_a_read_is_gone_with_its_request_without_a_collection() -> None:
    async def run() -> None:
        work, alive = Work(1, 1, 1, Admission(1, MANY)), weakref.WeakSet[Rows]()

        def read() -> Rows:
            rows = Rows()
            alive.add(rows)
            return rows

        for _ in range(5):
            await work.read(Asking(), "ann", read, lambda: None)  # type: ignore[arg-type]
        await until(lambda: not alive, "nobody holds them")
        work.close()

    gc.disable()
    try:
        asyncio.run(run())
    finally:
        gc.enable()


def test_a_write_that_gets_no_thread_is_refused_and_never_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """A pool of the standard library would take it before it starts a thread: refused to its caller, and run."""

    async def run() -> None:
        admission, go, ran = Admission(100, MANY), threading.Event(), list[str]()
        work = Work(1, 8, 1, admission)
        first = work.begin(admission.take("ann", 1), LANE, go.wait)
        with monkeypatch.context() as patched:
            patched.setattr(threading.Thread, "start", Mock(side_effect=RuntimeError("can't start new thread")))
            with pytest.raises(Overloaded, match="thread"):
                work.begin(admission.take("ann", 1), LANE, lambda: ran.append("refused"))
        assert (work.writing, admission.running) == (1, 1)
        go.set()
        await first
        await work.begin(admission.take("ann", 1), LANE, lambda: ran.append("next"))
        assert ran == ["next"]
        work.close()

    asyncio.run(run())


def test_more_lanes_than_threads_all_get_their_turn() -> None:
    async def run() -> list[int]:
        admission = Admission(1000, MANY)
        work = Work(1, 3, 1, admission)
        lanes = [WriteLane("library", f"branch-{number % 20}") for number in range(200)]
        writes = [work.begin(admission.take("ann", 1), lane, partial(int, number)) for number, lane in enumerate(lanes)]
        found = await asyncio.wait_for(asyncio.gather(*writes), 30)
        work.close()
        return list(found)

    assert asyncio.run(run()) == list(range(200))
