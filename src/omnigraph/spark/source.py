"""The data source `format("omnigraph")`: one type of a graph as a DataFrame, and a DataFrame as one commit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSource, DataSourceReader
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import StructType

from omnigraph.spark.reading import PushingReader, ReadPlan, TableReader, read_plan

if TYPE_CHECKING:
    from pyspark.sql.datasource import DataSourceWriter


class OmniGraphSource(DataSource):
    """Spark makes one instance per `load()`, asks it for its schema and keeps it: so the pin is fixed there."""

    def __init__(self, options: dict[str, str]) -> None:
        super().__init__(options)
        self._plan: ReadPlan | None = None

    @classmethod
    def name(cls) -> str:
        return "omnigraph"

    def schema(self) -> StructType:
        return from_arrow_schema(self.plan().schema())

    def reader(self, schema: StructType) -> DataSourceReader:
        plan = self.plan()
        return PushingReader(plan) if plan.pushes else TableReader(plan)

    def writer(self, schema: StructType, overwrite: bool) -> DataSourceWriter:
        from omnigraph.spark.writing import CommitWriter

        return CommitWriter.of(self.options, schema.fieldNames(), overwrite=overwrite)

    def plan(self) -> ReadPlan:
        if self._plan is None:
            self._plan = read_plan(self.options)
        return self._plan
