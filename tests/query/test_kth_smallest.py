"""Small building blocks of ranking: the k-th smallest number, and row numbers by row ids."""

from __future__ import annotations

import numpy as np
import pytest

from omnigraph.query.entities.row_numbers import RowNumbers
from omnigraph.query.search.kth_smallest import BLOCK, BLOCKS_MIN, kth_smallest

ENOUGH = BLOCK * BLOCKS_MIN * 10


@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize("size", [10, 1_000, ENOUGH, ENOUGH + 77, 3 * ENOUGH])
@pytest.mark.parametrize("values", ["random", "few-values", "ascending", "descending", "with-nan", "infinite"])
def test_the_kth_smallest_is_that_of_sorting(values: str, size: int, kind: type[np.float32]) -> None:
    rng = np.random.default_rng(size)
    drawn = rng.random(size).astype(kind)
    match values:
        case "few-values":
            drawn = np.floor(drawn * 4)
        case "ascending":
            drawn.sort()
        case "descending":
            drawn = np.sort(drawn)[::-1]
        case "with-nan":
            drawn[rng.random(size) < 0.3] = np.nan
        case "infinite":
            drawn[rng.random(size) < 0.999] = np.inf
    for k in (1, 2, 10):
        np.testing.assert_equal(kth_smallest(drawn, k), np.sort(drawn)[k - 1])


@pytest.mark.parametrize(
    "known",
    [np.arange(5), np.array([7, 3, 5]), np.array([2**63 + 5, 1, 2**40]), np.empty(0, np.int64)],
    ids=["one-after-the-other", "with-gaps", "far-apart", "none"],
)
def test_a_row_has_its_number_and_an_unknown_one_has_none(known: np.ndarray[tuple[int], np.dtype[np.uint64]]) -> None:
    row_ids = known.astype(np.uint64)
    numbers = RowNumbers(row_ids, np.arange(len(row_ids), dtype=np.int32) + 10)
    assert numbers.of(row_ids).tolist() == list(range(10, 10 + len(row_ids)))
    others = np.array([0, 4, 6, 2**40 - 1, 2**64 - 1], np.uint64)
    expected = [-1 if each not in row_ids.tolist() else 10 + row_ids.tolist().index(each) for each in others.tolist()]
    assert numbers.of(others).tolist() == expected
