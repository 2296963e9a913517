"""Endless trials: new graphs and queries until you stop it. Run: PYTHONPATH=tests python -m query.differential.soak

A disagreement is printed with everything that is needed to look at it, and the run goes on.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections import Counter
from itertools import count
from pathlib import Path

from query.differential.trials import run_trials


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=1000, help="the first graph")
    parser.add_argument("--graphs", type=int, help="stop after so many graphs")
    parser.add_argument("--queries", type=int, default=200, help="queries per graph")
    given = parser.parse_args()
    seen: Counter[str] = Counter()
    begun, failures = time.monotonic(), 0
    for seed in count(given.seed) if given.graphs is None else range(given.seed, given.seed + given.graphs):
        with tempfile.TemporaryDirectory(prefix="omnigraph-soak-") as folder:
            found = run_trials(seed, given.queries, Path(folder), seen)
        failures += len(found)
        for mismatch in found:
            print(f"\n{mismatch}\n", flush=True)
        if seed % 20 == 0 or found:
            rate = seen["asked"] / (time.monotonic() - begun)
            print(f"graph {seed}: {seen['answered']:,} queries, {rate:.0f} answers/s, {failures} failures", flush=True)
    return 1 if failures else 0


if __name__ == "__main__":
    raise SystemExit(main())
