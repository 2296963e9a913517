"""The scan operator: the nodes of a type that pass their conditions, found by key, by index or by looking at each."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from omnigraph.language.query import Condition
from omnigraph.query.entities import Entities
from omnigraph.query.expressions import key_values, predicate_of
from omnigraph.query.frames import Frame, Rows, Weights, distinct
from omnigraph.query.plan import ScanNodes
from omnigraph.storage import All, Predicate

if TYPE_CHECKING:
    from omnigraph.query.operators.run_plan import Run


def scan(run: Run, step: ScanNodes, frames: Iterator[Frame]) -> Iterator[Frame]:
    rows: Rows | None = None
    for frame in frames:
        if rows is None:
            rows = _scanned(run, step)
        yield from _crossed(run, frame, step.variable, rows)


def _scanned(run: Run, step: ScanNodes) -> Rows:
    """The nodes that pass: by key, through the table's indexes, or by looking at every node."""
    evaluation = run.evaluation
    entities = evaluation.entities(step.variable)
    node = evaluation.view.catalog.node_types[step.type_name]
    for condition in step.conditions:
        ids = key_values(condition, step.variable, node, evaluation.bound)
        if ids is not None:
            found = entities.find(ids)
            rest = tuple(each for each in step.conditions if each is not condition)
            return _passing(run, rest, step.variable, distinct(found, entities.size))
    pushed, rest = _pushed(run, step, entities)
    rows = entities.every() if pushed is None else entities.where(pushed)
    return _passing(run, rest, step.variable, rows)


def _pushed(run: Run, step: ScanNodes, entities: Entities) -> tuple[Predicate | None, tuple[Condition, ...]]:
    """What the table's own scan filters. Resident nodes are filtered in memory unless few are expected."""
    pin = entities.table.pin
    if run.evaluation.view.is_resident:
        return None, step.conditions
    parts, rest = [], []
    for condition in step.conditions:
        part = predicate_of(condition, step.variable, entities.table.schema, run.evaluation.bound)
        if part is None:
            rest.append(condition)
        else:
            parts.append(part)
    return (All(tuple(parts)) if parts and pin.row_count else None), tuple(rest)


def _passing(run: Run, conditions: tuple[Condition, ...], variable: str, rows: Rows) -> Rows:
    return rows[run.evaluation.passing(conditions, variable, rows)] if conditions and len(rows) else rows


def _crossed(run: Run, frame: Frame, variable: str, rows: Rows) -> Iterator[Frame]:
    """Every row with every node."""
    if frame.length == 1 and not frame.columns:
        yield from _sliced(run, Frame(len(rows), {variable: rows}, _repeated(frame, len(rows))))
        return
    per_part = max(1, run.morsel_rows // max(1, len(rows)))
    for start in range(0, frame.length, per_part):
        part = frame.slice(start, start + per_part)
        run.require(part, part.length * len(rows))
        made = part.take(np.repeat(np.arange(part.length), len(rows)))
        yield from _sliced(run, made.with_columns(**{variable: np.tile(rows, part.length)}))


def _sliced(run: Run, frame: Frame) -> Iterator[Frame]:
    if frame.length <= run.morsel_rows:
        yield frame
        return
    for start in range(0, frame.length, run.morsel_rows):
        yield frame.slice(start, start + run.morsel_rows)


def _repeated(frame: Frame, count: int) -> Weights | None:
    return None if frame.weights is None else np.repeat(frame.weights, count)
