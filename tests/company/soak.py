"""Many long histories: new ones each time. Run: PYTHONPATH=tests python -m company.soak [--seed N] [--histories N]

A failure is printed with its seed and the shortest plan that was found for it; `--seed N --histories 1` runs it again.
"""

from __future__ import annotations

import argparse
import random
import time

from company.plan import drawn
from company.trials import explained, tried


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, help="the first history; without it, a new one")
    parser.add_argument("--histories", type=int, default=25, help="stop after so many")
    parser.add_argument("--steps", type=int, default=120, help="steps of each history")
    parser.add_argument("--shrink", type=float, default=120.0, help="seconds to spend on shortening a failing one")
    given = parser.parse_args()
    first = given.seed if given.seed is not None else random.SystemRandom().randrange(1_000_000)
    begun, failures = time.monotonic(), 0
    for number, seed in enumerate(range(first, first + given.histories), 1):
        plan = drawn(seed, given.steps)
        failure = tried(plan)
        failures += failure is not None
        if failure is not None:
            print(f"\nseed {seed} failed: {explained(plan, failure, shrink_s=given.shrink)}\n", flush=True)
        done = number * given.steps
        rate = done / (time.monotonic() - begun)
        print(f"seed {seed}: {done:,} steps in company, {rate:.0f} steps/s, {failures} failures", flush=True)
    return 1 if failures else 0


if __name__ == "__main__":
    raise SystemExit(main())
