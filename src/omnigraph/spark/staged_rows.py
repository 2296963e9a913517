"""Rows that a task wrote down in the staging area, as a work item of a load."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from omnigraph.language import Catalog
from omnigraph.storage.staging_area import StagingFiles
from omnigraph.write.records import Record
from omnigraph.write.sources import Unreadable
from omnigraph.write.tabular import BatchReader, TypeMapping


@dataclass(frozen=True, slots=True)
class StagedRows:
    """One Arrow file of a staging area; its rows are its lines."""

    files: StagingFiles
    name: str
    mapping: TypeMapping
    file: str
    counts_own_lines: bool = False
    size: int = 0

    def records(self, catalog: Catalog) -> Iterator[Record | Unreadable]:
        reader, line = BatchReader(self.mapping, catalog, self.file), 1
        for batch in self.files.batches(self.name):
            yield from reader(batch, line)
            line += batch.num_rows
