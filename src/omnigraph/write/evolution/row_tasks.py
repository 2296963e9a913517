"""Row tasks: what a schema change writes of rows, in pieces that any process can do with nothing but its piece.

A table is cut between fragments, into pieces of about a data file. A piece is written into a folder of its own attempt:
what a lost attempt leaves behind lies in the staging area. The results, in the order of the tasks, are the fragments of
the table afterwards, in the order of its rows. Who runs the tasks is up to the caller; here they run one after another.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal, TypeAlias

from omnigraph.model.identifiers import new_ulid
from omnigraph.model.late_dataclass import dataclass
from omnigraph.model.progress import ProgressListener
from omnigraph.storage import reading
from omnigraph.storage.bulk import FRAGMENT_ROWS, StagingFiles, WrittenFragment, write_bulk, write_new_columns
from omnigraph.storage.manifest import TablePin
from omnigraph.storage.tables import Table, fragment_states, scan_groups, table_schema
from omnigraph.write.evolution.lifting import earlier_values, lifted_rows, new_columns
from omnigraph.write.evolution.past_values import PastTable
from omnigraph.write.evolution.stages import after, stage
from omnigraph.write.evolution.table_evolutions import TableEvolution

Writes: TypeAlias = Literal["rows", "columns"]
Tell: TypeAlias = Callable[[int], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class RowTask:
    """Some fragments of a table, to be written as a change wants them. Picklable."""

    files: StagingFiles
    pin: TablePin
    """The table that is read."""
    fragments: tuple[int, ...]
    rows: int
    change: TableEvolution
    writes: Writes
    """Whole rows, or the files of the columns that get values."""
    past: PastTable | None = None
    """What values that come back are taken from."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RowWork:
    """Every row task of one change, and who wants to know how it goes."""

    tasks: tuple[RowTask, ...]
    bytes: int = 0
    """About so many will be written."""
    listener: ProgressListener | None = None
    check: Callable[[], None] = lambda: None
    """Raises when the graph is not ours any more. To be asked often while tasks run."""

    @property
    def rows(self) -> int:
        return sum(task.rows for task in self.tasks)


RunTasks: TypeAlias = Callable[[RowWork], Sequence[Sequence[WrittenFragment]]]
"""Runs every task, somewhere; the results in the order of the tasks."""


def row_tasks(
    files: StagingFiles, table: Table, change: TableEvolution, writes: Writes, past: PastTable | None = None
) -> list[RowTask]:
    """The tasks of one table. They have every fragment once, in the order of its rows."""
    held = {state.number: state.rows for state in fragment_states(table)}
    tasks = []
    for group in scan_groups(table, rows=FRAGMENT_ROWS):
        rows = sum(held[number] for number in group)
        if rows or writes == "columns":  # a fragment whose rows are all deleted still has columns
            task = RowTask(
                files=files, pin=table.pin, fragments=group, rows=rows, change=change, writes=writes, past=past
            )
            tasks.append(task)
    return tasks


def write_piece(task: RowTask, tell: Tell = lambda _: None) -> list[WrittenFragment]:
    """Writes the files of one task. A kernel: runs here and in tasks elsewhere.

    `tell` is called with the number of rows of it that are done.
    """
    change, storage = task.change, reading(task.files.root)
    assert change.entity is not None
    table, target, folder = storage.tables.open(task.pin), table_schema(change.entity), f"{task.writes}/{new_ulid()}"
    with task.files.at_work():
        if task.writes == "rows":
            return write_bulk(task.files, folder, target, lifted_rows(change, table, None, tell, task.fragments))
        past = None if task.past is None else earlier_values(change, storage.tables.open(task.past.pin), task.past)
        new = new_columns(change, past)
        return write_new_columns(task.files, folder, table, task.fragments, target, change.sources or {}, new, tell)


def run_here(work: RowWork) -> list[list[WrittenFragment]]:
    """Runs the tasks in this process, one after another: memory does not grow with their number."""
    results: list[list[WrittenFragment]] = []
    with stage(work.listener, "write", work.rows) as tell:

        def told(done: int) -> None:
            work.check()
            tell(done)

        before = 0
        for task in work.tasks:
            results.append(write_piece(task, after(before, told)))
            before += task.rows
    return results
