"""Sources of the pipeline: items that executors read, or a Spark DataFrame that they already hold.

`ItemSource` and `SourceItem` are the contract of every engine (see `omnigraph.write.intake.sources`): a tuple of
picklable items, each yielding `Record`s and `Unreadable`s. A task gets one item.

`DataFrameSource` is for rows that only Spark has: tables of a catalog, the result of a join, any `spark.read.format`.
Its `to_records` is a picklable function (one of an importable module, or a frozen dataclass with `__call__`) that turns
an Arrow batch into records: `to_records(batch, first_line) -> Iterator[Record | Unreadable]`. Rows of a partition are
counted from 1, so the first row of a batch has `line == first_line`; use the line as the `offset` too. The partition is
named after the DataFrame, `name[3]`, and stands where a file stands in messages and generated ids. A partition that is
computed again must give the same rows in the same order, as Spark itself asks for.

Give either to `Graph.load(source, mode=…)`. A DataFrame always runs on its own session.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, TypeAlias

import pyarrow as pa

from omnigraph.model.late_dataclass import dataclass
from omnigraph.write.intake import ItemSource, Record, SourceItem, Unreadable

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
else:
    DataFrame = Any

__all__ = ["DataFrameSource", "ItemSource", "LoadSource", "SourceItem", "ToRecords", "Unreadable"]

ToRecords: TypeAlias = Callable[[pa.RecordBatch, int], Iterator[Record | Unreadable]]


@dataclass(frozen=True, slots=True)
class DataFrameSource:
    """A DataFrame, and how its rows become records."""

    frame: DataFrame
    to_records: ToRecords
    name: str = "dataframe"


LoadSource: TypeAlias = ItemSource | DataFrameSource
