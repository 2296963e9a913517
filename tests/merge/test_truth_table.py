"""The truth table, row by row, and its form for many entities at once."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from omnigraph.merge.truth_table import Decision, decide, decide_all

ROWS = [
    (None, "x", None, Decision.TAKE),
    (None, None, "y", Decision.KEEP),
    (None, "x", "x", Decision.KEEP),
    (None, "x", "y", Decision.DIVERGENT_INSERT),
    ("b", "b", "b", Decision.KEEP),
    ("b", "b", "t", Decision.KEEP),
    ("b", "b", None, Decision.KEEP),
    ("b", "s", "b", Decision.TAKE),
    ("b", "s", "s", Decision.KEEP),
    ("b", "s", "t", Decision.DIVERGENT_UPDATE),
    ("b", "s", None, Decision.DELETE_VS_UPDATE),
    ("b", None, "b", Decision.REMOVE),
    ("b", None, "t", Decision.DELETE_VS_UPDATE),
    ("b", None, None, Decision.KEEP),
]
"""Base, source, target, and what becomes of the target; None where a side does not have the entity."""


def facts(base: str | None, source: str | None, target: str | None) -> dict[str, bool]:
    return {
        "base": base is not None,
        "source": source is not None,
        "target": target is not None,
        "source_is_base": source == base,
        "target_is_base": target == base,
        "source_is_target": source == target,
    }


@pytest.mark.parametrize(("base", "source", "target", "expected"), ROWS)
def test_an_entity_becomes_what_the_table_says(
    base: str | None, source: str | None, target: str | None, expected: Decision
) -> None:
    assert decide(**facts(base, source, target)) is expected


def test_the_table_has_every_case() -> None:
    images = [None, "b", "s", "t"]
    seen = {tuple(facts(*row[:3]).values()) for row in ROWS}
    possible = {tuple(facts(*row).values()) for row in product([None, "b"], images, images)}
    assert possible - seen == {tuple(facts(None, None, None).values())}


def test_deciding_many_gives_what_deciding_each_gives() -> None:
    every = [facts(*row[:3]) for row in ROWS]
    columns = (np.array([each[name] for each in every], np.bool_) for name in every[0])
    assert [Decision(code) for code in decide_all(*columns).tolist()] == [row[3] for row in ROWS]


def test_swapping_the_sides_finds_the_same_conflicts() -> None:
    for base, source, target, decision in ROWS:
        assert decide(**facts(base, target, source)).is_conflict == decision.is_conflict
