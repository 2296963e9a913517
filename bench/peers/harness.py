"""The harness of a peer: runs its questions one after the other and prints a JSON line for each.

A line at a time, so that the parent sees what was reached when a question takes too long and it ends the process.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import sys
import time
from collections.abc import Callable, Mapping
from typing import Any, Protocol

from bench.peers.data import SIZES, BenchData, bench_data
from bench.peers.workloads import WORKLOADS

Ask = Callable[[int], Any]
"""Asks the question for the n-th time; the answer is a number where one can be compared."""
BUDGET_S, RUNS_MAX, RUNS_MIN = 3.0, 200, 3
SLOW_MS, BEAT_MS = 2_000, 200
MEMORY_MB = 8_192
MEMORY_VARIABLE = "OMNIGRAPH_BENCH_MEMORY_MB"
WARM_UP = 2
"""Questions after the first that do not count: an engine may decide to keep something when it is asked again."""


class Peer(Protocol):
    """An engine: loads its own copy of the data once, opens it, and knows how to ask."""

    def prepare(self, data: BenchData) -> None: ...

    def open(self, data: BenchData) -> Mapping[str, Ask]: ...


def main(peer: Peer) -> None:
    """What every peer module runs as a program."""
    parser = argparse.ArgumentParser()
    parser.add_argument("size", choices=SIZES)
    parser.add_argument("--only", nargs="*", help="these questions, in their order")
    parser.add_argument("--cold", action="store_true", help="open, answer one point lookup, and say when that was")
    given = parser.parse_args()
    data = bench_data(SIZES[given.size])
    if given.cold:
        _say(what="cold", at=_cold(peer, data))
        return
    begun = time.perf_counter()
    peer.prepare(data)
    _say(what="prepared", seconds=time.perf_counter() - begun)
    asks = peer.open(data)
    wanted = given.only if given.only is not None else [workload.name for workload in WORKLOADS]
    for name in wanted:
        if name in asks:
            _say(what="begun", name=name)
            _say(**_told(name, asks[name]))


def _told(name: str, ask: Ask) -> dict[str, Any]:
    """What came of one question; an engine that cannot answer one may well answer the next."""
    try:
        return {"what": "answer", "name": name, **_measured(name, ask, _is_heavy(name))}
    except Exception as error:  # noqa: BLE001  # every engine has errors of its own
        return {"what": "failed", "name": name, "reason": f"{type(error).__name__}: {error}"}


def _cold(peer: Peer, data: BenchData) -> float:
    peer.open(data)["point"](0)
    return time.time()


def _is_heavy(name: str) -> bool:
    return next(workload.heavy for workload in WORKLOADS if workload.name == name)


def _measured(name: str, ask: Ask, heavy: bool) -> dict[str, Any]:
    """The first answer, and the median of the warm ones in milliseconds; a slow question is asked only once more."""
    answer, first = _timed(name, ask, 0)
    slow = heavy or first > SLOW_MS
    for number in range(0 if slow else WARM_UP):
        _timed(name, ask, number + 1)
    times: list[float] = []
    least = 1 if slow else RUNS_MIN
    started = time.perf_counter()
    while len(times) < RUNS_MAX and (len(times) < least or time.perf_counter() - started < BUDGET_S):
        times.append(_timed(name, ask, len(times) + 1)[1])
    found = {"ms": statistics.median(times), "first_ms": first, "runs": len(times), "answer": answer}
    return found | {"peak_mb": peak_mb()}


def _timed(name: str, ask: Ask, number: int) -> tuple[Any, float]:
    """One answer, and its milliseconds. The parent hears of each that took a while: its limit is for one answer."""
    begun = time.perf_counter()
    answer = ask(number)
    spent = (time.perf_counter() - begun) * 1000
    if spent > BEAT_MS:
        _say(what="begun", name=name)
    return answer, spent


def peak_mb() -> float:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (1e6 if sys.platform == "darwin" else 1e3)


def memory_limit_mb() -> int:
    """What a peer may use. An engine that has a setting for it is told; beyond it the parent ends the process."""
    return int(os.environ.get(MEMORY_VARIABLE, MEMORY_MB))


def _say(**facts: Any) -> None:
    print(json.dumps(facts), flush=True)
