"""Every fault at every place of every operation. Run: PYTHONPATH=tests python -m faults.soak

Prints how many places each operation has, what was found at which of them, and a summary. It takes hours; `--every`,
`--operations` and `--ways` make it shorter, and `--first` goes on where a run of one way was stopped: how far it is
stands on stderr.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path

from faults.bench import Bench
from faults.case import AnyFault, Trial
from faults.local_disk import LocalBench
from faults.object_store import StoreBench
from faults.plan import LOCAL_WAYS, STORE_WAYS, at, places
from support.faults.fault_operations import OPERATIONS, Operation
from support.faults.fault_proxy import fault_proxy
from support.servers.s3_server import seaweedfs

ON_SPARK = "load_spark"
SPARK_EVERY = 25
"""A load on Spark takes seconds: few of its places are tried."""


def main() -> int:
    given = _arguments()
    names = given.operations.split(",") if given.operations else list(OPERATIONS)
    failures: list[Trial] = []
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="omnigraph-faults-", dir=given.folder)))
        bench, ways = _bench(given.storage, folder, stack)
        chosen = {name: ways[name] for name in (given.ways.split(",") if given.ways else ways)}
        for name in names:
            every = max(given.every, given.spark_every) if name == ON_SPARK else given.every
            failures += _try_all(bench, OPERATIONS[name], chosen, every, given.first)
    _summarise(failures)
    return 1 if failures else 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--storage", choices=["local", "s3"], default="local")
    parser.add_argument("--operations", help="some of them, joined by commas")
    parser.add_argument("--ways", help="some of them, joined by commas")
    parser.add_argument("--every", type=int, default=1, help="only every so manieth place")
    parser.add_argument("--first", type=int, default=1, help="the first place to try")
    parser.add_argument("--spark-every", type=int, default=SPARK_EVERY, help="the same for the load on Spark")
    parser.add_argument("--folder", help="where the graphs are made")
    return parser.parse_args()


def _bench(storage: str, folder: Path, stack: ExitStack) -> tuple[Bench, Mapping[str, AnyFault]]:
    if storage == "local":
        return stack.enter_context(LocalBench(folder)), LOCAL_WAYS
    server = stack.enter_context(seaweedfs())
    proxy = stack.enter_context(fault_proxy(server.port))
    return stack.enter_context(StoreBench(folder, server, proxy, "soak")), STORE_WAYS


def _try_all(
    bench: Bench, operation: Operation, ways: Mapping[str, AnyFault], every: int, first: int
) -> Iterator[Trial]:
    for name, way in ways.items():
        calls = bench.rehearse(operation, way).calls
        begun, outcomes, failed = time.monotonic(), Counter[str](), 0
        numbers = list(places(calls, way))
        chosen = sorted({*numbers[::every], *numbers[-1:]})  # the last may be the one after the acknowledgement
        for number in (each for each in chosen if each >= first):
            print(f"\r{operation.name} {name}: {number} of {len(calls)}", end="", file=sys.stderr, flush=True)
            trial = bench.run(operation, at(way, number))
            outcomes[_kind(trial.outcome)] += 1
            if trial.findings:
                failed += 1
                print(f"{trial}\n", flush=True)
                yield trial
        tried = sum(outcomes.values())
        told = ", ".join(f"{count} {outcome}" for outcome, count in outcomes.most_common())
        took = time.monotonic() - begun
        print(
            f"{operation.name} {name}: {tried} of {len(calls)} places, {failed} failed, {took:.0f} s: {told}",
            flush=True,
        )


def _kind(outcome: str) -> str:
    """The error's name; of one inside the engine its words, too: there may be a better name for it."""
    name = outcome.partition(":")[0].partition(",")[0]
    return f"{name} ({outcome.rpartition(': ')[2][:100]})" if name == "Internal" else name


def _summarise(failures: list[Trial]) -> None:
    grouped: dict[tuple[str, str, str, str], list[int]] = defaultdict(list)
    for trial in failures:
        grouped[trial.operation, trial.fault.title, trial.place, trial.first_finding].append(trial.fault.nth)
    print(f"\n{len(failures)} failed cases at {len(grouped)} places")
    for (operation, fault, place, finding), numbers in grouped.items():
        print(f"{operation} | {fault} | {place} | n={','.join(map(str, numbers))} | {finding}")


if __name__ == "__main__":
    raise SystemExit(main())
