"""Running a plan: each step is a function from frames to frames. Lazy: a frame is made when it is asked for."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from omnigraph.query.expressions import Evaluation
from omnigraph.query.frames import TAG, Frame, joined, merged
from omnigraph.query.limits import MORSEL_ROWS
from omnigraph.query.operators.blocks import absent, either, keep, optionally
from omnigraph.query.operators.scan import scan
from omnigraph.query.operators.shared_results import SharedResults
from omnigraph.query.operators.traverse import close, intersect, traverse
from omnigraph.query.plan import Absent, Close, Either, Intersect, Keep, Optionally, PlanStep, ScanNodes, Traverse

_OPERATORS: dict[type, Callable[..., Iterator[Frame]]] = {
    ScanNodes: scan,
    Traverse: traverse,
    Close: close,
    Intersect: intersect,
    Keep: keep,
    Absent: absent,
    Either: either,
    Optionally: optionally,
}


@dataclass(slots=True)
class StepTimes:
    """What a step did in this run, for `explain --analyze`."""

    rows: int = 0
    seconds: float = 0.0


@dataclass(slots=True)
class Run:
    """One execution of a plan's steps."""

    evaluation: Evaluation
    shared: SharedResults
    morsel_rows: int = MORSEL_ROWS
    times: dict[int, StepTimes] | None = None
    """By the identity of the step; None when nobody looks."""
    weighs: bool = True
    """Whether it matters how often a row occurs."""
    _tags: int = 0

    def pipeline(self, steps: tuple[PlanStep, ...], frames: Iterator[Frame]) -> Iterator[Frame]:
        for step in steps:
            frames = self._merged(step, self._timed(step, _OPERATORS[type(step)](self, step, frames)))
        return frames

    def require(self, frame: Frame, rows: int) -> None:
        """Before so many rows of this shape are made: is there room, and time?"""
        self.evaluation.guard.check()
        self.evaluation.guard.require(rows * (8 * (len(frame.columns) + 2) + 16))

    def fresh_tag(self) -> str:
        self._tags += 1
        return f"{TAG}{self._tags}"

    def _merged(self, step: PlanStep, frames: Iterator[Frame]) -> Iterator[Frame]:
        """Without what nobody needs any more; with equal rows made one where that is allowed."""
        for frame in frames:
            self.evaluation.guard.check()
            kept = frame.pruned(step.live)
            changed = kept is not frame or isinstance(step, Traverse | Intersect | Optionally)
            if step.merges and changed and len(kept.columns) < 2:
                yield from self._collected(step, kept, frames)
                return
            yield kept

    def _collected(self, step: PlanStep, first: Frame, rest: Iterator[Frame]) -> Iterator[Frame]:
        """With one variable left, all frames become one: a weight per row number."""
        held = merged(first, self._sizes(first), weighs=self.weighs)
        for frame in rest:
            self.evaluation.guard.check()
            sizes = self._sizes(first)  # rows may have been met meanwhile
            more = merged(frame.pruned(step.live), sizes, weighs=self.weighs)
            held = merged(joined([held, more]), sizes, weighs=self.weighs)
        yield held

    def _sizes(self, frame: Frame) -> dict[str, int]:
        return {name: self.evaluation.entities(name).size for name in frame.columns}

    def _timed(self, step: PlanStep, frames: Iterator[Frame]) -> Iterator[Frame]:
        if self.times is None:
            yield from frames
            return
        spent = self.times.setdefault(id(step), StepTimes())
        while True:
            started = time.perf_counter()
            frame = next(frames, None)
            spent.seconds += time.perf_counter() - started
            if frame is None:
                return
            spent.rows += frame.total
            yield frame
