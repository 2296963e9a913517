"""Running kernels: one work item per task, results exactly once, and an end by Ctrl-C that leaves nothing.

Rows never pass through the JVM. A task is `kernel(item)`. Its result is pickled and sent to the driver, and only the
result of the attempt that succeeded arrives. A kernel that refuses on purpose (an `OmniGraphError`) is not tried again.
"""

from __future__ import annotations

import pickle
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import pyarrow as pa

from omnigraph.model.errors import Internal, OmniGraphError
from omnigraph.model.identifiers import new_ulid
from omnigraph.model.late_dataclass import dataclass
from omnigraph.pipeline.spark.spark_session import log_tail, running_session, session
from omnigraph.pipeline.spark.stage_progress import (
    POLL_S,
    Amount,
    Stage,
    StageReport,
    Tally,
    context_of,
    report_connect_tasks,
    report_polled_tasks,
    tally,
)
from omnigraph.pipeline.spark.task_environment import driver_settings, use_settings

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Item = TypeVar("Item")
Result = TypeVar("Result")
Rows = TypeVar("Rows")
Work: TypeAlias = Callable[[Iterator[pa.RecordBatch]], Iterable[tuple[int, Callable[[], Any]]]]
"""What a worker does with the batches of a partition: numbered pieces of work, each with one result. Picklable."""

CANCEL_S_MAX = 20.0
"""How long an interrupted caller waits for its tasks to end."""
_RESULT = "number long, result binary"


class SparkJobFailed(Internal):
    """A job on Spark failed for a reason that is not the input's. Nothing was published."""


def run(
    spark: SparkSession | None, kernel: Callable[[Item], Result], items: Sequence[Item], *, stage: Stage
) -> list[Result]:
    """The results of the kernel over the items, in their order. The kernel lives in an importable module.

    Without a session the kernel runs here, on one item after another.
    """
    if not items:
        return []
    if spark is None:
        return _run_here(kernel, items, stage)
    tasks = spark.range(0, len(items), 1, len(items))
    found = dict(collect(spark, tasks, _Items(kernel, tuple(items)), stage=stage, tasks_total=len(items)))
    return [found[number] for number in range(len(items))]


def _run_here(kernel: Callable[[Item], Result], items: Sequence[Item], stage: Stage) -> list[Result]:
    report, results, done = StageReport(stage, len(items)), [], Amount()
    report.update(0, done)
    for item in items:
        results.append(kernel(item))
        done += Amount() if stage.amount_of is None else stage.amount_of(results[-1])
        report.update(len(results), done)
    return results


def warm_session(given: SparkSession | str | None, import_kernels: Callable[[int], None]) -> SparkSession:
    """The session that was given, or ours, on the master that was named; a new one is warm when it is returned."""
    if given is not None and not isinstance(given, str):
        return given
    is_new = running_session() is None
    spark = session(given)
    if is_new:
        warm_up(spark, import_kernels)
    return spark


def warm_up(spark: SparkSession, import_kernels: Callable[[int], None]) -> None:
    """Starts the Python workers of a new session and has them import what they will run: then comes work alone."""
    context = context_of(spark)
    slots = 1 if context is None else int(context.defaultParallelism)
    run(spark, import_kernels, range(slots), stage=Stage(name="session"))


def collect(
    spark: SparkSession, frame: DataFrame, work: Work, *, stage: Stage, tasks_total: int = 1
) -> list[tuple[int, Any]]:
    """The numbered results of work on the partitions of a frame, each once. The frame is run by this call alone."""
    group, report, counted = f"omnigraph-{new_ulid()}", StageReport(stage, tasks_total), tally(spark, stage)
    report.update(0, Amount())
    tasks = frame.mapInArrow(_Tasks(work, counted, driver_settings()), _RESULT)
    with report_polled_tasks(spark, group, report, counted):
        rows = _interruptible(spark, group, report, tasks.collect)
    results = []
    for row in sorted(rows, key=lambda row: row["number"]):
        result = pickle.loads(bytes(row["result"]))
        if isinstance(result, _Refusal):
            raise result.error
        results.append((int(row["number"]), result))
    report.finish([result for _, result in results])
    return results


