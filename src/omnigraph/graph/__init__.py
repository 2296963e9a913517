"""The graph: `Graph` is the public Python API, and every face goes through it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnigraph.model.late_names import late_names

if TYPE_CHECKING:
    from omnigraph.graph.arguments import json_params as json_params
    from omnigraph.graph.arguments import moment_text as moment_text
    from omnigraph.graph.data_source_write import DataSourceWrite as DataSourceWrite
    from omnigraph.graph.data_source_write import WriteOptions as WriteOptions
    from omnigraph.graph.graph import Graph as Graph
    from omnigraph.graph.graph import verify as verify
    from omnigraph.graph.nearest_branch import with_nearest_branch as with_nearest_branch
    from omnigraph.graph.partitioned_read import PartitionedRead as PartitionedRead
    from omnigraph.graph.partitioned_read import plan_read as plan_read
    from omnigraph.graph.pinned import PinnedGraph as PinnedGraph
    from omnigraph.graph.predicates import All as All
    from omnigraph.graph.predicates import AnyOf as AnyOf
    from omnigraph.graph.predicates import Compare as Compare
    from omnigraph.graph.predicates import IsNull as IsNull
    from omnigraph.graph.predicates import Not as Not
    from omnigraph.graph.predicates import OneOf as OneOf
    from omnigraph.graph.predicates import Operator as Operator
    from omnigraph.graph.predicates import Predicate as Predicate
    from omnigraph.graph.predicates import Value as Value
    from omnigraph.graph.schema_text import compile_schema_text as compile_schema_text
    from omnigraph.graph.schema_text import read_schema as read_schema
    from omnigraph.graph.spark_frames import frame_source as frame_source
    from omnigraph.graph.spark_frames import spark_session as spark_session
    from omnigraph.graph.spark_frames import stop_spark_session as stop_spark_session
else:
    __getattr__, __dir__ = late_names(
        __name__,
        {
            "arguments": (
                "json_params",
                "moment_text",
            ),
            "data_source_write": (
                "DataSourceWrite",
                "WriteOptions",
            ),
            "graph": (
                "Graph",
                "verify",
            ),
            "nearest_branch": ("with_nearest_branch",),
            "partitioned_read": (
                "PartitionedRead",
                "plan_read",
            ),
            "pinned": ("PinnedGraph",),
            "predicates": (
                "All",
                "AnyOf",
                "Compare",
                "IsNull",
                "Not",
                "OneOf",
                "Operator",
                "Predicate",
                "Value",
            ),
            "schema_text": (
                "compile_schema_text",
                "read_schema",
            ),
            "spark_frames": (
                "frame_source",
                "spark_session",
                "stop_spark_session",
            ),
        },
    )
