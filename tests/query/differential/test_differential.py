"""The engine against the oracle: random queries over random graphs, in every mode, give the same answers."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from query.differential.trials import run_trials
from support.size import sized

GRAPHS, QUERIES = sized(20, 40), 60


@pytest.mark.parametrize("seed", range(GRAPHS))
def test_engine_answers_as_the_oracle_does(seed: int, tmp_path: Path) -> None:
    seen: Counter[str] = Counter()
    found = run_trials(seed, QUERIES, tmp_path, seen)
    assert not found, "\n\n".join(map(str, found))
    assert seen["asked"] >= 2 * 0.6 * QUERIES
