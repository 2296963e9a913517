"""Ordering: with a limit the first rows are those of the whole order, NaN and the two zeros included."""

from __future__ import annotations

import math

import numpy as np
import pyarrow as pa
from hypothesis import example, given
from hypothesis import strategies as st

from omnigraph.query.answer.ordering import SortColumn, candidates, sorted_places

NUMBERS = st.sampled_from([0.0, -0.0, 1.0, -1.0, 2.5, math.inf, -math.inf, math.nan])


@given(values=st.lists(NUMBERS, min_size=5, max_size=30), limit=st.integers(1, 4), descending=st.booleans())
@example(values=[math.nan, 1.0, 2.0, 3.0, 4.0], limit=1, descending=True)
@example(values=[math.nan] * 9, limit=2, descending=False)
def test_what_a_limit_looks_at_has_the_first_rows_of_the_whole_order(
    values: list[float], limit: int, descending: bool
) -> None:
    column = SortColumn(pa.array(values, pa.float64()), descending)
    place = SortColumn(pa.array(np.arange(len(values))))
    whole = sorted_places([column, place], len(values), limit).tolist()
    kept = candidates(column, limit)
    assert kept is None or bool(kept[whole].all())
