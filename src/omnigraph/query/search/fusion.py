"""Rank fusion: several rankings of the same entities become one score each."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TypeVar

import numpy as np
import numpy.typing as npt

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


def rrf_arrays(
    arms: Sequence[npt.NDArray[np.integer]], k: int
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float64]]:
    """The same for numbers: the entities in ascending order, and their scores. No arm may list one twice."""
    keys = np.concatenate([np.empty(0, np.int64), *(np.asarray(arm, np.int64) for arm in arms)])
    weights = np.concatenate([np.empty(0, np.float64), *(1.0 / (k + 1.0 + np.arange(len(arm))) for arm in arms)])
    order = np.argsort(keys, kind="stable")  # equal keys stay in the order of the arms, so they are added in it
    keys, weights = keys[order], weights[order]
    first = np.ones(len(keys), np.bool_)
    first[1:] = keys[1:] != keys[:-1]
    return keys[first], np.bincount(np.cumsum(first) - 1, weights, minlength=int(first.sum())).astype(np.float64)
