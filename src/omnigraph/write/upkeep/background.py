"""Background upkeep: a thread that keeps the tables of one branch in good shape while others write.

It looks at the branch now and then, and does something only where it pays: small fragments are put together when there
are many, indexes are extended when many rows are without. It rests at least four times as long as it worked, and gives
way to writers like all upkeep. An error is told in its status and in the log, and never reaches a reader or a writer. A
process that is forked has no such thread.
"""

from __future__ import annotations

import atexit
import logging
import os
import threading
import time
import weakref
from collections.abc import Callable, Iterator, Sequence
from dataclasses import field, replace
from types import TracebackType
from typing import Literal, Self

from omnigraph.model.errors import OmniGraphError
from omnigraph.model.identifiers import TableKey
from omnigraph.model.late_dataclass import dataclass
from omnigraph.storage import AcceptedSchema, GraphStorage
from omnigraph.storage.indexes import existing_indexes
from omnigraph.storage.manifest import LoadedManifest, TablePin
from omnigraph.storage.tables import fragment_states
from omnigraph.write.commit import owns
from omnigraph.write.upkeep.cleanup_versions import cleanup
from omnigraph.write.upkeep.indexing import ensure_indices
from omnigraph.write.upkeep.old_row_versions import put_old_row_versions_together
from omnigraph.write.upkeep.optimize_tables import compact_gently
from omnigraph.write.upkeep.retention import RetentionPolicy

EVERY_S = 1.0
REST_PER_WORK = 4.0
SMALL_FRAGMENTS_MAX = 64
"""A table with more fragments of fewer than `SMALL_FRAGMENT_ROWS` rows is compacted."""
SMALL_FRAGMENT_ROWS = 1_024
UNINDEXED_ROWS_MIN = 10_000
UNINDEXED_SHARE_MIN = 0.1
"""Indexes are extended when so many rows, and such a part of all, are not in them."""
CLEANUP_EVERY_S = 3600.0
STOP_WAIT_S = 60.0
"""How long `stop` waits for work that has begun."""
_log = logging.getLogger("omnigraph.upkeep")
UpkeepState = Literal["resting", "working", "stopped"]


@dataclass(frozen=True, slots=True)
class UpkeepStatus:
    """What background upkeep is doing, and has done so far.

    >>> with graph.upkeep() as upkeep:
    ...     upkeep.status.commits
    0
    >>> upkeep.status.state
    'stopped'
    """

    state: UpkeepState = "resting"
    looks: int = 0
    """How often it has looked at the branch."""
    commits: int = 0
    """How many commits it has made. They change no entity."""
    versions_removed: int = 0
    work_seconds: float = 0.0
    last_work_at: float | None = None
    """When it last did something, in seconds since the epoch."""
    last_error: str | None = None
    """What stood against it the last time; None when that went well."""


@dataclass(frozen=True, slots=True)
class UpkeepPlan:
    """What is looked after, and how often."""

    branch: str
    every_s: float = EVERY_S
    retention: RetentionPolicy | None = None
    """None: old versions stay."""
    actor_id: str | None = None


@dataclass
class _Run:
    """What the thread and its owner share."""

    storage: GraphStorage
    schema: Callable[[], AcceptedSchema]
    plan: UpkeepPlan
    stopping: threading.Event = field(default_factory=threading.Event)
    status: UpkeepStatus = field(default_factory=UpkeepStatus)
    seen: int = -1
    """The version of `__manifest` that was looked at last."""
    cleaned_at: float = field(default_factory=time.monotonic)


class Upkeep:
    """Background upkeep that runs until it is stopped. Get one from `graph.upkeep()`.

    >>> upkeep = graph.upkeep()
    >>> upkeep.is_running
    True
    >>> upkeep.stop()
    >>> upkeep.is_running
    False
    """

    def __init__(self, storage: GraphStorage, schema: Callable[[], AcceptedSchema], plan: UpkeepPlan) -> None:
        self._run = _Run(storage, schema, plan)
        self._process = os.getpid()
        self._thread = threading.Thread(target=_work, args=(self._run,), name="omnigraph-upkeep", daemon=True)
        self._thread.start()
        _running.add(self)

    @property
    def status(self) -> UpkeepStatus:
        """What it is doing, and has done so far.

        >>> with graph.upkeep() as upkeep:
        ...     upkeep.status.last_error is None
        True
        """
        return self._run.status if self.is_running else replace(self._run.status, state="stopped")

    @property
    def is_running(self) -> bool:
        """False once it was stopped, and in a process that was forked from the one that started it.

        >>> with graph.upkeep() as upkeep:
        ...     upkeep.is_running
        True
        """
        return self._process == os.getpid() and self._thread.is_alive()

    def stop(self, wait_s: float = STOP_WAIT_S) -> None:
        """Ends it. Work that has begun is finished first, for at most `wait_s` seconds.

        >>> upkeep = graph.upkeep()
        >>> upkeep.stop()
        """
        if self._process == os.getpid():
            self._run.stopping.set()
            if self._thread is not threading.current_thread():
                self._thread.join(wait_s)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()


