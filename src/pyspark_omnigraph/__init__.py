"""Discovery: Spark registers the `DefaultSource` of every module named `pyspark_…`, so `format("omnigraph")` works."""

from omnigraph.spark.source import OmniGraphSource as DefaultSource

__all__ = ["DefaultSource"]
