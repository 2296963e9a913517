"""DataFrames as sources of a load: one that the caller has, a table of the session, or any format that Spark reads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from omnigraph.language import did_you_mean
from omnigraph.language.schema import Catalog
from omnigraph.model.errors import BadRequest
from omnigraph.pipeline.load.spark_sources import DataFrameSource
from omnigraph.write.intake.tabular import FORMATS, BatchReader, InvalidMapping, bind, read_mappings

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

TABLE = "table"
"""The format whose paths are names of tables and views."""


def frame_source(
    frame: DataFrame,
    catalog: Catalog,
    *,
    type_name: str | None = None,
    mapping: Mapping[str, Any] | None = None,
    name: str = "dataframe",
) -> DataFrameSource:
    """The rows of a DataFrame by a mapping, which is checked against its columns before anything runs."""
    only = read_mappings(None if mapping is None else dict(mapping), catalog, type_name=type_name).only
    if only is None:
        raise InvalidMapping("the type of the rows is unknown", "pass `type`, or a mapping")
    bind(only, frame.columns, catalog, name)
    return DataFrameSource(frame, BatchReader(only, catalog, name), name)


def read_frame(spark: SparkSession, spark_format: str, paths: Sequence[str], options: Mapping[str, str]) -> DataFrame:
    """What `spark.read` makes of these paths; with the format `table` they are names."""
    if spark_format == TABLE:
        frames = [spark.read.options(**options).table(name) for name in paths]
        first, *rest = frames
        for each in rest:
            first = first.unionByName(each)
        return first
    reader = spark.read.format(spark_format).options(**options)
    try:
        return reader.load(list(paths)) if paths else reader.load()
    except Exception as error:
        reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise BadRequest(
            f"Spark cannot read the format '{spark_format}': {reason}",
            did_you_mean(spark_format, ("jsonl", *FORMATS)) or "name a format that this Spark session knows",
        ) from error
