"""Effects of a schema change: the stored rows checked against new rules, and the files of every table staged."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import field

from omnigraph.language.schema import EdgeType, NodeType
from omnigraph.model.errors import OmniGraphError
from omnigraph.model.identifiers import TableKey, new_ulid
from omnigraph.model.late_dataclass import dataclass
from omnigraph.model.progress import ProgressListener
from omnigraph.storage import GraphStorage, Point, reach
from omnigraph.storage.bulk import StagingArea, WrittenFragment, stage_bulk, stage_new_columns, staging_area
from omnigraph.storage.manifest import ManifestState, TablePin
from omnigraph.storage.tables import StagedEffect, stage_columns, table_schema
from omnigraph.write.evolution.facts import bytes_written
from omnigraph.write.evolution.past_values import PastTable, past_table
from omnigraph.write.evolution.plan import SchemaPlan
from omnigraph.write.evolution.refusals import SchemaRowsRefused
from omnigraph.write.evolution.row_checks import NewRules, check_stored, missing_ends, new_rules
from omnigraph.write.evolution.row_tasks import RowTask, RowWork, RunTasks, Writes, row_tasks, run_here
from omnigraph.write.evolution.stages import after, now_and_then, stage
from omnigraph.write.evolution.table_evolutions import TableEvolution
from omnigraph.write.rules import CommittedView, ViolationLog

_log = logging.getLogger("omnigraph.write")
Pins = Mapping[TableKey, TablePin]


def check_rows(
    storage: GraphStorage, plan: SchemaPlan, pins: Pins, listener: ProgressListener | None, past: Pins
) -> None:
    """Raises SchemaRowsRefused when stored rows break what the new schema demands more than the old one."""
    log = ViolationLog()
    for evolution in plan.evolutions:
        if isinstance(evolution.entity, EdgeType) and evolution.effect == "create" and evolution.key in past:
            table = storage.tables.open(past[evolution.key])
            log.add(missing_ends(CommittedView(storage, pins), evolution.entity, table))
    asked = list(_asked(plan, pins))
    with stage(listener, "check", sum(pin.row_count for _, _, pin in asked)) as tell:
        before = 0
        for evolution, rules, pin in asked:
            check_stored(evolution, storage.tables.open(pin), rules, log, after(before, tell))
            before += pin.row_count
    if log.total:
        raise SchemaRowsRefused(tuple(log.violations), log.total)


def _asked(plan: SchemaPlan, pins: Pins) -> Iterator[tuple[TableEvolution, NewRules, TablePin]]:
    for evolution in plan.kept:
        pin = pins.get(evolution.was) if evolution.was is not None else None
        if evolution.entity is None or pin is None or not pin.row_count:
            continue
        rules = new_rules(plan.migration, evolution.entity)
        if not rules.is_empty:
            yield evolution, rules, pin


@dataclass(frozen=True, slots=True)
class MadeTable:
    """A table that is to be made: of a new type, or under the new name of one."""

    key: TableKey
    entity: NodeType | EdgeType
    above: int
    """Its version must have a greater number than this."""
    rows: tuple[WrittenFragment, ...] = ()


@dataclass(slots=True)
class StagedTables:
    """Everything that a schema change will do to tables, on disk and invisible."""

    area: StagingArea | None = None
    effects: list[StagedEffect] = field(default_factory=list)
    made: list[MadeTable] = field(default_factory=list)
    hidden: dict[TableKey, int] = field(default_factory=dict)
    """The numbers that hide the tables of types that go."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Writing:
    """How the rows of a change are written, and who is told."""

    run: RunTasks = run_here
    listener: ProgressListener | None = None
    check: Callable[[], None] = lambda: None
    """Raises when the graph is not ours any more."""
    past: Pins = field(default_factory=dict)
    """The tables that what is restored takes its rows or values from."""


@contextmanager
def staged_tables(
    storage: GraphStorage, evolutions: Sequence[TableEvolution], state: ManifestState, writing: Writing
) -> Iterator[StagedTables]:
    """Stages every change. What was written in vain is gone after the block."""
    pins = {pin.table_key: pin for pin in state.pins()}
    with ExitStack() as stack:
        staged = StagedTables()
        if any(_writes_rows(each, writing.past) for each in evolutions):
            staged.area = stack.enter_context(staging_area(storage, new_ulid()))
            stack.callback(remove_area, staged.area)
        written = _written(storage, staged.area, evolutions, pins, writing)
        for each in evolutions:
            _stage(storage, staged, each, state, pins, written.get(each.key, ()))
        yield staged


