"""Rank fusion: several rankings of the same entities become one score each."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TypeVar

Key = TypeVar("Key", bound=Hashable)


def rrf(arms: Sequence[Sequence[Key]], k: int) -> dict[Key, float]:
    """Reciprocal rank fusion: an entity at place r of an arm, counted from 0, gets 1 / (k + r + 1) from it.

    Each arm lists its entities best first, ties in the order of their ids; an entity counts once per arm, at its first
    place. The arms are added in their order, so equal places give equal scores to the last bit.
    """
    scores: dict[Key, float] = {}
    for arm in arms:
        for rank, key in enumerate(dict.fromkeys(arm)):
            scores[key] = scores.get(key, 0.0) + 1.0 / (k + rank + 1)
    return scores
