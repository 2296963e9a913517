"""Registration, and every type of a graph as a temporary view for Spark SQL: all of them of one commit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnigraph.graph import Graph
from omnigraph.spark.read_commit import pinned_snapshot
from omnigraph.spark.source import OmniGraphSource

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def register(spark: SparkSession) -> None:
    """Makes `format("omnigraph")` known to a session that does not find it by itself (a notebook, Spark Connect)."""
    spark.dataSource.register(OmniGraphSource)


def create_views(
    spark: SparkSession,
    uri: str,
    *,
    branch: str | None = None,
    commit: str | None = None,
    timestamp: str | None = None,
    prefix: str = "",
) -> dict[str, str]:
    """One view per type, named after it; returns view → type key. An edge type named like a node type is `<name>_edge`.

    The views show the commit that they were made at. Make them again to see newer ones.
    """
    with Graph.open(uri, read_only=True) as graph:
        snapshot = pinned_snapshot(graph, branch=branch, commit=commit, timestamp=timestamp)
        address = graph.uri
    views: dict[str, str] = {}
    taken: set[str] = set()
    for pin in sorted(snapshot.tables, key=lambda each: (each.table_key.kind != "node", each.table_key.type_name)):
        key = pin.table_key
        name = f"{prefix}{key.type_name}"
        if name.lower() in taken:
            name = f"{name}_{key.kind}"
        taken.add(name.lower())
        reader = spark.read.format("omnigraph").option("uri", address).option("commit", snapshot.commit_id or "")
        reader.option("type", key.type_name).option("kind", key.kind).load().createOrReplaceTempView(f"`{name}`")
        views[name] = str(key)
    return views
