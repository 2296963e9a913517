"""Writing a DataFrame as one commit: tasks put their rows into the graph's staging area, the commit loads them once.

The rows pass every check of a load. `commit` runs in a process that Spark starts beside the driver; it uses the
in-process engine, so the Arrow form of the rows must fit into that machine's memory. `omnigraph.spark.load` has no such
limit.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, cast

import pyarrow as pa
from pyspark.sql.datasource import DataSourceArrowWriter, WriterCommitMessage

from omnigraph.graph import Graph
from omnigraph.model.errors import BadRequest
from omnigraph.spark import options as chosen
from omnigraph.spark.staged_rows import StagedRows
from omnigraph.storage import open_storage, parse_root
from omnigraph.storage.layout import STAGING
from omnigraph.storage.staging_area import StagingFiles, handed_over_id
from omnigraph.write.sources import ItemSource
from omnigraph.write.tabular import TypeMapping, bind, read_mappings
from omnigraph.write.tabular.mapping import with_type

LoadMode = Literal["append", "merge", "overwrite"]


@dataclass
class StagedPart(WriterCommitMessage):
    """What one task wrote down: nothing when its partition was empty."""

    name: str | None
    rows: int
    partition: int


@dataclass
class CommitWriter(DataSourceArrowWriter):
    """One write. Made once and sent to every task and to the commit."""

    uri: str
    staging_id: str
    mode: LoadMode
    mapping: TypeMapping
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
        with Graph.open(chosen.graph_uri(options), read_only=True) as graph:
            catalog, uri = graph.schema.catalog, graph.uri
        mapping = _mapping(options, catalog)
        bind(mapping, columns, catalog, "the DataFrame")
        return cls(
            uri=uri,
            staging_id=handed_over_id(),
            mode=cast("LoadMode", mode),
            mapping=mapping,
            branch=options.get("branch"),
            base=options.get("base"),
            patch=chosen.truth(options, "patch"),
            match_edges=cast("Literal['endpoints'] | None", match_edges),
            actor=options.get("actor"),
            message=options.get("message"),
        )

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        """On an executor: the rows of one partition to one file, which nobody reads unless this attempt wins."""
        from pyspark import TaskContext

        context = TaskContext.get()
        partition = context.partitionId() if context is not None else 0
        first = next(iterator, None)
        if first is None:
            return StagedPart(None, 0, partition)
        name, rows = f"rows/{partition:05}-{uuid.uuid4().hex}.arrow", first.num_rows
        with self._files().writer(name, first.schema, "lz4") as writer:
            writer.write_batch(first)
            for batch in iterator:
                writer.write_batch(batch)
                rows += batch.num_rows
        return StagedPart(name, rows, partition)

    def commit(self, messages: list[WriterCommitMessage | None]) -> None:
        """Loads everything that was written as one commit, or raises and leaves the graph as it was."""
        parts = sorted((part for part in messages if isinstance(part, StagedPart)), key=lambda part: part.partition)
        items = tuple(
            StagedRows(self._files(), part.name, self.mapping, f"partition {part.partition}")
            for part in parts
            if part.name is not None
        )
        with Graph.open(self.uri, actor=self.actor) as graph:
            graph.load(
                ItemSource(items),
                mode=self.mode,
                branch=self.branch,
                base=self.base,
                patch=self.patch,
                match_edges=self.match_edges,
                message=self.message,
                engine="local",
            )
        self._discard()

    def abort(self, messages: list[WriterCommitMessage | None]) -> None:
        """After a failure of a task or of the commit."""
        self._discard()

    def _files(self) -> StagingFiles:
        return StagingFiles(parse_root(self.uri), self.staging_id)

    def _discard(self) -> None:
        open_storage(self.uri).objects.delete_tree(f"{STAGING}/{self.staging_id}")


def _mapping(options: Mapping[str, str], catalog: Any) -> TypeMapping:
    document = chosen.mapping(options)
    if document is not None and "type" not in options:
        only = read_mappings(document, catalog).only
    else:
        key = chosen.table_key(options, [entity.table_key for entity in catalog.entities])
        named = {} if document is None else {k: v for k, v in document.items() if k not in ("type", "edge")}
        word = "edge" if key.kind == "edge" else "type"
        only = with_type(read_mappings({word: key.type_name, **named}, catalog), catalog.table(key)).only
    if only is None:
        raise BadRequest("a DataFrame has one mapping, not one per file")
    return only
