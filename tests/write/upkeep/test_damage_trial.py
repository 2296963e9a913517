"""Whatever becomes of any index file, on any branch, of graphs of ours and of the Rust releases: the answers stay."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from support.size import IS_FULL
from write.upkeep.damage import DAMAGES, RUST, reference, subject, trial

SAMPLED = 1
"""So many trials of each graph in an ordinary run, others each day."""


@pytest.mark.parametrize("name", ["ours", *RUST])
def test_every_damage_to_an_index_file_changes_no_answer_and_garbled_ones_are_named(tmp_path: Path, name: str) -> None:
    about = subject(name, tmp_path)
    cases = [(file, damage) for file in about.index_files() for damage in DAMAGES]
    if not IS_FULL:
        step = max(1, len(cases) // SAMPLED)
        cases = cases[hash_of(name) % step :: step]
    expected = reference(about, tmp_path / "cache")
    wrong = [trial(about, file, damage, expected, tmp_path / "cache") for file, damage in cases]
    assert [each for each in wrong if each is not None] == []
    assert len(cases) >= SAMPLED


def hash_of(name: str) -> int:
    """Another one for each graph; `OMNIGRAPH_DAMAGE_SEED` moves them all."""
    return sum(name.encode()) + int(os.environ.get("OMNIGRAPH_DAMAGE_SEED", "0"))
