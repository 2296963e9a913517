"""Running kernels: one work item per task, results exactly once, progress, and an end by Ctrl-C that leaves nothing.

Rows never pass through the JVM. A task is `kernel(item)`; what it returns is pickled home, and the result of the
attempt that succeeded is the only one that arrives. A kernel that refuses on purpose (an `OmniGraphError`) is not
tried again.
"""

from __future__ import annotations

import pickle
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import pyarrow as pa

from omnigraph.model.errors import Internal, OmniGraphError
from omnigraph.model.identifiers import new_ulid
from omnigraph.pipeline.session import log_tail

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Item = TypeVar("Item")
Result = TypeVar("Result")
Rows = TypeVar("Rows")
Progress = Callable[[str, int, int], None]
"""Stage, finished tasks, tasks in all."""

POLL_S = 0.2
CANCEL_S_MAX = 20.0
"""How long an interrupted caller waits for its tasks to end."""
_RESULT = "number long, result binary"


class SparkJobFailed(Internal):
    """A job on Spark failed for a reason that is not the input's. Nothing was published."""


def run(
    spark: SparkSession,
    kernel: Callable[[Item], Result],
    items: Sequence[Item],
    *,
    stage_name: str,
    progress: Progress | None = None,
) -> list[Result]:
    """The results of the kernel over the items, in their order. The kernel lives in an importable module."""
    if not items:
        return []
    tasks = spark.range(0, len(items), 1, len(items)).mapInArrow(_Tasks(kernel, tuple(items)), _RESULT)
    found = dict(collect(spark, tasks, stage_name=stage_name, total=len(items), progress=progress))
    return [found[number] for number in range(len(items))]


def warm_up(spark: SparkSession) -> None:
    """Starts the Python workers of a new session and has them import the kernels: what comes after is work alone."""
    context = _context(spark)
    slots = 1 if context is None else int(context.defaultParallelism)
    run(spark, _import_kernels, range(slots), stage_name="session")


def _import_kernels(_: int) -> None:
    import omnigraph.pipeline.load_write
    import omnigraph.pipeline.spill  # noqa: F401


def collect(
    spark: SparkSession, frame: DataFrame, *, stage_name: str, total: int, progress: Progress | None = None
) -> list[tuple[int, Any]]:
    """The pickled results of a frame of tasks (`number`, `result`), each once. The frame is run by this call alone."""
    group = f"omnigraph-{new_ulid()}"
    with _watched(spark, group, stage_name, total, progress):
        try:
            rows = _interruptible(spark, group, stage_name, frame.collect)
        except Exception as error:
            raise SparkJobFailed(_reason(stage_name, error), log_tail() or None) from error
    if progress is not None:
        progress(stage_name, total, total)
    results = []
    for row in sorted(rows, key=lambda row: row["number"]):
        result = pickle.loads(bytes(row["result"]))
        if isinstance(result, _Refusal):
            raise result.error
        results.append((int(row["number"]), result))
    return results


def attempt() -> str:
    """A name of the running attempt of a task, unlike that of any other attempt; also where no task runs."""
    from pyspark import TaskContext

    context = TaskContext.get()
    return new_ulid() if context is None else f"{context.partitionId()}-{context.taskAttemptId()}-{new_ulid()}"


class _Refusal:
    """An error on purpose, on its way home."""

    def __init__(self, error: OmniGraphError) -> None:
        self.error = error


class _Tasks:
    """What a Python worker runs: the kernel on the items whose numbers it is given."""

    def __init__(self, kernel: Callable[[Any], Any], items: tuple[Any, ...]) -> None:
        self.kernel = kernel
        self.items = items

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for number in batch.column(0).to_pylist():
                yield packed(number, partial(self.kernel, self.items[number]))


def packed(number: int, work: Callable[[], Any]) -> pa.RecordBatch:
    """The result of a task's work as the row that travels home."""
    try:
        result = work()
    except OmniGraphError as error:
        result = _Refusal(error)
    arrays = [pa.array([number], pa.int64()), pa.array([pickle.dumps(result)], pa.binary())]
    return pa.RecordBatch.from_arrays(arrays, names=["number", "result"])


# --- groups, progress, cancelling -------------------------------------------------------------------------


def _interruptible(spark: SparkSession, group: str, stage_name: str, action: Callable[[], Rows]) -> Rows:
    """Runs an action beside the caller, who can be interrupted meanwhile: an interrupt ends the jobs of the group.

    In the caller's own thread the interrupt would come in the middle of a word to the JVM, and nothing more could be
    said to it.
    """
    outcome: list[Rows] = []
    failure: list[BaseException] = []

    def work() -> None:
        try:
            with _named(spark, group, stage_name):
                outcome.append(action())
        except BaseException as error:  # noqa: BLE001 - it is raised again where the caller waits
            failure.append(error)

    worker = threading.Thread(target=work, name=f"omnigraph-{stage_name}", daemon=True)
    worker.start()
    try:
        while worker.is_alive():  # a wait without end would not hear of an interrupt that another thread received
            worker.join(POLL_S)
    except BaseException:
        _cancel(spark, group)
        worker.join(CANCEL_S_MAX)
        raise
    if failure:
        raise failure[0]
    return outcome[0]


@contextmanager
def _named(spark: SparkSession, group: str, stage_name: str) -> Iterator[None]:
    """The jobs of the block, in this thread, can be told from others."""
    context = _context(spark)
    if context is not None:
        context.setJobGroup(group, f"omnigraph {stage_name}", interruptOnCancel=True)
        yield
        return
    spark.addTag(group)
    try:
        yield
    finally:
        spark.removeTag(group)


def _cancel(spark: SparkSession, group: str) -> None:
    context = _context(spark)
    if context is None:
        spark.interruptTag(group)
    else:
        context.cancelJobGroup(group)


@contextmanager
def _watched(spark: SparkSession, group: str, stage_name: str, total: int, progress: Progress | None) -> Iterator[None]:
    context = _context(spark)
    if progress is None or context is None:
        yield
        return
    tracker, ended = context.statusTracker(), threading.Event()

    def watch() -> None:
        while not ended.wait(POLL_S):
            done = 0
            for job in tracker.getJobIdsForGroup(group):
                info = tracker.getJobInfo(job)
                for stage in () if info is None else info.stageIds:
                    stage_info = tracker.getStageInfo(stage)
                    done += 0 if stage_info is None else stage_info.numCompletedTasks
            progress(stage_name, min(done, total), total)

    watcher = threading.Thread(target=watch, name="omnigraph-progress", daemon=True)
    watcher.start()
    try:
        yield
    finally:
        ended.set()
        watcher.join()


def _context(spark: SparkSession) -> Any:
    """The context of a classic session; Spark Connect has none."""
    try:
        return spark.sparkContext
    except Exception:  # noqa: BLE001 - Connect raises its own kind, which only exists where Connect is installed
        return None


def _reason(stage_name: str, error: Exception) -> str:
    """The sentence of a failed job: the last line of the worker's traceback, where there is one."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    from_python = [line for line in lines if line.partition(":")[0].isidentifier() or "Error:" in line]
    return f"the stage '{stage_name}' failed on Spark: {(from_python or lines or [type(error).__name__])[-1]}"
