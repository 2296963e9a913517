"""Sessions, and loading a DataFrame with the whole pipeline: the executors that hold its rows check and write them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

from omnigraph.graph import Graph, frame_source, spark_session, stop_spark_session

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from omnigraph.write import LoadResult


def load(
    frame: DataFrame,
    graph: Graph | str,
    *,
    mode: Literal["append", "merge", "overwrite"],
    type: str | None = None,  # noqa: A002 — the word of the mapping and of the command line
    mapping: Mapping[str, Any] | None = None,
    name: str = "dataframe",
    **options: Any,
) -> LoadResult:
    """Loads the rows of a DataFrame as one commit. `options` are those of `Graph.load`: branch, patch, on_error …

    `name` stands where a file stands in messages. Raises what `Graph.load` raises.
    """
    if isinstance(graph, str):
        with Graph.open(graph) as opened:
            return load(frame, opened, mode=mode, type=type, mapping=mapping, name=name, **options)
    source = frame_source(graph, frame, type_name=type, mapping=mapping, name=name)
    return graph.load(source, mode=mode, **options)


def session(master: str | None = None) -> SparkSession:
    """The Spark session of this process, or a new one on the master.

    The master is the argument, `OMNIGRAPH_SPARK`, or all cores of this machine: `local[*]`, `local[2]`,
    `spark://host:7077`, `yarn`, `k8s://…`, or `sc://host` for Spark Connect.

    Raises JavaMissing, SparkMasterUnusable and SparkUnreachable.
    """
    return spark_session(master)


def stop_session() -> None:
    """Stops the session that `session` or a load started. One that you started yourself is left alone."""
    stop_spark_session()
