"""Progress of a stage: Spark's task status and the amounts of finished tasks, reported to a listener.

In a classic session the tasks come from the status tracker and the rows from an accumulator, which Spark adds up once
for each task that succeeded: a lost attempt does not count. Spark Connect has neither; its progress reports give the
tasks, and the rows are known when the stage is done.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import field
from typing import TYPE_CHECKING, Any

from omnigraph.model.late_dataclass import dataclass
from omnigraph.model.progress import Progress, ProgressListener

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

POLL_S = 0.2


@dataclass(frozen=True, slots=True)
class Amount:
    """Work that is finished."""

    rows: int = 0
    bytes: int = 0

    def __add__(self, other: Amount) -> Amount:
        return Amount(self.rows + other.rows, self.bytes + other.bytes)


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """A stage of a job, and who listens to its progress."""

    name: str
    listener: ProgressListener | None = None
    amount_of: Callable[[Any], Amount] | None = None
    """How much work the result of a task stands for. Runs in the task, so it lives in an importable module."""
    rows_total: int | None = None
    bytes_total: int | None = None
    check: Callable[[], None] | None = None
    """Asked again and again while tasks run, by the caller's thread. What it raises ends the stage."""


@dataclass(slots=True)
class StageReport:
    """One run of a stage: passes its progress on to the listener."""

    stage: Stage
    tasks_total: int = 1
    tasks: int = 0
    begun: float = field(default_factory=time.monotonic)
    failure: BaseException | None = None
    """What the listener raised in another thread than the caller's."""

    def update(self, tasks: int, amount: Amount, tasks_total: int = 0) -> None:
        if self.stage.listener is None:
            return
        self.tasks_total = max(self.tasks_total, tasks_total)
        self.tasks = max(self.tasks, min(tasks, self.tasks_total))  # a lost executor takes finished tasks with it
        self.stage.listener(
            Progress(
                stage=self.stage.name,
                tasks=self.tasks,
                tasks_total=self.tasks_total,
                rows=amount.rows,
                rows_total=self.stage.rows_total,
                bytes=amount.bytes,
                bytes_total=self.stage.bytes_total,
                seconds=time.monotonic() - self.begun,
            )
        )

    def update_beside(self, tasks: int, amount: Amount, tasks_total: int = 0) -> None:
        """As `update`, in another thread than the caller's: what the listener raises ends the stage by `check`."""
        if self.failure is None:
            try:
                self.update(tasks, amount, tasks_total)
            except BaseException as error:  # noqa: BLE001 - it is raised again where the caller waits
                self.failure = error

    def check(self) -> None:
        """Called by the caller's thread while it waits. Raises what is to end the stage."""
        if self.failure is not None:
            raise self.failure
        if self.stage.check is not None:
            self.stage.check()

    def finish(self, results: Sequence[Any]) -> None:
        """All tasks are done: the amounts of their results are exact, however little was reported before."""
        amount_of = self.stage.amount_of
        done = Amount() if amount_of is None else sum(map(amount_of, results), Amount())
        total = max(self.tasks_total, len(results))
        self.update(total, done, total)

    def add_part(self, part: Progress) -> None:
        """Jobs that are a part of the stage: their tasks are its tasks."""
        self.update(part.tasks, Amount(), part.tasks_total)


@contextmanager
def report_stage(stage: Stage) -> Iterator[StageReport]:
    """Reports the beginning and the end of the block as a stage."""
    report = StageReport(stage)
    report.update(0, Amount())
    yield report
    report.update(report.tasks_total, Amount(stage.rows_total or 0, stage.bytes_total or 0))


@dataclass(frozen=True, slots=True)
class Tally:
    """Adds up the amounts of results, from inside the tasks. Picklable."""

    sum: Any
    amount_of: Callable[[Any], Amount]

    def add(self, result: Any) -> None:
        self.sum.add(self.amount_of(result))


class _Sum:
    """How Spark adds amounts up."""

    def zero(self, value: Amount) -> Amount:
        return Amount()

    def addInPlace(self, first: Amount, second: Amount) -> Amount:  # noqa: N802 — Spark's name
        return first + second


def tally(spark: SparkSession, stage: Stage) -> Tally | None:
    """A counter for the finished work of a stage, if somebody listens and Spark can count."""
    context = context_of(spark)
    if context is None or stage.listener is None or stage.amount_of is None:
        return None
    return Tally(context.accumulator(Amount(), _Sum()), stage.amount_of)


@contextmanager
def report_polled_tasks(spark: SparkSession, group: str, report: StageReport, counted: Tally | None) -> Iterator[None]:
    """Reports the tasks of a job group while the block runs, by asking a classic session again and again."""
    context = context_of(spark)
    if report.stage.listener is None or context is None:
        yield
        return
    tracker, ended = context.statusTracker(), threading.Event()

    def look() -> None:
        while not ended.wait(POLL_S):
            done, total = _tasks(tracker, group)
            report.update_beside(done, Amount() if counted is None else counted.sum.value, total)

    watcher = threading.Thread(target=look, name="omnigraph-progress", daemon=True)
    watcher.start()
    try:
        yield
    finally:
        ended.set()
        watcher.join()


def _tasks(tracker: Any, group: str) -> tuple[int, int]:
    """Finished tasks and tasks in all, of every stage that the jobs of a group have so far."""
    jobs = (tracker.getJobInfo(job) for job in tracker.getJobIdsForGroup(group))
    stages = [tracker.getStageInfo(stage) for job in jobs if job is not None for stage in job.stageIds]
    known = [stage for stage in stages if stage is not None]
    return sum(stage.numCompletedTasks for stage in known), sum(stage.numTasks for stage in known)


@contextmanager
def report_connect_tasks(spark: SparkSession, report: StageReport) -> Iterator[None]:
    """Reports what Spark Connect says about the block, which runs in this thread: Connect calls back in it."""
    if report.stage.listener is None or context_of(spark) is not None:
        yield
        return
    here = threading.get_ident()

    def on_progress(*, stages: Any, **_: Any) -> None:
        if threading.get_ident() == here:
            known = list(stages or ())
            done, total = sum(each.num_completed_tasks for each in known), sum(each.num_tasks for each in known)
            report.update_beside(done, Amount(), total)

    handler: Any = on_progress  # Spark types it as a class of Connect's, and calls it as a function
    spark.registerProgressHandler(handler)
    try:
        yield
    finally:
        spark.removeProgressHandler(handler)


def context_of(spark: SparkSession) -> Any:
    """The context of a classic session; Spark Connect has none."""
    try:
        return spark.sparkContext
    except Exception:  # noqa: BLE001 - Connect raises its own kind, which only exists where Connect is installed
        return None
