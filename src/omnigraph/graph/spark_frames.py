"""What Spark users need beside a graph: a session, and a DataFrame as the source of a load with a name of its own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from omnigraph.graph.graph import Graph
    from omnigraph.pipeline.load import Source


def spark_session(master: str | None = None) -> SparkSession:
    """The session of this process, or a new one on the master."""
    from omnigraph.pipeline.spark import session

    return session(master)


def stop_spark_session() -> None:
    """Stops the session that we started."""
    from omnigraph.pipeline.spark import stop_session

    stop_session()


def frame_source(
    graph: Graph, frame: DataFrame, *, type_name: str | None, mapping: Mapping[str, Any] | None, name: str
) -> Source:
    """The rows of a DataFrame as a source for `Graph.load`. Raises InvalidMapping if they do not fit the type."""
    from omnigraph.pipeline.load import frame_source

    return frame_source(frame, graph.schema.catalog, type_name=type_name, mapping=mapping, name=name)
