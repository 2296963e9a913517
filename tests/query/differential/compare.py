"""Comparison: whether the rows of an engine are an answer, as far as the language promises what the answer is."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

from language.query.oracle import WholeAnswer


def difference(got: list[list[Any]], whole: WholeAnswer) -> str | None:
    """What is wrong with these rows, or None.

    A total order is compared row by row. Without one, `limit` and `offset` may keep any rows: there must be as many as
    promised, all of them real ones, and by the sort keys they must come in the promised order.
    """
    expected = whole.kept
    if whole.order is None:
        return None if _same(got, expected) else "the rows differ, or their order does"
    if len(got) != len(expected):
        return f"{len(got)} rows instead of {len(expected)}"
    if extra := Counter(map(_key, got)) - Counter(map(_key, whole.rows)):
        return f"rows that are not in the answer: {list(extra)[:3]}"
    for column in whole.order:
        if [_key(row[column]) for row in got] != [_key(row[column]) for row in expected]:
            return f"the order by column {column} differs"
    return None


def _same(got: list[list[Any]], expected: list[list[Any]]) -> bool:
    return [_key(row) for row in got] == [_key(row) for row in expected]


def _key(value: Any) -> str:
    """Equal for equal JSON: 1 and 1.0 and true are three different values here."""
    return json.dumps(value, ensure_ascii=False, sort_keys=True)
