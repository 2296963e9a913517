"""No row of the HTTP contract is skipped silently: each is tested under its id, or listed here with the reason."""

from __future__ import annotations

import re
from pathlib import Path

TESTS = Path(__file__).parent.parent
ROWS = 133

REPLACED = {
    63: "a write that another process left is resolved by the next one; 503 only if it cannot be",
    80: "a load has no ceiling of rows",
    83: "exports run beside each other; the branch of one is not deleted meanwhile",
}
"""Rows whose meaning is another one here; they are tested with it."""
LATER: dict[int, str] = {}
"""Rows that are not held yet, and why."""


def covered() -> set[int]:
    """Row ids in the names and ids of tests: `test_http_88_90_…`, `"http-113"`."""
    found: set[int] = set()
    for path in TESTS.rglob("test_*.py"):
        if path != Path(__file__):
            for run in re.findall(r"http[-_]([0-9]+(?:_[0-9]+)*)", path.read_text(encoding="utf-8")):
                found.update(int(number) for number in run.split("_"))
    return found


def test_every_row_is_tested_or_listed_with_its_reason() -> None:
    rows = set(range(1, ROWS + 1))
    assert covered() & rows | LATER.keys() == rows
    assert covered() & LATER.keys() == set(), "a row that is tested needs no excuse"
    assert covered() >= REPLACED.keys()
