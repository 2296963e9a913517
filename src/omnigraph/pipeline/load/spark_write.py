"""Writing a load: accepted rows become data files on the executors, and staged work for the commit protocol.

Files are written into the staging area, whatever table and branch they are for. Taking them into a table is a move and
happens when the commit protocol asks for it, so nothing long runs while a branch is held.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import field
from functools import partial
from typing import TYPE_CHECKING, Literal

import pyarrow as pa

from omnigraph.model.identifiers import TableKey
from omnigraph.model.late_dataclass import dataclass
from omnigraph.model.progress import ProgressListener
from omnigraph.pipeline.load.spilled_rows import Selected, SpilledLoad, select, selected_rows
from omnigraph.pipeline.spark import Amount, Stage, attempt, run
from omnigraph.storage import GraphStorage, Point, reach
from omnigraph.storage.bulk import (
    FRAGMENT_ROWS,
    StagingArea,
    StagingFiles,
    WrittenFragment,
    stage_bulk,
    stage_bulk_upsert,
    write_bulk,
    written_paths,
)
from omnigraph.storage.manifest import TablePin
from omnigraph.storage.tables import StagedEffect
from omnigraph.write import ChangeSet, StagedWork
from omnigraph.write.load import LoadChecks, LoadMode, TypeRows
from omnigraph.write.rules import CommittedView

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Way = Literal["append", "overwrite", "upsert"]


@dataclass(frozen=True, slots=True)
class WriteTask:
    """Rows for one data file, or a few."""

    key: TableKey
    files: StagingFiles
    schema: pa.Schema
    selected: tuple[Selected, ...]


def write_rows(task: WriteTask) -> list[WrittenFragment]:
    """Writes the data files of one task. The kernel of the last stage."""
    rows = selected_rows(task.files, task.selected, task.schema)
    folder = f"write/{task.key.kind}-{task.key.type_name}/{attempt()}"
    with task.files.at_work():
        return write_bulk(task.files, folder, task.schema, rows)


def amount_written(fragments: Sequence[WrittenFragment]) -> Amount:
    return Amount(sum(fragment.rows for fragment in fragments))


@dataclass(frozen=True, slots=True)
class _Rows:
    """The accepted rows of one type, ready to be written."""

    key: TableKey
    schema: pa.Schema
    way: Way
    selected: tuple[Selected, ...]
    digest: str
    """Equal for equal rows: what was written for a lost attempt is used again."""


@dataclass(slots=True)
class LoadWriter:
    """The last stage of one load. Kept over its attempts."""

    storage: GraphStorage
    spark: SparkSession | None
    area: StagingArea
    progress: ProgressListener | None
    written: dict[TableKey, tuple[str, list[WrittenFragment]]] = field(default_factory=dict)
    staged: dict[TableKey, StagedEffect] = field(default_factory=dict)
    attempts: int = 0

    def change_set(self, load: SpilledLoad, checks: LoadChecks) -> ChangeSet:
        """Writes what was accepted and says how it is taken into the tables."""
        self.attempts += 1
        spilled = load.spilled()
        works: list[StagedWork] = []
        rows: list[_Rows] = []
        for key in checks.changes().tables:
            each = checks.types[key]
            if checks.patch:
                works.append(StagedWork(key, partial(self._patched, each.plan.schema, each.decoded.rows)))
                continue
            selected = select(load, key, each, spilled[key], f"{self.attempts}")
            way = way_of(checks.mode, key, each, checks.view)
            rows.append(_Rows(key, each.plan.schema, way, tuple(selected), _digest(each)))
        self._write([each for each in rows if each.way != "upsert"])
        reach(Point.LOAD_FRAGMENTS_WRITTEN)
        works += [StagedWork(each.key, self._stage(each)) for each in rows]
        return ChangeSet(works=tuple(works), guard=self.area.check)

    def _write(self, rows: Sequence[_Rows]) -> None:
        """One job for all tables: a task per million rows."""
        tasks: list[WriteTask] = []
        for each in rows:
            known = self.written.get(each.key)
            if known is not None and known[0] == each.digest and self._still_there(known[1]):
                continue
            self.written[each.key] = (each.digest, [])
            tasks += [WriteTask(each.key, self.area.files, each.schema, part) for part in _parts(each.selected)]
        for task, fragments in zip(tasks, self._run(tasks), strict=True):
            self.written[task.key][1].extend(fragments)

    def _run(self, tasks: Sequence[WriteTask]) -> list[list[WrittenFragment]]:
        rows = sum(each.rows for task in tasks for each in task.selected)
        stage = Stage(name="write", listener=self.progress, amount_of=amount_written, rows_total=rows)
        return run(self.spark, write_rows, tasks, stage=stage)

    def _still_there(self, fragments: Sequence[WrittenFragment]) -> bool:
        """Files that an earlier attempt moved into a table are not written for the next one again; a fork that it
        made may be gone with them."""
        moved = set().union(*self.area.moved.values()) if self.area.moved else set()
        return not any(path in moved for fragment in fragments for path in fragment.paths)

    def _stage(self, rows: _Rows) -> Callable[[TablePin], StagedEffect | None]:
        return partial(self._effect, rows)

    def _effect(self, rows: _Rows, pin: TablePin) -> StagedEffect:
        if rows.way == "upsert":
            return self._upserted(rows.schema, selected_rows(self.area.files, rows.selected, rows.schema), pin)
        table = self.storage.tables.open(pin)
        return self._staged(pin, stage_bulk(self.area, table, rows.schema, self.written[rows.key][1], rows.way))

    def _patched(self, schema: pa.Schema, rows: pa.Table, pin: TablePin) -> StagedEffect:
        """Rows that the checks have filled from stored ones; they are not those of the spilled files."""
        return self._upserted(schema, iter(rows.cast(schema).to_batches()), pin)

    def _upserted(self, schema: pa.Schema, rows: Iterator[pa.RecordBatch], pin: TablePin) -> StagedEffect:
        return self._staged(pin, stage_bulk_upsert(self.area, self.storage.tables.open(pin), schema, rows))

    def _staged(self, pin: TablePin, effect: StagedEffect) -> StagedEffect:
        self.staged[pin.table_key] = effect
        reach(Point.LOAD_BEFORE_TABLE_COMMIT)
        return effect

    def committed_files(self) -> frozenset[str]:
        """The files of the effects that were staged last: after a commit, the ones that it made visible."""
        return frozenset().union(*(written_paths(effect) for effect in self.staged.values()))


def way_of(mode: LoadMode, key: TableKey, each: TypeRows, view: CommittedView) -> Way:
    """How the rows reach their table. A merge into an empty table is an append."""
    if mode != "merge":
        return "append" if mode == "append" else "overwrite"
    if not view.row_count(key):
        return "append"
    stated = each.decoded.rows["id"].filter(pa.array(~each.decoded.generated))
    if not len(stated):
        return "append"
    return "upsert" if view.holds_any(key, stated) else "append"


def _parts(selected: Sequence[Selected]) -> list[tuple[Selected, ...]]:
    """Spilled files together until they make a data file."""
    parts: list[list[Selected]] = []
    rows = 0
    for each in selected:
        if not parts or rows + each.rows > FRAGMENT_ROWS:
            parts.append([])
            rows = 0
        parts[-1].append(each)
        rows += each.rows
    return [tuple(part) for part in parts]


def _digest(each: TypeRows) -> str:
    running = hashlib.sha256(each.decoded.lines.tobytes())
    if each.renamed:
        for chunk in each.decoded.rows["id"].chunks:
            for text in chunk.to_pylist():
                running.update(text.encode() + b"\0")
    return running.hexdigest()
