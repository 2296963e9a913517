"""Traversal, aggregation and search beside other engines: the same data and questions, in the same run.

Every engine has a process of its own and answers the questions warm; the answers are compared. They take turns twice,
there and back, and of each question the better time counts: the machine's speed changes by the minute. A question that
takes too long or too much memory is reported as that, and the next one is asked. Data and loaded stores are kept in
$OMNIGRAPH_BENCH_DIR (by default in the temporary directory), so a second run starts at once.
Run: python -m bench.traversal [--quick] [--sizes small large] [--peers omnigraph DuckDB] [--charts FOLDER]
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from bench.peers.data import SIZES, bench_data
from bench.peers.harness import MEMORY_MB
from bench.peers.processes import PEERS, Outcome, run_peer
from bench.peers.report import chart, disagreements, markdown


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a graph of 5,000 people")
    parser.add_argument("--sizes", nargs="+", choices=SIZES)
    parser.add_argument("--peers", nargs="+", choices=PEERS, default=list(PEERS))
    parser.add_argument("--limit", type=float, help="seconds that a question may take; by default what suits the size")
    parser.add_argument("--memory-mb", type=int, default=MEMORY_MB, help="what an engine may use")
    parser.add_argument(
        "--rounds", type=int, default=2, help="so often, to and fro; the better one counts, so no slow minute hits one"
    )
    parser.add_argument("--charts", type=Path, help="write a chart per size into this folder")
    given = parser.parse_args()
    failed = False
    for name in given.sizes or (["quick"] if given.quick else ["small", "large"]):
        limit_s = given.limit or SIZES[name].limit_s
        failed |= not compare(name, given.peers, limit_s, given.memory_mb, given.rounds, given.charts)
    return 1 if failed else 0


def compare(size_name: str, peers: list[str], limit_s: float, memory_mb: int, rounds: int, charts: Path | None) -> bool:
    """One graph, all peers: prints the table. False when a peer did not run, we fail, or two of them disagree."""
    size = SIZES[size_name]
    bench_data(size)
    outcomes: dict[str, Outcome] = {}
    for number in range(rounds):
        for name in peers if number % 2 == 0 else reversed(peers):
            if name not in outcomes or not outcomes[name].failure:
                outcomes[name] = run_peer(PEERS[name], size_name, limit_s, memory_mb, outcomes.get(name))
    outcomes = {name: outcomes[name] for name in peers}
    for name, outcome in outcomes.items():
        if outcome.failure:
            print(f"{name}: {outcome.failure}", file=sys.stderr)
    print(f"\n{markdown(size, outcomes, limit_s, memory_mb)}\n", flush=True)
    wrong = disagreements(outcomes)
    for text in wrong:
        print(f"the engines disagree: {text}", file=sys.stderr)
    if charts is not None:
        charts.mkdir(parents=True, exist_ok=True)
        (charts / f"traversal-{size_name}.svg").write_text(chart(size, outcomes), encoding="utf-8")
    ours = outcomes.get("omnigraph", Outcome())
    return (
        not wrong
        and not ours.failed
        and not ours.out_of_memory
        and not any(outcome.failure for outcome in outcomes.values())
    )


if __name__ == "__main__":
    raise SystemExit(main())
