"""A read of one type in partitions: planned on a graph, carried out by any number of processes.

`plan_read` is the gate: a plan is permission to read, so it is made from an open graph only. The plan names one
version of one table, and every partition reads that version, whatever is written meanwhile.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

import pyarrow as pa

from omnigraph.model.identifiers import TableKey
from omnigraph.model.late_dataclass import dataclass
from omnigraph.storage import GraphStorage, Predicate, open_storage
from omnigraph.storage.manifest import TablePin
from omnigraph.storage.tables import Table, scan_group, scan_groups

if TYPE_CHECKING:
    from omnigraph.graph.graph import Graph
    from omnigraph.history import Snapshot

Partition = tuple[int, ...]
"""The fragments that one task reads."""


@dataclass(frozen=True, slots=True)
class PartitionedRead:
    """One version of the table of one type. Picklable."""

    uri: str
    pin: TablePin

    def schema(self) -> pa.Schema:
        """The columns of the table, in their stored types."""
        return self._table().schema

    def partitions(self) -> list[Partition]:
        """The rows in groups of about a million; none for an empty table."""
        return list(scan_groups(self._table()))

    def read(
        self, partition: Partition, columns: Sequence[str], predicate: Predicate | None = None
    ) -> Iterator[pa.RecordBatch]:
        """The rows of one partition that match, in bounded memory."""
        return scan_group(self._table(), partition, columns, predicate)

    def _table(self) -> Table:
        return _storage(self.uri).tables.open(self.pin)


def plan_read(graph: Graph, snapshot: Snapshot, key: TableKey) -> PartitionedRead:
    """The plan for one type of a snapshot of this graph. Raises TypeNotFound."""
    return PartitionedRead(graph.uri, snapshot.table(key))


@lru_cache(maxsize=8)
def _storage(uri: str) -> GraphStorage:
    """A process that reads many partitions opens the storage once."""
    return open_storage(uri, read_only=True)