_running: weakref.WeakSet[Upkeep] = weakref.WeakSet()


def _stop_all() -> None:
    """At the end of the process: what has begun is finished, so that nothing has to be resolved later."""
    for upkeep in list(_running):
        upkeep.stop()


atexit.register(_stop_all)


# --- the thread -------------------------------------------------------------------------------------------


def _work(run: _Run) -> None:
    rest = run.plan.every_s
    while not run.stopping.wait(rest):
        begun = time.monotonic()
        try:
            commits, removed = _look(run)
            run.status = _after(run.status, begun, commits, removed, None)
        except OmniGraphError as error:
            if error.sentence() != run.status.last_error:  # what lasts is told once
                _log.warning("upkeep of %s: %s", run.storage.root.uri, error.sentence())
            run.status = _after(run.status, begun, 0, 0, error.sentence())
        except Exception as error:  # noqa: BLE001 - nobody waits for this thread: it tells, and tries again
            _log.exception("upkeep of %s failed", run.storage.root.uri)
            run.status = _after(run.status, begun, 0, 0, f"{type(error).__name__}: {error}")
        rest = max(run.plan.every_s, REST_PER_WORK * (time.monotonic() - begun))


def _after(before: UpkeepStatus, begun: float, commits: int, removed: int, error: str | None) -> UpkeepStatus:
    worked = bool(commits or removed)
    return UpkeepStatus(
        state="resting",
        looks=before.looks + 1,
        commits=before.commits + commits,
        versions_removed=before.versions_removed + removed,
        work_seconds=before.work_seconds + (time.monotonic() - begun),
        last_work_at=time.time() if worked else before.last_work_at,
        last_error=error,
    )


def _look(run: _Run) -> tuple[int, int]:
    """One look: (commits made, versions removed)."""
    loaded = run.storage.manifest.load(run.plan.branch)
    commits = 0
    if loaded.version != run.seen:
        commits = sum(_tend(run, loaded))
        run.seen = run.storage.manifest.load(run.plan.branch).version if commits else loaded.version
    removed = _clean(run)
    return commits + (_shorten(run) if removed else 0), removed


def _tend(run: _Run, loaded: LoadedManifest) -> Iterator[int]:
    """What pays, one kind after the other; how many commits that was."""
    own = [pin for pin in loaded.state.pins() if owns(pin, run.plan.branch) and pin.row_count]
    plan = run.plan
    scattered = [pin.table_key for pin in own if _is_scattered(run.storage, pin)]
    if scattered and not run.stopping.is_set():
        run.status = replace(run.status, state="working")
        commit, conflict = compact_gently(run.storage, run.schema, plan.branch, scattered, plan.actor_id)
        _tell(conflict)
        yield int(commit is not None)
    stale = [pin.table_key for pin in own if _is_unindexed(run.storage, pin)]
    if stale and not run.stopping.is_set():
        run.status = replace(run.status, state="working")
        yield _index(run, stale)


def _index(run: _Run, stale: Sequence[TableKey]) -> int:
    keys = [str(key) for key in stale]
    plan = run.plan
    report = ensure_indices(run.storage, run.schema, plan.branch, tables=keys, actor_id=plan.actor_id, substrings=False)
    _tell(report.conflict)
    return int(report.commit is not None)


def _tell(conflict: str | None) -> None:
    if conflict is not None:
        _log.info("upkeep gave way: %s", conflict)


def _is_scattered(storage: GraphStorage, pin: TablePin) -> bool:
    states = fragment_states(storage.tables.open(pin))
    return sum(state.rows < SMALL_FRAGMENT_ROWS for state in states) > SMALL_FRAGMENTS_MAX


def _is_unindexed(storage: GraphStorage, pin: TablePin) -> bool:
    """Whether an index that is there has fallen behind far enough."""
    if pin.row_count < UNINDEXED_ROWS_MIN:
        return False
    table = storage.tables.open(pin)
    rows = {state.number: state.rows for state in fragment_states(table)}
    fresh = [
        sum(count for number, count in rows.items() if number not in index.fragments)
        for index in existing_indexes(table)
    ]
    return max(fresh, default=0) >= max(UNINDEXED_ROWS_MIN, UNINDEXED_SHARE_MIN * pin.row_count)


def _clean(run: _Run) -> int:
    if run.plan.retention is None or time.monotonic() - run.cleaned_at < CLEANUP_EVERY_S:
        return 0
    run.status = replace(run.status, state="working")
    run.cleaned_at = time.monotonic()
    return cleanup(run.storage, run.plan.retention, confirm=True).versions


def _shorten(run: _Run) -> int:
    """What version files list of the versions that were just removed."""
    commit, _ = put_old_row_versions_together(run.storage, run.schema, run.plan.branch, actor_id=run.plan.actor_id)
    return int(commit is not None)
