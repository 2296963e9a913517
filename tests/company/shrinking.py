"""A failing plan with as many steps left out as is cheap: each trial runs what is left in a fresh folder."""

from __future__ import annotations

import time
from collections.abc import Callable

from company.plan import Step

Fails = Callable[[list[Step]], bool]


def shrunk(plan: list[Step], fails: Fails, seconds: float) -> list[Step]:
    """Leaves out halves, then smaller pieces, as long as it still fails and there is time."""
    deadline = time.monotonic() + seconds
    size = max(1, len(plan) // 2)
    while True:
        left_out = False
        start = len(plan) - size
        while start > -size and time.monotonic() < deadline:
            shorter = plan[: max(0, start)] + plan[start + size :]
            if len(shorter) < len(plan) and fails(shorter):
                plan, left_out = shorter, True
            start -= size
        if time.monotonic() >= deadline or (size == 1 and not left_out):
            return plan
        size = max(1, size // 2)
