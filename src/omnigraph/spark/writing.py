"""Writing a DataFrame as one commit: tasks decode and spill their rows, the commit checks them and writes them once.

The rows pass every check of a load. `commit` runs in a process that Spark starts beside the driver, without a session:
it holds the columns that the checks compare, and streams the rows from the staging area into data files.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal, cast

import pyarrow as pa
from pyspark.sql.datasource import DataSourceArrowWriter, WriterCommitMessage

from omnigraph.graph import Graph
from omnigraph.language.schema import Catalog
from omnigraph.model.errors import BadRequest
from omnigraph.pipeline.load import DecodeReceipt, HandedOver, StagedSource
from omnigraph.spark import options as chosen
from omnigraph.storage import open_storage, parse_root
from omnigraph.storage.bulk import StagingArea
from omnigraph.write import LoadInterrupted
from omnigraph.write.intake.tabular import BatchReader, TypeMapping, bind, read_mappings, with_type
from omnigraph.write.rules import ValidationFailed

LoadMode = Literal["append", "merge", "overwrite"]
_log = logging.getLogger("omnigraph.spark")
NAME = "dataframe"
"""Stands where a file stands in messages: `dataframe[3]` is its fourth partition."""


TOLD_MAX = 10
"""So many broken rules are in the text of an error: text is all that Spark passes on."""


class RowsRefused(BadRequest):
    """Rows of the DataFrame break rules of the schema. Nothing was written."""

    @classmethod
    def of(cls, failed: ValidationFailed) -> RowsRefused:
        told = [f"{each.file}, {each}" if each.file else str(each) for each in failed.violations[:TOLD_MAX]]
        more = [f"and {failed.total - len(told)} more"] if failed.total > len(told) else []
        return cls("the rows break rules of the schema; nothing was written\n  " + "\n  ".join(told + more))


@dataclass
class SpilledPart(WriterCommitMessage):
    """What one task spilled."""

    receipt: DecodeReceipt


@dataclass
class CommitWriter(DataSourceArrowWriter):
    """One write. Made once and sent to every task and to the commit."""

    uri: str
    load: HandedOver
    mode: LoadMode
    branch: str | None
    base: str | None
    patch: bool
    match_edges: Literal["endpoints"] | None
    actor: str | None
    message: str | None

    @classmethod
    def of(cls, options: Mapping[str, str], columns: list[str], *, overwrite: bool) -> CommitWriter:
        """The write that the options ask for. A mapping that does not fit the columns is refused before any task."""
        chosen.check(options, chosen.WRITE)
        mode = options.get("mode", "overwrite" if overwrite else "append")
        if mode not in ("append", "merge", "overwrite"):
            raise BadRequest(f"'mode' is append, merge or overwrite, got '{mode}'")
        match_edges = options.get("match_edges")
        if match_edges not in (None, "endpoints"):
            raise BadRequest(f"'match_edges' is endpoints, got '{match_edges}'")
        patch = chosen.truth(options, "patch")
        with Graph.open(chosen.graph_uri(options), read_only=True) as graph:
            schema, uri = graph.schema, graph.uri
        mapping = _mapping(options, schema.catalog)
        bind(mapping, columns, schema.catalog, "the DataFrame")
        reader = BatchReader(mapping, schema.catalog, NAME)
        return cls(
            uri=uri,
            load=HandedOver.begin(parse_root(uri), schema, reader, NAME, patch=patch and mode == "merge"),
            mode=cast("LoadMode", mode),
            branch=options.get("branch"),
            base=options.get("base"),
            patch=patch,
            match_edges=cast("Literal['endpoints'] | None", match_edges),
            actor=options.get("actor"),
            message=options.get("message"),
        )

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        """On an executor: the rows of one partition, decoded, to the staging area."""
        from pyspark import TaskContext

        context = TaskContext.get()
        return SpilledPart(self.load.spill(0 if context is None else context.partitionId(), iterator))

    def commit(self, messages: list[WriterCommitMessage | None]) -> None:
        """Loads everything that was spilled as one commit, or raises and leaves the graph as it was."""
        receipts = [part.receipt for part in messages if isinstance(part, SpilledPart)]
        receipts.sort(key=lambda receipt: receipt.number)
        try:
            self._load(StagedSource(self.load, tuple(receipts)))
        except ValidationFailed as failed:
            raise RowsRefused.of(failed) from None

    def _load(self, source: StagedSource) -> None:
        with Graph.open(self.uri, actor=self.actor) as graph:
            try:
                result = graph.load(
                    source,
                    mode=self.mode,
                    branch=self.branch,
                    base=self.base,
                    patch=self.patch,
                    match_edges=self.match_edges,
                    message=self.message,
                )
            except LoadInterrupted as interrupted:  # too late: Spark must not hear that the write failed
                result = interrupted.result
        for warning in result.warnings:
            _log.warning("the write is done; %s", warning)

    def abort(self, messages: list[WriterCommitMessage | None]) -> None:
        """After a failure of a task or of the commit."""
        StagingArea(open_storage(self.uri), self.load.files).remove()


def _mapping(options: Mapping[str, str], catalog: Catalog) -> TypeMapping:
    document = chosen.mapping(options)
    if document is not None and "type" not in options:
        only = read_mappings(document, catalog).only
    else:
        key = chosen.table_key(options, [entity.table_key for entity in catalog.entities])
        named = {} if document is None else {k: v for k, v in document.items() if k not in ("type", "edge")}
        word = "edge" if key.kind == "edge" else "type"
        entity = catalog.table(key)
        assert entity is not None, "its key was taken from the catalog"
        only = with_type(read_mappings({word: key.type_name, **named}, catalog), entity).only
    if only is None:
        raise BadRequest("a DataFrame has one mapping, not one per file")
    return only
