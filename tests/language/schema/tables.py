"""Reads the conformance tables in `cases/`: one JSON object per row, one test per row."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

CASES = Path(__file__).parent / "cases"
TABLE_SIZES = {"L": 17, "T": 17, "A": 57, "I": 16, "E": 26, "V": 66, "D": 44, "H": 24, "W": 19}


def rows(table: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (CASES / f"{table}.jsonl").read_text().splitlines()]


def params(table: str) -> list[Any]:
    return [pytest.param(row, id=f"schema-{row['id']}") for row in rows(table)]


def all_ids(table: str) -> set[str]:
    return {f"{table}{number:02}" for number in range(1, TABLE_SIZES[table] + 1)}
