"""The load job: decode on the executors, check, write on the executors. What comes out is an ordinary change set.

Three stages, each a kernel of the write path: items to spilled rows (`spill`), the checks over whole types, which read
the key columns alone (`write.load.checks`), and accepted rows to data files (`spark_write`). The commit protocol does
not know the difference to a small load.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import field
from typing import TYPE_CHECKING, Literal

from omnigraph.model.late_dataclass import dataclass
from omnigraph.model.progress import ProgressListener
from omnigraph.pipeline.load.spark_sources import ItemSource, LoadSource
from omnigraph.pipeline.load.spark_write import LoadWriter
from omnigraph.pipeline.load.spill import (
    DecodeReceipt,
    DecodeTask,
    FramePartition,
    FrameTasks,
    amount_decoded,
    decode_item,
    partition_name,
)
from omnigraph.pipeline.load.spilled_rows import SpilledLoad
from omnigraph.pipeline.spark import Stage, collect, report_stage, run
from omnigraph.storage import GraphStorage, Point, reach
from omnigraph.storage.bulk import StagingArea
from omnigraph.storage.indexes import BuildTask, BuiltSegment, build_segment
from omnigraph.write import ChangeSet, Places
from omnigraph.write.commit import WriteBase
from omnigraph.write.intake import ReadPlan, SourceItem
from omnigraph.write.load import LoadChecks, LoadMode, MatchEdges, OnError, PreparedLoad, Spool, blob_intake
from omnigraph.write.rules import CommittedView, ViolationLog

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadPlan:
    """A load as the job runs it."""

    source: LoadSource
    mode: LoadMode
    load_id: str
    started_ms: int
    patch: bool = False
    match_edges: MatchEdges = None
    on_error: OnError = "fail"
    max_errors: int = 100
    dry_run: bool = False


@dataclass(slots=True)
class LoadJob:
    """One load on one session. `prepare` is what the commit protocol calls, again when it lost a race."""

    storage: GraphStorage
    spark: SparkSession | None
    """None: the kernels run in this process."""
    plan: LoadPlan
    area: StagingArea
    progress: ProgressListener | None = None
    seconds: dict[str, float] = field(default_factory=dict)
    """Per stage, over all attempts."""
    name: Literal["local", "spark"] = "spark"
    _spilled: tuple[str, SpilledLoad] | None = None
    _writer: LoadWriter | None = None

    def prepare(self, base: WriteBase) -> PreparedLoad:
        """What the load changes against a base, written and ready to be committed unless it is refused."""
        load = self._decoded(base)
        rows = sum(amount_decoded(receipt).rows for receipt in load.receipts)
        with self._timed("check"), report_stage(Stage(name="check", listener=self.progress, rows_total=rows)):
            checks = self._load_checks(base, load)
            checks.assemble()
            checks.check()
        reach(Point.LOAD_CHECKED)
        prepared = checks.result()
        if prepared.refused or self.plan.dry_run:
            return _with(prepared, ChangeSet())
        with self._timed("write"):
            return _with(prepared, self.writer.change_set(load, checks))

    def build_indexes(
        self, tasks: Sequence[BuildTask], listener: ProgressListener | None = None
    ) -> Sequence[BuiltSegment]:
        """Indexes for what was loaded: a task on the executors for each."""
        return run(self.spark, build_segment, tasks, stage=Stage(name="index", listener=listener))

    def committed_files(self) -> frozenset[str]:
        """The data files that the commit made visible; asked after it."""
        return frozenset() if self._writer is None else self._writer.committed_files()

    @property
    def writer(self) -> LoadWriter:
        if self._writer is None:
            self._writer = LoadWriter(self.storage, self.spark, self.area, self.progress)
        return self._writer

    # --- decode -------------------------------------------------------------------------------------------

    def _decoded(self, base: WriteBase) -> SpilledLoad:
        """The input is read once, unless the schema changed since."""
        if self._spilled is not None and self._spilled[0] == base.schema.ir_hash:
            return self._spilled[1]
        with self._timed("decode"):
            plan = ReadPlan(
                base.schema.catalog,
                self.plan.load_id,
                self.plan.started_ms,
                self._patches,
                self.plan.on_error == "skip",
                self.plan.max_errors,
                blob_intake(self.storage, self.plan.mode),
                self.storage.embedding,
            )
            items, receipts = self._read(plan)
            places = Places.of(items, [receipt.span for receipt in receipts])
            load = SpilledLoad(self.area.files, tuple(receipts), places, self._patches)
        self._spilled = (base.schema.ir_hash, load)
        reach(Point.LOAD_DECODED)
        return load

    def _read(self, plan: ReadPlan) -> tuple[list[SourceItem], list[DecodeReceipt]]:
        source, files = self.plan.source, self.area.files
        if isinstance(source, ItemSource):
            tasks = [DecodeTask(plan, files, number, item) for number, item in enumerate(source.items)]
            return list(source.items), run(self.spark, decode_item, tasks, stage=self._decoding(source.size))
        assert self.spark is not None, "a DataFrame has its session"
        work = FrameTasks(plan, files, source.to_records, source.name)
        found = collect(self.spark, source.frame, work, stage=self._decoding())
        items: list[SourceItem] = [FramePartition(partition_name(source.name, number)) for number, _ in found]
        return items, [receipt for _, receipt in found]

    def _decoding(self, size: int = 0) -> Stage:
        return Stage(name="decode", listener=self.progress, amount_of=amount_decoded, bytes_total=size or None)

    @property
    def _patches(self) -> bool:
        return self.plan.patch and self.plan.mode == "merge"

    # --- check --------------------------------------------------------------------------------------------

    def _load_checks(self, base: WriteBase, load: SpilledLoad) -> LoadChecks:
        spool = Spool(self.area.local_folder())
        checks = LoadChecks(
            catalog=base.schema.catalog,
            mode=self.plan.mode,
            view=CommittedView(self.storage, base.pins()),
            patch=self._patches,
            match_edges=self.plan.match_edges,
            skips=self.plan.on_error == "skip",
            findings=ViolationLog(self.plan.max_errors),
            places=load.places,
            types=load.types(base.schema.catalog, spool),
            texts=load.texts,
            spool=spool,
        )
        for number, receipt in enumerate(load.receipts):
            checks.note(number, load.refused(receipt), receipt.violations, receipt.violations_total)
        return checks

    @contextmanager
    def _timed(self, stage: str) -> Iterator[None]:
        begun = time.perf_counter()
        try:
            yield
        finally:
            self.seconds[stage] = self.seconds.get(stage, 0.0) + time.perf_counter() - begun


def _with(prepared: PreparedLoad, changes: ChangeSet) -> PreparedLoad:
    return PreparedLoad(
        changes=changes,
        nodes=prepared.nodes,
        edges=prepared.edges,
        rejected=prepared.rejected,
        violations=prepared.violations,
        violations_total=prepared.violations_total,
        refused=prepared.refused,
    )
