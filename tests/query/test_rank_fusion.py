"""Rank fusion: reciprocals of places, ties by id, and with a limit the same best rows as without one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from omnigraph.query.search.rank_fusion import Arm, Ranked, fused

ROWS = 12


class Named:
    """Entities whose ids order otherwise than their numbers."""

    def ids(self, rows: np.ndarray) -> pa.Array:
        return pa.array([f"{(int(row) * 7) % ROWS:02}" for row in rows])


NAMES: Any = Named()
scores_of = st.dictionaries(st.integers(0, ROWS - 1), st.integers(0, 4), max_size=ROWS)


def arm(scores: dict[int, int], *, descending: bool = False, cut: int | None = None) -> Arm:
    rows = sorted(scores)
    ranked = Ranked(np.array(rows, np.int32), np.array([float(scores[row]) for row in rows]))
    return Arm(ranked, NAMES, descending, cut)


def ordered(scores: dict[int, int], *, descending: bool) -> list[int]:
    sign = -1 if descending else 1
    return sorted(scores, key=lambda row: (sign * scores[row], (row * 7) % ROWS))


def naive(arms: list[list[int]], k: int) -> dict[int, float]:
    found: dict[int, float] = {}
    for each in arms:
        for place, row in enumerate(each):
            found[row] = found.get(row, 0.0) + 1.0 / (k + 1.0 + place)
    return found


def test_places_are_added_as_reciprocals() -> None:
    made = fused([arm({0: 1, 1: 2}), arm({1: 1, 2: 2})], 60, None)
    assert dict(zip(made.rows.tolist(), made.scores.tolist(), strict=True)) == {
        0: 1 / 61,
        1: 1 / 62 + 1 / 61,
        2: 1 / 62,
    }


@given(scores_of, scores_of, st.integers(1, 60))
def test_without_a_limit_every_row_of_an_arm_is_fused(one: dict[int, int], other: dict[int, int], k: int) -> None:
    made = fused([arm(one), arm(other, descending=True)], k, None)
    wanted = naive([ordered(one, descending=False), ordered(other, descending=True)], k)
    assert dict(zip(made.rows.tolist(), made.scores.tolist(), strict=True)) == wanted


@given(scores_of, scores_of, st.integers(0, ROWS))
def test_with_a_limit_the_best_rows_are_those_of_the_whole_fusion(
    near: dict[int, int], text: dict[int, int], limit: int
) -> None:
    """The vector's arm has only its best `limit`; the text's has all of its matches."""
    made = fused([arm(near, cut=limit), arm(text, descending=True)], 60, limit)
    wanted = naive([ordered(near, descending=False)[:limit], ordered(text, descending=True)], 60)

    def best(scores: dict[int, float]) -> list[tuple[int, float]]:
        return sorted(scores.items(), key=lambda pair: (-pair[1], (pair[0] * 7) % ROWS))[:limit]

    assert best(dict(zip(made.rows.tolist(), made.scores.tolist(), strict=True))) == best(wanted)