def attempt() -> str:
    """A name of the running attempt of a task, unlike that of any other attempt; also where no task runs."""
    from pyspark import TaskContext

    context = TaskContext.get()
    return new_ulid() if context is None else f"{context.partitionId()}-{context.taskAttemptId()}-{new_ulid()}"


class _Refusal:
    """An error that a kernel raised on purpose, on its way to the driver."""

    def __init__(self, error: OmniGraphError) -> None:
        self.error = error


@dataclass(frozen=True, slots=True)
class _Items:
    """The kernel on the items whose numbers are in the batches."""

    kernel: Callable[[Any], Any]
    items: tuple[Any, ...]

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[tuple[int, Callable[[], Any]]]:
        for batch in batches:
            for number in batch.column(0).to_pylist():
                yield number, partial(self.kernel, self.items[number])


@dataclass(frozen=True, slots=True)
class _Tasks:
    """What a Python worker runs: the work on its partition, with each result as a row for the driver."""

    work: Work
    counted: Tally | None
    settings: Mapping[str, str]

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for number, piece in self.work(batches):
            result = self._result(piece)
            arrays = [pa.array([number], pa.int64()), pa.array([pickle.dumps(result)], pa.binary())]
            yield pa.RecordBatch.from_arrays(arrays, names=["number", "result"])

    def _result(self, piece: Callable[[], Any]) -> Any:
        try:
            with use_settings(self.settings):
                result = piece()
        except OmniGraphError as error:
            return _Refusal(error)
        if self.counted is not None:
            self.counted.add(result)
        return result


# --- groups, cancelling -----------------------------------------------------------------------------------


def _interruptible(spark: SparkSession, group: str, report: StageReport, action: Callable[[], Rows]) -> Rows:
    """Runs an action beside the caller, who can be interrupted meanwhile: an interrupt ends the jobs of the group, and
    so does what the listener or the check of the stage raises.

    In the caller's own thread the interrupt could cut a message to the JVM short, and the connection would be unusable.
    """
    outcome: list[Rows] = []
    failure: list[BaseException] = []

    def work() -> None:
        try:
            with _named(spark, group, report.stage.name), report_connect_tasks(spark, report):
                outcome.append(action())
        except BaseException as error:  # noqa: BLE001 - it is raised again where the caller waits
            failure.append(error)

    worker = threading.Thread(target=work, name=f"omnigraph-{report.stage.name}", daemon=True)
    worker.start()
    try:
        while worker.is_alive():  # a wait without a timeout would not notice an interrupt that another thread received
            worker.join(POLL_S)
            report.check()
    except BaseException:
        _cancel(spark, group)
        worker.join(CANCEL_S_MAX)
        raise
    if failure:
        raise _failed(report.stage, failure[0])
    return outcome[0]


def _failed(stage: Stage, error: BaseException) -> BaseException:
    if not isinstance(error, Exception):
        return error
    reason = reason_of(error)
    failed = SparkJobFailed(
        f"the stage '{stage.name}' failed on Spark: {reason}", hint_for(reason) or log_tail() or None
    )
    failed.__cause__ = error
    return failed


@contextmanager
def _named(spark: SparkSession, group: str, stage_name: str) -> Iterator[None]:
    """Marks the jobs of the block, in this thread, as a group."""
    context = context_of(spark)
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
    context = context_of(spark)
    if context is None:
        spark.interruptTag(group)
    else:
        context.cancelJobGroup(group)


def reason_of(error: Exception) -> str:
    """Why a job failed: the last line of the worker's traceback, where there is one."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    lines = [line for line in lines if not line.startswith("hint:")]  # the line before it says what happened
    from_python = [line for line in lines if line.partition(":")[0].isidentifier() or "Error:" in line]
    return (from_python or lines or [type(error).__name__])[-1]


def hint_for(reason: str) -> str | None:
    """What to do about failures that every new cluster shows once."""
    if "No module named" in reason or "PYTHON_VERSION_MISMATCH" in reason or "Cannot run program" in reason:
        return (
            "executors need this Python version with omnigraph installed: "
            "set PYSPARK_PYTHON to a Python that every executor has"
        )
    return None
