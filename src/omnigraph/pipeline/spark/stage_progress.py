"""Watching a stage: Spark's own status, and what finished tasks amount to, as progress for a listener.

In a classic session the tasks come from the status tracker and the rows from an accumulator, which Spark adds up once
per task that succeeded: a lost attempt does not count. Spark Connect has neither; its progress reports tell the tasks,
and rows are known when the stage is done.
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
    """A stage of a job, and who wants to hear of it."""

    name: str
    listener: ProgressListener | None = None
    amount_of: Callable[[Any], Amount] | None = None
    """What the result of a task amounts to. Runs in the task, so it lives in an importable module."""
    rows_total: int | None = None
    bytes_total: int | None = None


@dataclass(slots=True)
class Watch:
    """One run of a stage, as its listener is told."""

    stage: Stage
    tasks_total: int = 1
    tasks: int = 0
    begun: float = field(default_factory=time.monotonic)

    def tell(self, tasks: int, amount: Amount, tasks_total: int = 0) -> None:
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

    def tell_end(self, results: Sequence[Any]) -> None:
        """All tasks are done: what their results amount to is exact, however little was heard of it before."""
        amount_of = self.stage.amount_of
        done = Amount() if amount_of is None else sum(map(amount_of, results), Amount())
        total = max(self.tasks_total, len(results))
        self.tell(total, done, total)

    def hear(self, part: Progress) -> None:
        """Jobs that are a part of the stage: their tasks are its tasks."""
        self.tell(part.tasks, Amount(), part.tasks_total)


@contextmanager
def told(stage: Stage) -> Iterator[Watch]:
    """Tells the beginning and the end of a stage that this process runs, whoever does the work."""
    watch = Watch(stage)
    watch.tell(0, Amount())
    yield watch
    watch.tell(watch.tasks_total, Amount(stage.rows_total or 0, stage.bytes_total or 0))


@dataclass(frozen=True, slots=True)
class Tally:
    """What a task carries to its worker: adds what its results amount to. Picklable."""

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
    """Counts what the tasks of a stage finish, where somebody listens and Spark can count."""
    context = context_of(spark)
    if context is None or stage.listener is None or stage.amount_of is None:
        return None
    return Tally(context.accumulator(Amount(), _Sum()), stage.amount_of)


@contextmanager
def watching(spark: SparkSession, group: str, watch: Watch, counted: Tally | None) -> Iterator[None]:
    """Tells the listener how far the jobs of a group are while the block runs, in a classic session."""
    context = context_of(spark)
    if watch.stage.listener is None or context is None:
        yield
        return
    tracker, ended = context.statusTracker(), threading.Event()

    def look() -> None:
        while not ended.wait(POLL_S):
            done, total = _tasks(tracker, group)
            watch.tell(done, Amount() if counted is None else counted.sum.value, total)

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
def hearing(spark: SparkSession, watch: Watch) -> Iterator[None]:
    """Tells the listener what Spark Connect reports of the block, which runs in this thread: reports come to it."""
    if watch.stage.listener is None or context_of(spark) is not None:
        yield
        return
    here = threading.get_ident()

    def heard(*, stages: Any, **_: Any) -> None:
        if threading.get_ident() == here:
            known = list(stages or ())
            done, total = sum(each.num_completed_tasks for each in known), sum(each.num_tasks for each in known)
            watch.tell(done, Amount(), total)

    handler: Any = heard  # Spark types it as a class of Connect's, and calls it as a function
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
