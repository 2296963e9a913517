"""Ordering: the total order of a result. NULL sorts below everything; ids break ties."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.model.late_dataclass import dataclass

Order = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class SortColumn:
    """One sort key: its values, per row."""

    values: pa.Array
    descending: bool = False


def sorted_places(keys: list[SortColumn], length: int, limit: int | None = None) -> Order:
    """The places of the rows in order; with a limit only the first so many."""
    if not keys or length < 2:
        return np.arange(length)[:limit]
    columns: dict[str, pa.Array] = {}
    order: list[tuple[str, str]] = []
    for i, key in enumerate(keys):
        direction = "descending" if key.descending else "ascending"
        values = key.values
        if pa.types.is_boolean(values.type):
            values = values.cast(pa.int8())
        if values.null_count:
            columns[f"p{i}"] = values.is_valid().cast(pa.int8())
            order.append((f"p{i}", direction))
        columns[f"v{i}"] = values
        order.append((f"v{i}", direction))
    places: Order = pc.sort_indices(pa.table(columns), sort_keys=order).to_numpy().astype(np.int64)
    return places if limit is None else places[:limit]


def candidates(key: SortColumn, limit: int) -> npt.NDArray[np.bool_] | None:
    """Rows that can be among the first `limit` by this key alone, ties included; None when all of them can."""
    values = key.values
    if limit <= 0 or len(values) <= 4 * limit or values.null_count or not pa.types.is_primitive(values.type):
        return None
    if pa.types.is_temporal(values.type):
        values = values.cast(pa.int32() if pa.types.is_date32(values.type) else pa.int64())
    numbers = values.to_numpy(zero_copy_only=False)
    if numbers.dtype == np.bool_ or (numbers.dtype.kind == "f" and bool(np.isnan(numbers).any())):
        return None  # a NaN comes last in both directions, and a comparison with it tells nothing
    if key.descending:
        last = np.partition(numbers, len(numbers) - limit)[len(numbers) - limit]
        kept: npt.NDArray[np.bool_] = numbers >= last
    else:
        last = np.partition(numbers, limit - 1)[limit - 1]
        kept = numbers <= last
    return kept
