"""Selection: the k-th smallest of many numbers, when k is small. Most are told to be too large by one comparison."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Numbers = npt.NDArray[np.floating]

BLOCK = 256
BLOCKS_MIN = 8
"""Per number that is asked for; with fewer blocks their minima tell too little."""


def kth_smallest(values: Numbers, k: int) -> float:
    """The k-th smallest, counted from 1; there are at least so many. NaN counts as the largest."""
    blocks = len(values) // BLOCK
    if blocks < BLOCKS_MIN * k:
        return _partitioned(values, k)
    minima = values[: blocks * BLOCK].reshape(blocks, BLOCK).min(axis=1)
    bound = _partitioned(minima, k)
    if bool(np.isnan(minima).any()):
        return _partitioned(values, k)
    smaller = values[values < bound]
    if len(smaller) < k:  # one number per block, so at least k, are not greater than the bound
        return bound
    return _partitioned(smaller, k)


def _partitioned(values: Numbers, k: int) -> float:
    return float(np.partition(values, k - 1)[k - 1])
