"""Loads of rows that tasks of another Spark job hold: the tasks decode and spill them, and the load goes on from there.

A data source's writer has no session. Spark calls it in its tasks, and then in a process beside the driver to commit.
So the tasks do the first stage of a load, where the rows are; the process checks key columns and streams the accepted
rows from the staging area into data files. It never holds them.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from omnigraph.language.schema import Catalog
from omnigraph.model.errors import Conflict
from omnigraph.model.late_dataclass import dataclass
from omnigraph.pipeline.load.spark_job import LoadJob, LoadPlan
from omnigraph.pipeline.load.spark_sources import ItemSource, ToRecords
from omnigraph.pipeline.load.spill import DecodeReceipt, DecodeTask, FramePartition, decode_item, partition_name
from omnigraph.pipeline.load.spilled_rows import SpilledLoad
from omnigraph.storage import AcceptedSchema, GraphStorage, Root
from omnigraph.storage.bulk import StagingArea, StagingFiles, handed_over_id
from omnigraph.write import Places
from omnigraph.write.intake import ReadPlan, Record, Unreadable
from omnigraph.write.rules import MAX_ERRORS_DEFAULT


class SchemaChanged(Conflict):
    """Rows were decoded for a schema that is not the graph's any more."""

    _hint = "write the DataFrame again"


@dataclass(frozen=True, slots=True)
class SpillingLoad:
    """A load whose rows tasks will spill. Made once, sent to every task and to the commit. Picklable."""

    files: StagingFiles
    plan: ReadPlan
    schema_hash: str
    to_records: ToRecords
    name: str

    @classmethod
    def begin(
        cls, root: Root, schema: AcceptedSchema, to_records: ToRecords, name: str, *, patch: bool
    ) -> SpillingLoad:
        load_id = handed_over_id()
        plan = ReadPlan(schema.catalog, load_id, time.time_ns() // 1_000_000, patch, False, MAX_ERRORS_DEFAULT)
        files = StagingFiles(root, load_id)
        files.allow_work()
        return cls(files, plan, schema.ir_hash, to_records, name)

    def spill(self, partition: int, batches: Iterator[pa.RecordBatch]) -> DecodeReceipt:
        """In a task: its rows to the staging area. They are used only if the receipt of this attempt arrives."""
        item = FramePartition(partition_name(self.name, partition), self.to_records, batches)
        return decode_item(DecodeTask(self.plan, self.files, partition, item))


@dataclass(frozen=True, slots=True)
class StagedSource:
    """What the tasks left: the source of a load that needs no session."""

    load: SpillingLoad
    receipts: tuple[DecodeReceipt, ...]

    @property
    def load_id(self) -> str:
        return self.load.files.load_id

    def job(self, storage: GraphStorage, area: StagingArea, plan: LoadPlan, **more: Any) -> LoadJob:
        """The load from its second stage on, in this process."""
        names = [partition_name(self.load.name, receipt.number) for receipt in self.receipts]
        places = Places.of([FramePartition(name) for name in names], [receipt.span for receipt in self.receipts])
        spilled = SpilledLoad(self.load.files, self.receipts, places, self.load.plan.patch)
        return LoadJob(storage, None, plan, area, _spilled=(self.load.schema_hash, spilled), **more)

    def unread(self) -> ItemSource:
        """What stands for the input: it was read, and cannot be read for another schema."""
        return ItemSource((_Read(self.load.name),))


@dataclass(frozen=True, slots=True)
class _Read:
    file: str | None
    counts_own_lines: bool = True
    size: int = 0

    def records(self, catalog: Catalog) -> Iterator[Record | Unreadable]:
        raise SchemaChanged("the schema of the graph changed while the rows were written")
