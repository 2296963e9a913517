"""Effects of a schema change: the stored rows checked against new rules, and the files of every table staged."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import field

from omnigraph.language.schema import EdgeType, NodeType
from omnigraph.model.errors import OmniGraphError
from omnigraph.model.identifiers import TableKey, new_ulid
from omnigraph.model.late_dataclass import dataclass
from omnigraph.model.progress import ProgressListener
from omnigraph.storage import GraphStorage, Point, reach
from omnigraph.storage.bulk import (
    StagingArea,
    WrittenFragment,
    stage_bulk,
    stage_new_columns,
    staging_area,
    write_bulk,
)
from omnigraph.storage.manifest import ManifestState, TablePin
from omnigraph.storage.tables import StagedEffect, Table, stage_columns, table_schema
from omnigraph.write.evolution.lifting import lifted_rows, new_columns
from omnigraph.write.evolution.plan import SchemaPlan
from omnigraph.write.evolution.refusals import SchemaRowsRefused
from omnigraph.write.evolution.row_checks import NewRules, check_stored, missing_ends, new_rules
from omnigraph.write.evolution.stages import after, stage
from omnigraph.write.evolution.table_evolutions import TableEvolution
from omnigraph.write.rules import CommittedView, ViolationLog

_log = logging.getLogger("omnigraph.write")
Pins = Mapping[TableKey, TablePin]
Tell = Callable[[int], None]


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


@contextmanager
def staged_tables(
    storage: GraphStorage,
    evolutions: Sequence[TableEvolution],
    state: ManifestState,
    listener: ProgressListener | None = None,
    past: Pins | None = None,
) -> Iterator[StagedTables]:
    """Stages every change. What was written in vain is gone after the block.

    `past` has the tables that restored types take their rows from.
    """
    pins = {pin.table_key: pin for pin in state.pins()}
    with ExitStack() as stack:
        staged = StagedTables()
        if any(_writes_rows(each, past) for each in evolutions):
            staged.area = stack.enter_context(staging_area(storage, new_ulid()))
            stack.callback(remove_area, staged.area)
        with stage(listener, "write", _rows_written(evolutions, pins, past)) as tell:
            done = 0
            for each in evolutions:
                _stage(storage, staged, each, state, pins, past or {}, after(done, tell))
                done += _rows_of(each, pins, past)
        yield staged


def remove_area(area: StagingArea) -> None:
    """What the change did is done, or is not: files that cannot be removed now go when the graph is opened again."""
    try:
        area.remove()
    except (OmniGraphError, OSError) as error:
        _log.warning("staged files stay in %s: %s", area.files.uri(""), error)


def _writes_rows(evolution: TableEvolution, past: Pins | None) -> bool:
    return evolution.effect in ("columns", "rewrite", "copy") or evolution.key in (past or {})


def _rows_of(evolution: TableEvolution, pins: Pins, past: Pins | None) -> int:
    if not _writes_rows(evolution, past):
        return 0
    pin = (past or {}).get(evolution.key) or pins.get(evolution.was or evolution.key)
    return 0 if pin is None else pin.row_count


def _rows_written(evolutions: Iterable[TableEvolution], pins: Pins, past: Pins | None) -> int:
    return sum(_rows_of(each, pins, past) for each in evolutions)


def _stage(
    storage: GraphStorage,
    staged: StagedTables,
    each: TableEvolution,
    state: ManifestState,
    pins: Pins,
    past: Pins,
    tell: Tell,
) -> None:
    match each.effect:
        case "create":
            source = past.get(each.key)
            rows = () if source is None else _copied(storage, staged, each, source, tell)
            staged.made.append(_made(each, state.tombstones.get(str(each.key), 0), rows))
        case "hide":
            staged.hidden[each.key] = pins[each.key].version + 1
        case "copy":
            assert each.was is not None
            rows = _copied(storage, staged, each, pins[each.was], tell)
            staged.made.append(_made(each, state.tombstones.get(str(each.key), 0), rows))
            staged.hidden[each.was] = pins[each.was].version + 1
        case _:
            source = past.get(each.key)
            earlier = None if source is None else storage.tables.open(source)
            staged.effects.append(_effect(storage, staged, each, pins[each.key], earlier, tell))


def _made(each: TableEvolution, above: int, rows: tuple[WrittenFragment, ...]) -> MadeTable:
    assert each.entity is not None
    return MadeTable(each.key, each.entity, above, rows)


def _effect(
    storage: GraphStorage, staged: StagedTables, each: TableEvolution, pin: TablePin, past: Table | None, tell: Tell
) -> StagedEffect:
    assert each.entity is not None
    table, target, sources = storage.tables.open(pin), table_schema(each.entity), each.sources or {}
    if each.effect == "project":
        return stage_columns(table, target, sources)
    assert staged.area is not None, "made for whatever writes rows"
    if each.effect == "columns":
        return stage_new_columns(staged.area, table, target, sources, new_columns(each, past), tell)
    return stage_bulk(staged.area, table, target, _copied(storage, staged, each, pin, tell), "overwrite")


def _copied(
    storage: GraphStorage, staged: StagedTables, each: TableEvolution, pin: TablePin, tell: Tell
) -> tuple[WrittenFragment, ...]:
    """The rows of a table under their new columns, in files of the staging area."""
    assert staged.area is not None, "made for whatever writes rows"
    assert each.entity is not None
    if not pin.row_count:
        return ()
    rows = lifted_rows(each, storage.tables.open(pin), tell=tell)
    written = write_bulk(staged.area.files, f"rows/{new_ulid()}", table_schema(each.entity), rows)
    staged.area.check()
    reach(Point.ROWS_COPIED)
    return tuple(written)
