"""Writing a DataFrame as one commit: tasks decode and spill their rows, the commit checks them and writes them once.

The rows pass every check of a load. `commit` runs in a process that Spark starts beside the driver, without a session:
it holds the columns that the checks compare, and streams the rows from the staging area into data files.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, cast

import pyarrow as pa
from pyspark.sql.datasource import DataSourceArrowWriter, WriterCommitMessage

from omnigraph.graph import DataSourceWrite, Graph, WriteOptions
from omnigraph.model.errors import BadRequest
from omnigraph.spark import options as chosen

if TYPE_CHECKING:
    from omnigraph.pipeline.load import DecodeReceipt

_log = logging.getLogger("omnigraph.spark")
NAME = "dataframe"
"""Stands where a file stands in messages: `dataframe[3]` is its fourth partition."""


@dataclass
class SpilledPart(WriterCommitMessage):
    """What one task spilled."""

    receipt: DecodeReceipt


@dataclass
class CommitWriter(DataSourceArrowWriter):
    """One write. Made once and sent to every task and to the commit."""

    plan: DataSourceWrite

    @classmethod
    def of(cls, options: Mapping[str, str], columns: list[str], *, overwrite: bool) -> CommitWriter:
        """The write that the options ask for. A mapping that does not fit the columns is refused before any task."""
        chosen.check(options, chosen.WRITE)
        write_options, mapping = _write_options(options, overwrite=overwrite), chosen.mapping(options)
        with Graph.open(chosen.graph_uri(options), read_only=True) as graph:
            key = None
            if mapping is None or "type" in options:
                key = chosen.table_key(options, [entity.table_key for entity in graph.schema.catalog.entities])
            return cls(DataSourceWrite.plan(graph, columns, write_options, type_key=key, mapping=mapping, name=NAME))

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        """On an executor: the rows of one partition, decoded, to the staging area."""
        from pyspark import TaskContext

        context = TaskContext.get()
        return SpilledPart(self.plan.spill(0 if context is None else context.partitionId(), iterator))

    def commit(self, messages: list[WriterCommitMessage | None]) -> None:
        """Loads everything that was spilled as one commit, or raises and leaves the graph as it was."""
        result = self.plan.commit([part.receipt for part in messages if isinstance(part, SpilledPart)])
        for warning in result.warnings:
            _log.warning("the write is done; %s", warning)

    def abort(self, messages: list[WriterCommitMessage | None]) -> None:
        """After a failure of a task or of the commit."""
        self.plan.abort()


def _write_options(options: Mapping[str, str], *, overwrite: bool) -> WriteOptions:
    mode = options.get("mode", "overwrite" if overwrite else "append")
    if mode not in ("append", "merge", "overwrite"):
        raise BadRequest(f"'mode' must be append, merge or overwrite, not '{mode}'")
    match_edges = options.get("match_edges")
    if match_edges not in (None, "endpoints"):
        raise BadRequest(f"'match_edges' must be endpoints, not '{match_edges}'")
    return WriteOptions(
        mode=cast("Literal['append', 'merge', 'overwrite']", mode),
        branch=options.get("branch"),
        base=options.get("base"),
        patch=chosen.truth(options, "patch"),
        match_edges=cast("Literal['endpoints'] | None", match_edges),
        actor=options.get("actor"),
        message=options.get("message"),
    )
