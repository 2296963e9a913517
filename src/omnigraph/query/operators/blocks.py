"""The operators that keep rows: conditions, and the blocks `not`, `or` and `maybe`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from omnigraph.query.frames import NO_ROW, Frame, Mask, Positions, distinct_rows
from omnigraph.query.operators.traverse import adjacency_of
from omnigraph.query.plan import Absent, Either, Keep, Optionally, PlanStep, Shared, Traverse

if TYPE_CHECKING:
    from omnigraph.query.operators.run_plan import Run


def keep(run: Run, step: Keep, frames: Iterator[Frame]) -> Iterator[Frame]:
    for frame in frames:
        if frame.length:
            yield frame.where(run.evaluation.holds(step.condition, frame))


def absent(run: Run, step: Absent, frames: Iterator[Frame]) -> Iterator[Frame]:
    for frame in frames:
        if frame.length:
            yield frame.where(~_matched(run, step.inner, step.uses, step.shared, frame))


def either(run: Run, step: Either, frames: Iterator[Frame]) -> Iterator[Frame]:
    for frame in frames:
        if not frame.length:
            continue
        found = np.zeros(frame.length, np.bool_)
        shared = step.shared or (None,) * len(step.alternatives)
        for inner, uses, same in zip(step.alternatives, step.uses, shared, strict=True):
            rest = np.flatnonzero(~found)
            if not len(rest):
                break
            found[rest] = _matched(run, inner, uses, same, frame.take(rest))
        yield frame.where(found)


def _matched(run: Run, inner: tuple[PlanStep, ...], uses: tuple[str, ...], shared: Shared | None, frame: Frame) -> Mask:
    """Which rows the inside makes something of. Rows that agree in what it looks at are asked once."""
    first, places = distinct_rows(frame, uses)
    if shared is None:
        return _asked(run, inner, uses, frame, first)[places]
    by = tuple(frame.columns[name][first] for name in shared.by)
    answers = run.shared.answers(shared.number, by, lambda rest: _asked(run, inner, uses, frame, first[rest]))
    return answers[places]


def _asked(run: Run, inner: tuple[PlanStep, ...], uses: tuple[str, ...], frame: Frame, first: Positions) -> Mask:
    """The inside, run for these rows."""
    has_neighbour = _has_neighbour(run, inner, uses, frame, first)
    if has_neighbour is not None:
        return has_neighbour
    tag = run.fresh_tag()
    outer = Frame(len(first), {name: frame.columns[name][first] for name in uses})
    outer = outer.with_columns(**{tag: np.arange(len(first), dtype=np.int32)})
    found = np.zeros(len(first), np.bool_)
    for made in run.pipeline(inner, iter([outer])):
        found[made.columns[tag]] = True
    return found


def _has_neighbour(
    run: Run, inner: tuple[PlanStep, ...], uses: tuple[str, ...], frame: Frame, first: Positions
) -> Mask | None:
    """A lone step from an outer variable: degrees tell."""
    if len(inner) != 1 or not isinstance(inner[0], Traverse) or len(uses) != 1:
        return None
    step = inner[0]
    if step.conditions or not step.hop.is_single:
        return None
    rows = frame.columns[uses[0]][first]
    known = rows >= 0
    answer = np.zeros(len(rows), np.bool_)
    answer[known] = adjacency_of(run, step.hop, rows[known]).degrees(rows[known]) > 0
    return answer


def optionally(run: Run, step: Optionally, frames: Iterator[Frame]) -> Iterator[Frame]:
    tag = run.fresh_tag()
    for frame in frames:
        if not frame.length:
            continue
        tagged = frame.with_columns(**{tag: np.arange(frame.length, dtype=np.int32)})
        matched = np.zeros(frame.length, np.bool_)
        for made in run.pipeline(step.inner, iter([tagged])):
            if made.length:
                matched[made.columns[tag]] = True
                yield made.only(frozenset(made.columns) - {tag})
        rest = frame.where(~matched).pruned(step.live) if not matched.all() else None
        if rest is not None and rest.length:
            nothing = np.full(rest.length, NO_ROW, np.int32)
            yield rest.with_columns(**{each.name: nothing for each in step.exports if each.name in step.live})
