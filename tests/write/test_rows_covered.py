"""No row of the transaction tables is skipped silently: each is tested under its id, or listed here with the reason."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

TESTS = Path(__file__).parent.parent
ROWS = {"W": 40, "B": 23, "C": 45, "M": 76, "T": 5, "D": 6, "F": 18, "O": 23}

LATER = {}


def covered_rows() -> set[str]:
    """Row ids in the names and ids of tests: `test_tx_W36_W37_…`, `"tx-C02 one of two …"`."""
    found: set[str] = set()
    for path in TESTS.rglob("test_*.py"):
        if path != Path(__file__):
            for run in re.findall(r"tx[-_]((?:[WBCMTDFO][0-9]{2}[_ ]?)+)", path.read_text(encoding="utf-8")):
                found.update(re.findall(r"[WBCMTDFO][0-9]{2}", run))
    return found


@pytest.mark.parametrize("table", sorted(ROWS))
def test_every_row_is_tested_or_listed_with_its_reason(table: str) -> None:
    rows = {f"{table}{number:02}" for number in range(1, ROWS[table] + 1)}
    covered = {row for row in covered_rows() if row in rows}
    listed = {row for row in LATER if row in rows}
    assert covered | listed == rows
    assert covered & listed == set(), "a row that is tested needs no excuse"
