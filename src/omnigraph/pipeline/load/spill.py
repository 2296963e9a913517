"""Spill: the first stage of a load. A task reads one item and leaves its rows, type by type, as Arrow files in staging.

Such a file has the table's columns, and beside them the record's line in its item, whether its id was generated, and in
a patch which properties it leaves open. Names begin with `#`, which no property's name can.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import field
from typing import Any

import numpy as np
import pyarrow as pa

from omnigraph.language.schema import Catalog, NodeType
from omnigraph.model.identifiers import TableKey
from omnigraph.model.late_dataclass import dataclass
from omnigraph.pipeline.load.spark_sources import ToRecords
from omnigraph.pipeline.spark import Amount, attempt
from omnigraph.storage.bulk import StagingFiles
from omnigraph.write import TableChange
from omnigraph.write.intake import DecodePlan, ItemReading, Part, ReadPlan, Record, SourceItem, Unreadable
from omnigraph.write.rules import Violation, check_values

LINE, GENERATED, ABSENT, TEXT = "#line", "#generated", "#absent:", "#text"
_TEXTS = pa.schema([pa.field(LINE, pa.int64()), pa.field(TEXT, pa.binary())])
_TEXT_CODEC = "lz4"


@dataclass(frozen=True, slots=True)
class DecodeTask:
    """An item to read, and where to leave what it holds."""

    plan: ReadPlan
    files: StagingFiles
    number: int
    item: SourceItem


@dataclass(frozen=True, slots=True)
class Spilled:
    """The rows of one type of one item."""

    key: TableKey
    file: str
    rows: int
    generated: int
    """How many of them have generated ids."""
    values_fine: bool
    """No row breaks a rule by itself."""
    texts: str | None


@dataclass(frozen=True, slots=True)
class DecodeReceipt:
    """What a task found in its item."""

    number: int
    span: int
    spilled: tuple[Spilled, ...]
    violations: tuple[Violation, ...]
    violations_total: int
    refused: str | None
    """The file with the texts of what could not be read."""
    bytes: int = 0
    """How much there was to read, where it is known."""


def decode_item(task: DecodeTask) -> DecodeReceipt:
    """Reads one item. The kernel of the first stage."""
    reading = task.plan.read(task.item)
    name = f"decode/{task.number:06d}-{attempt()}"
    with task.files.at_work():
        spilled = _spill(task, reading, name)
        refused = _keep_refused(task, reading, name) if reading.refused else None
    return DecodeReceipt(
        task.number,
        reading.span,
        spilled,
        tuple(reading.violations.first()),
        reading.violations.total,
        refused,
        task.item.size,
    )


def _spill(task: DecodeTask, reading: ItemReading, name: str) -> tuple[Spilled, ...]:
    with ExitStack() as stack:
        writers: dict[TableKey, _TypeWriter] = {}
        for part in reading.parts():
            if part.decoded.rows.num_rows:
                key = part.plan.entity.table_key
                if key not in writers:
                    writers[key] = _TypeWriter.open(task, part, name, stack)
                writers[key].write(part)
    return tuple(writer.spilled() for writer in writers.values())


def _keep_refused(task: DecodeTask, reading: ItemReading, name: str) -> str:
    refused = f"{name}-refused.arrow"
    columns = [[each.line for each in reading.refused], [each.text for each in reading.refused]]
    arrays = [pa.array(values, each.type) for values, each in zip(columns, _TEXTS, strict=True)]
    task.files.write(refused, _TEXTS, [pa.RecordBatch.from_arrays(arrays, schema=_TEXTS)], _TEXT_CODEC)
    return refused


def amount_decoded(receipt: DecodeReceipt) -> Amount:
    return Amount(sum(each.rows for each in receipt.spilled), receipt.bytes)


def spill_schema(plan: DecodePlan, *, patch: bool) -> pa.Schema:
    more = [pa.field(LINE, pa.int64()), pa.field(GENERATED, pa.bool_())]
    if patch:
        more += [pa.field(ABSENT + prop.name, pa.bool_()) for prop in plan.entity.properties]
    return pa.schema([*plan.schema, *more])


@dataclass(slots=True)
class _TypeWriter:
    """The files of one type of one item while they are written."""

    key: TableKey
    schema: pa.Schema
    file: str
    sink: Any
    texts_file: str | None
    texts_sink: Any
    has_rules: bool
    rows: int = 0
    generated: int = 0
    values_fine: bool = True

    @classmethod
    def open(cls, task: DecodeTask, part: Part, name: str, stack: ExitStack) -> _TypeWriter:
        entity = part.plan.entity
        schema = spill_schema(part.plan, patch=task.plan.patch)
        file = f"{name}-{entity.kind}-{entity.name}.arrow"
        sink = stack.enter_context(task.files.writer(file, schema))
        texts_file = file.replace(".arrow", "-texts.arrow") if task.plan.keeps_texts else None
        texts = stack.enter_context(task.files.writer(texts_file, _TEXTS, _TEXT_CODEC)) if texts_file else None
        ruled = any(prop.type.enum_values is not None for prop in entity.properties)
        ruled = ruled or (isinstance(entity, NodeType) and bool(entity.ranges or entity.checks))
        return cls(entity.table_key, schema, file, sink, texts_file, texts, ruled)

    def write(self, part: Part) -> None:
        decoded = part.decoded
        columns = [column.combine_chunks() for column in decoded.rows.columns]
        columns += [pa.array(decoded.lines), pa.array(decoded.generated)]
        columns += [pa.array(mask) for mask in decoded.absent.values()]
        self.sink.write_batch(pa.RecordBatch.from_arrays(columns, schema=self.schema))
        if self.texts_sink is not None and part.texts is not None:
            arrays = [pa.array(decoded.lines), part.texts]
            self.texts_sink.write_batch(pa.RecordBatch.from_arrays(arrays, schema=_TEXTS))
        self.rows += decoded.rows.num_rows
        self.generated += int(np.count_nonzero(decoded.generated))
        if self.has_rules and self.values_fine:
            change = TableChange(self.key, "insert", decoded.rows)
            self.values_fine = next(check_values(part.plan.entity, change), None) is None

    def spilled(self) -> Spilled:
        return Spilled(self.key, self.file, self.rows, self.generated, self.values_fine, self.texts_file)


# --- DataFrames -------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class FramePartition:
    """A partition of a DataFrame as an item, in the worker that holds it; elsewhere only its name."""

    file: str | None
    to_records: ToRecords | None = None
    batches: Iterator[pa.RecordBatch] = field(default=iter(()), compare=False)

    @property
    def counts_own_lines(self) -> bool:
        return True

    @property
    def size(self) -> int:
        return 0

    def records(self, catalog: Catalog) -> Iterator[Record | Unreadable]:
        first = 1
        for batch in self.batches:
            if self.to_records is not None:
                yield from self.to_records(batch, first)
            first += batch.num_rows


@dataclass(frozen=True, slots=True)
class FrameTasks:
    """What a worker runs on the partitions of a DataFrame: the same kernel, on rows that it is given."""

    plan: ReadPlan
    files: StagingFiles
    to_records: ToRecords
    name: str

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[tuple[int, Callable[[], DecodeReceipt]]]:
        from pyspark import TaskContext

        context = TaskContext.get()
        number = 0 if context is None else int(context.partitionId())
        item = FramePartition(partition_name(self.name, number), self.to_records, batches)
        yield number, lambda: decode_item(DecodeTask(self.plan, self.files, number, item))


def partition_name(name: str, number: int) -> str:
    return f"{name}[{number}]"
