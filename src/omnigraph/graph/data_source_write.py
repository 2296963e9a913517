"""A write whose rows are in the tasks of another program: planned on a graph, spilled by tasks, committed as one load.

`DataSourceWrite.plan` is the gate: it opens the graph and refuses a mapping that does not fit before any task runs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

import pyarrow as pa

from omnigraph.graph.graph import Graph
from omnigraph.language.schema import Catalog
from omnigraph.model.errors import BadRequest
from omnigraph.model.identifiers import TableKey
from omnigraph.model.late_dataclass import dataclass
from omnigraph.pipeline.load import DecodeReceipt, SpillingLoad, StagedSource
from omnigraph.storage import open_storage, parse_root
from omnigraph.storage.bulk import StagingArea
from omnigraph.write import LoadInterrupted, LoadResult
from omnigraph.write.intake.tabular import BatchReader, TypeMapping, bind, read_mappings, with_type

if TYPE_CHECKING:
    from omnigraph.pipeline.load import LoadMode


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteOptions:
    """The options of `Graph.load` that a data source passes on."""

    mode: LoadMode
    branch: str | None = None
    base: str | None = None
    patch: bool = False
    match_edges: Literal["endpoints"] | None = None
    actor: str | None = None
    message: str | None = None


@dataclass(frozen=True, slots=True)
class DataSourceWrite:
    """One write. Made once, sent to every task and to the commit. Picklable."""

    uri: str
    load: SpillingLoad
    options: WriteOptions

    @classmethod
    def plan(
        cls,
        graph: Graph,
        columns: Sequence[str],
        options: WriteOptions,
        *,
        type_key: TableKey | None,
        mapping: Mapping[str, Any] | None,
        name: str,
    ) -> DataSourceWrite:
        """The write of rows with these columns. `name` stands where a file stands in messages.

        Raises InvalidMapping or BadRequest for a mapping that does not fit the columns.
        """
        schema = graph.schema
        chosen = _mapping(mapping, type_key, schema.catalog)
        bind(chosen, list(columns), schema.catalog, "the DataFrame")
        reader = BatchReader(chosen, schema.catalog, name)
        patch = options.patch and options.mode == "merge"
        return cls(graph.uri, SpillingLoad.begin(parse_root(graph.uri), schema, reader, name, patch=patch), options)

    def spill(self, partition: int, batches: Iterator[pa.RecordBatch]) -> DecodeReceipt:
        """In a task: decodes the rows of one partition into the staging area."""
        return self.load.spill(partition, batches)

    def commit(self, receipts: Sequence[DecodeReceipt]) -> LoadResult:
        """Loads everything that was spilled as one commit, or raises and leaves the graph as it was."""
        source = StagedSource(self.load, tuple(sorted(receipts, key=lambda receipt: receipt.number)))
        options = self.options
        with Graph.open(self.uri, actor=options.actor) as graph:
            try:
                return graph.load(
                    source,
                    mode=options.mode,
                    branch=options.branch,
                    base=options.base,
                    patch=options.patch,
                    match_edges=options.match_edges,
                    message=options.message,
                )
            except LoadInterrupted as interrupted:  # the commit is done: the caller must not see a failure
                return interrupted.result

    def abort(self) -> None:
        """Removes what was spilled, after a failure of a task or of the commit."""
        StagingArea(open_storage(self.uri), self.load.files).remove()


def _mapping(document: Mapping[str, Any] | None, key: TableKey | None, catalog: Catalog) -> TypeMapping:
    """The mapping of the rows; a named type wins over the one that the document names."""
    if key is None:
        only = read_mappings(None if document is None else dict(document), catalog).only
    else:
        named = {name: value for name, value in (document or {}).items() if name not in ("type", "edge")}
        entity = catalog.table(key)
        assert entity is not None, "its key was taken from the catalog"
        word = "edge" if key.kind == "edge" else "type"
        only = with_type(read_mappings({word: key.type_name, **named}, catalog), entity).only
    if only is None:
        raise BadRequest("a DataFrame has one mapping, not one for each file", "pass the mapping of one type")
    return only
