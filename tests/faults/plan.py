"""Which faults are tried: every way, and at which calls it makes a difference."""

from __future__ import annotations

import errno
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from faults.bench import Bench
from faults.case import AnyFault, Trial
from support.faults.fault_operations import Operation
from support.faults.fault_proxy import StoreFault, StoreWay
from support.faults.fault_shim import READS, Call, Fault, Way

LOCAL_WAYS: dict[str, Fault] = {
    "error": Fault(Way.ERROR, 0),
    "error-after": Fault(Way.ERROR_AFTER, 0),
    "full": Fault(Way.ERROR, 0, error=errno.ENOSPC),
    "torn": Fault(Way.TORN, 0, error=errno.ENOSPC),
    "gone": Fault(Way.ERROR, 0, lasting=True),
    "stays-full": Fault(Way.TORN, 0, error=errno.ENOSPC, lasting=True),
    "read-only": Fault(Way.ERROR, 0, error=errno.EROFS, lasting=True),
    "stop": Fault(Way.STOP, 0),
    "kill": Fault(Way.KILL, 0),
    "kill-after": Fault(Way.KILL_AFTER, 0),
    "power-cut": Fault(Way.KILL, 0, forgets="all"),
    "power-cut-some": Fault(Way.KILL, 0, forgets="some"),
    "read-error": Fault(Way.ERROR, 0, kinds=READS),
}
MANY_TRIES = 12
"""More than any client makes of one request."""
STORE_WAYS: dict[str, StoreFault] = {
    "refused": StoreFault(StoreWay.REFUSED, 0),
    "busy": StoreFault(StoreWay.BUSY, 0),
    "closed": StoreFault(StoreWay.CLOSED, 0),
    "lost": StoreFault(StoreWay.LOST, 0),
    "denied-after": StoreFault(StoreWay.DENIED_AFTER, 0),
    "cut": StoreFault(StoreWay.CUT, 0),
    "held": StoreFault(StoreWay.HELD, 0),
    "kill": StoreFault(StoreWay.KILL, 0),
    "kill-after": StoreFault(StoreWay.KILL_AFTER, 0),
    "refused-often": StoreFault(StoreWay.REFUSED, 0, MANY_TRIES),
    "busy-often": StoreFault(StoreWay.BUSY, 0, MANY_TRIES),
    "closed-often": StoreFault(StoreWay.CLOSED, 0, MANY_TRIES),
    "lost-often": StoreFault(StoreWay.LOST, 0, MANY_TRIES),
    "denied-after-often": StoreFault(StoreWay.DENIED_AFTER, 0, MANY_TRIES),
    "cut-often": StoreFault(StoreWay.CUT, 0, MANY_TRIES),
}
WRITES = ("write", "pwrite", "pwrite64", "writev")
FAILS_ONE_WAY = ("close",)
"""A close that fails has closed the file: there is only one way for it to fail."""
STORE_READS = ("GET", "HEAD")
"""A read that was done and answered with an error is, to everybody, a read that was refused."""


def places(calls: Sequence[Call], way: AnyFault) -> Iterator[int]:
    """The calls, from 1, at which a way is another one than those that are tried anyway."""
    for number, call in enumerate(calls, 1):
        torn = way.way is Way.TORN and call.name not in WRITES and not getattr(way, "lasting", False)
        if torn or (way.way is Way.ERROR_AFTER and call.name in FAILS_ONE_WAY):
            continue
        if way.way is StoreWay.DENIED_AFTER and call.name in STORE_READS:
            continue
        yield number
    if isinstance(way, Fault) and way.forgets:
        yield len(calls) + 1  # everything was done, and acknowledged


def at(way: AnyFault, nth: int) -> AnyFault:
    return replace(way, nth=nth)


def sample(bench: Bench, operation: Operation, ways: Sequence[AnyFault], count: int, seed: int) -> list[Trial]:
    """Trials at some places, spread over the operation, every way in its turn; those in which something failed."""
    failed = []
    for index in range(count):
        way = ways[(index + seed) % len(ways)]
        numbers = list(places(bench.rehearse(operation, way).calls, way))
        if not numbers:
            continue  # a way that no call of this operation can go
        number = numbers[(index * len(numbers) + seed % len(numbers)) // count % len(numbers)]
        trial = bench.run(operation, at(way, number))
        failed += [trial] if trial.findings else []
    return failed


def each(bench: Bench, operation: Operation, way: AnyFault, wanted: Callable[[Call], bool]) -> list[Trial]:
    """Trials at every call that is wanted; those in which something failed."""
    numbers = [number for number, call in enumerate(bench.rehearse(operation, way).calls, 1) if wanted(call)]
    assert numbers, "the operation makes such calls"
    trials = [bench.run(operation, at(way, number)) for number in numbers]
    return [trial for trial in trials if trial.findings]


def assert_none(failed: Sequence[Trial]) -> None:
    """Says everything about the trials that failed."""
    assert not failed, "\n\n".join(map(str, failed))