def remove_area(area: StagingArea) -> None:
    """What the change did is done, or is not: files that cannot be removed now go when the graph is opened again."""
    try:
        area.remove()
    except (OmniGraphError, OSError) as error:
        _log.warning("staged files stay in %s: %s", area.files.uri(""), error)


# --- rows -------------------------------------------------------------------------------------------------


def _writes_rows(evolution: TableEvolution, past: Pins) -> bool:
    is_restored = evolution.effect == "create" and evolution.key in past
    return is_restored or evolution.effect in ("columns", "rewrite", "copy")


def _written(
    storage: GraphStorage,
    area: StagingArea | None,
    evolutions: Sequence[TableEvolution],
    pins: Pins,
    writing: Writing,
) -> dict[TableKey, list[WrittenFragment]]:
    """What the tables afterwards consist of, in files of the staging area. The tasks of all tables run together."""
    tasks: list[RowTask] = []
    size = 0
    for each, pin in _sources(evolutions, pins, writing.past):
        assert area is not None, "made for whatever writes rows"
        table = storage.tables.open(pin)
        tasks += row_tasks(area.files, table, each, _writes(each), _past_table(storage, area, each, writing.past))
        size += bytes_written(table, each)

    def look() -> None:
        writing.check()
        if area is not None:
            area.check()

    work = RowWork(tasks=tuple(tasks), bytes=size, listener=writing.listener, check=now_and_then(look))
    written: dict[TableKey, list[WrittenFragment]] = {}
    for task, fragments in zip(tasks, writing.run(work), strict=True):
        written.setdefault(task.change.key, []).extend(fragments)
    return written


def _sources(evolutions: Sequence[TableEvolution], pins: Pins, past: Pins) -> Iterator[tuple[TableEvolution, TablePin]]:
    """The changes that write rows, and the tables that they take them from."""
    for each in evolutions:
        if _writes_rows(each, past):
            pin = past[each.key] if each.effect == "create" else pins[each.was or each.key]
            if pin.row_count:
                yield each, pin


def _writes(each: TableEvolution) -> Writes:
    return "columns" if each.effect == "columns" else "rows"


def _past_table(storage: GraphStorage, area: StagingArea, each: TableEvolution, past: Pins) -> PastTable | None:
    if not any(filled.comes_back for filled in each.filled):
        return None
    return past_table(area.files, storage.tables.open(past[each.key]))


# --- effects ----------------------------------------------------------------------------------------------


def _stage(
    storage: GraphStorage,
    staged: StagedTables,
    each: TableEvolution,
    state: ManifestState,
    pins: Pins,
    written: Sequence[WrittenFragment],
) -> None:
    if written:
        assert staged.area is not None, "made for whatever writes rows"
        staged.area.check()
    if written and each.effect != "columns":
        reach(Point.ROWS_COPIED)
    if each.effect in ("hide", "copy"):
        assert each.was is not None
        staged.hidden[each.was] = pins[each.was].version + 1
    if each.effect in ("create", "copy"):
        assert each.entity is not None
        above = state.tombstones.get(str(each.key), 0)
        staged.made.append(MadeTable(each.key, each.entity, above, tuple(written)))
    elif each.effect != "hide":
        staged.effects.append(_effect(storage, staged.area, each, pins[each.key], written))


def _effect(
    storage: GraphStorage,
    area: StagingArea | None,
    each: TableEvolution,
    pin: TablePin,
    written: Sequence[WrittenFragment],
) -> StagedEffect:
    assert each.entity is not None
    table, target, sources = storage.tables.open(pin), table_schema(each.entity), each.sources or {}
    if each.effect == "project":
        return stage_columns(table, target, sources)
    assert area is not None, "made for whatever writes rows"
    if each.effect == "columns":
        return stage_new_columns(area, table, target, sources, [filled.name for filled in each.filled], written)
    return stage_bulk(area, table, target, written, "overwrite")
