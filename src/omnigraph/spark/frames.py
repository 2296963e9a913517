"""Loading a DataFrame with the whole pipeline: decoded, checked and written by the executors that hold its rows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

from omnigraph.graph import Graph
from omnigraph.pipeline.load import frame_source

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

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
    """Loads the rows of a DataFrame as one commit. `options` are those of `Graph.load`: branch, patch, on_error …"""
    if isinstance(graph, str):
        with Graph.open(graph) as opened:
            return load(frame, opened, mode=mode, type=type, mapping=mapping, name=name, **options)
    source = frame_source(frame, graph.schema.catalog, type_name=type, mapping=mapping, name=name)
    return graph.load(source, mode=mode, **options)
