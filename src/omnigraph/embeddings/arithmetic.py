"""Embeddings that are computed here: the mock, for tests, and the offline embedder, for lexical similarity.

Both are functions of the text and the dimension alone: the same on every machine, for all time.
"""

from __future__ import annotations

import hashlib
import itertools
import re
from collections import Counter
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

Vector = npt.NDArray[np.float32]

_OFFSET, _PRIME, _ALL = 14695981039346656037, 1099511628211, 2**64 - 1
_WORD = re.compile(r"\w+")


def mock_values(text: str, dimension: int) -> Vector:
    """FNV-1a of the text seeds a xorshift generator; its numbers lie between -1 and 1. Says nothing about meaning."""
    seed = _OFFSET
    for byte in text.encode("utf-8"):
        seed = ((seed ^ byte) * _PRIME) & _ALL
    values = np.empty(dimension, np.float32)
    for place in range(dimension):
        seed ^= (seed << 13) & _ALL
        seed ^= seed >> 7
        seed ^= (seed << 17) & _ALL
        values[place] = np.float32(seed / 2**64) * np.float32(2) - np.float32(1)
    return values


def offline_values(text: str, dimension: int) -> Vector:
    """Words, pairs of words and pieces of 3 to 5 letters, each hashed to a place and a sign, damped by the root.

    Texts that share words or parts of words are near each other; synonyms are not.
    """
    values = np.zeros(dimension, np.float64)
    for (feature, weight), count in Counter(_features(text)).items():
        digest = int.from_bytes(hashlib.blake2b(feature.encode("utf-8"), digest_size=8).digest(), "little")
        sign = 1.0 if digest >> 63 else -1.0
        values[digest % dimension] += sign * weight * count**0.5
    if not values.any():
        return mock_values(text, dimension)  # nothing to hash, or all of it cancels out
    return values.astype(np.float32)


def _features(text: str) -> Iterator[tuple[str, float]]:
    words = _WORD.findall(text.casefold())
    for word in words:
        yield f"w {word}", 1.0
        framed = f"^{word}$"
        for size in (3, 4, 5):
            for start in range(len(framed) - size + 1):
                yield f"c {framed[start : start + size]}", 0.4
    for pair in itertools.pairwise(words):
        yield f"p {pair[0]} {pair[1]}", 0.5
