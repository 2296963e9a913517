"""The two engines of a load: in this process for what is small, on Spark for everything else. One result.

`staged_run` is the second half of the Spark engine alone: the tasks of a job that is not ours (`format("omnigraph")`)
have decoded the rows already, and what is left is to check, write and commit them.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Protocol

from omnigraph.history import schema_on
from omnigraph.model.errors import BadRequest
from omnigraph.model.progress import ProgressListener
from omnigraph.pipeline.load.progress import LocalReading
from omnigraph.pipeline.load.sources import frame_source
from omnigraph.pipeline.local_limit import local_limit
from omnigraph.storage import AcceptedSchema, GraphStorage
from omnigraph.storage.indexes import BuildTask, BuiltSegment, build_in_threads
from omnigraph.write.commit import WriteBase
from omnigraph.write.intake import ItemSource
from omnigraph.write.load import PreparedLoad, blob_intake, prepare_load
from omnigraph.write.rules import CommittedView

if TYPE_CHECKING:
    from omnigraph.pipeline.load.data_source_write import StagedSource
    from omnigraph.pipeline.load.run_load import Load
    from omnigraph.pipeline.load.spark_job import LoadJob, LoadPlan
    from omnigraph.pipeline.load.spark_sources import LoadSource
    from omnigraph.storage.bulk import StagingArea

LOCAL_MAX_VARIABLE = "OMNIGRAPH_LOCAL_LOAD_MAX"
LOCAL_MAX_BYTES = 64 * 1024 * 1024
"""Larger inputs run on Spark unless the caller says otherwise."""

Engine = Literal["auto", "local", "spark"]


class LoadRun(Protocol):
    """One load on one engine."""

    name: Literal["local", "spark"]
    seconds: dict[str, float]

    def prepare(self, base: WriteBase) -> PreparedLoad:
        """What the load changes against a base, ready to be committed unless it is refused."""

    def build_indexes(
        self, tasks: Sequence[BuildTask], listener: ProgressListener | None = None
    ) -> Sequence[BuiltSegment]:
        """Index builds, where this engine runs them."""


def local_max_bytes() -> int:
    """`OMNIGRAPH_LOCAL_LOAD_MAX` in bytes, or the default."""
    return local_limit(LOCAL_MAX_VARIABLE, LOCAL_MAX_BYTES)


def choose(asked: Engine, spark: Any, items: ItemSource | None) -> Literal["local", "spark"]:
    """Spark for what only Spark can read, for large inputs, and wherever a session or a master is at hand."""
    if items is None:
        if asked == "local":
            raise BadRequest("this source can only be read by Spark", "use engine='spark', or 'auto'")
        return "spark"
    if asked != "auto":
        return asked
    if spark is not None or os.environ.get("OMNIGRAPH_SPARK") or _session_runs():
        return "spark"
    return "spark" if items.size > local_max_bytes() else "local"


def _session_runs() -> bool:
    if "pyspark" not in sys.modules:
        return False
    from omnigraph.pipeline.spark import running_session

    return running_session() is not None


@dataclass(slots=True)
class LocalRun:
    """In this process: everything that is read stays in its memory."""

    storage: GraphStorage
    load: Load
    items: ItemSource
    load_id: str
    started_ms: int
    name: Literal["local", "spark"] = "local"
    seconds: dict[str, float] = field(default_factory=dict)

    def prepare(self, base: WriteBase) -> PreparedLoad:
        begun, reading = time.perf_counter(), LocalReading.of(self.items, self.load.progress)
        try:
            prepared = prepare_load(
                self.items,
                catalog=base.schema.catalog,
                mode=self.load.mode,
                view=CommittedView(self.storage, base.pins()),
                load_id=self.load_id,
                started_ms=self.started_ms,
                patch=self.load.patch,
                match_edges=self.load.match_edges,
                max_errors=self.load.max_errors,
                on_error=self.load.on_error,
                listener=reading,
                blobs=blob_intake(self.storage, self.load.mode),
                embedding=self.storage.embedding,
            )
            reading.checked()
            return prepared
        finally:
            self.seconds["prepare"] = self.seconds.get("prepare", 0.0) + time.perf_counter() - begun

    def build_indexes(
        self, tasks: Sequence[BuildTask], listener: ProgressListener | None = None
    ) -> Sequence[BuiltSegment]:
        return build_in_threads(tasks)


@contextmanager
def spark_run(
    storage: GraphStorage,
    schema: Callable[[], AcceptedSchema],
    load: Load,
    items: ItemSource | None,
    load_id: str,
    started_ms: int,
) -> Iterator[LoadRun]:
    """On Spark: the staging area of the load exists as long as the block, and what it left is gone after it."""
    from omnigraph.pipeline.load.spark_job import LoadJob

    begun = time.perf_counter()
    spark = _session_of(load)
    seconds = {"session": time.perf_counter() - begun}
    source = (
        items
        if items is not None
        else frame_source(load.source, load.how, schema_on(storage, load.branch, schema()).catalog, spark)
    )
    plan = _plan(load, source, load_id, started_ms)
    with _in_area(storage, load_id, lambda area: LoadJob(storage, spark, plan, area, load.progress, seconds)) as job:
        yield job


@contextmanager
def staged_run(storage: GraphStorage, load: Load, staged: StagedSource) -> Iterator[LoadRun]:
    """Rows that tasks have spilled already: checked and written by this process, without a session."""
    plan = _plan(load, staged.unread(), staged.load_id, staged.load.plan.started_ms)
    with _in_area(storage, staged.load_id, lambda area: staged.job(storage, area, plan, progress=load.progress)) as job:
        yield job


def _session_of(load: Load) -> Any:
    """The session of a DataFrame, the one that was given, or ours; a new one is warm when it is returned."""
    from omnigraph.pipeline.spark import warm_session

    frame = getattr(load.source, "frame", load.source)
    given = frame.sparkSession if hasattr(frame, "sparkSession") else load.spark
    return warm_session(given, _import_kernels)


def _plan(load: Load, source: LoadSource, load_id: str, started_ms: int) -> LoadPlan:
    from omnigraph.pipeline.load.spark_job import LoadPlan

    return LoadPlan(
        source=source,
        mode=load.mode,
        load_id=load_id,
        started_ms=started_ms,
        patch=load.patch,
        match_edges=load.match_edges,
        on_error=load.on_error,
        max_errors=load.max_errors,
        dry_run=load.dry_run,
    )


@contextmanager
def _in_area(storage: GraphStorage, load_id: str, job_in: Callable[[StagingArea], LoadJob]) -> Iterator[LoadJob]:
    from omnigraph.storage.bulk import staging_area

    with staging_area(storage, load_id) as area:
        try:
            job = job_in(area)
            yield job
        except BaseException:
            area.remove()
            raise
        else:
            area.remove(job.committed_files())


def _import_kernels(_: int) -> None:
    import omnigraph.pipeline.load.spark_write
    import omnigraph.pipeline.load.spill  # noqa: F401
