"""Progress: one line on stderr that is drawn over, per stage of a long job. Only for a person at a terminal."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from omnigraph.model.progress import Progress

_WIDTH = 12
_REDRAW_S = 0.1
_COLUMNS_DEFAULT = 80
_UNITS = ((1_000_000_000, "G"), (1_000_000, "M"), (1_000, "k"))


@dataclass(slots=True)
class ProgressLine:
    """Draws `decode [######------] 3/6 tasks, 410k rows, 102k rows/s, about 4s left`; wiped when all is over."""

    stream: TextIO
    clock: Callable[[], float] = time.monotonic
    columns: int = _COLUMNS_DEFAULT
    stage: str = ""
    drawn: float = field(default=-1.0)
    length: int = 0
    is_gone: bool = False
    """The terminal does not take anything any more: the job goes on without it."""

    def __call__(self, progress: Progress) -> None:
        now = self.clock()
        if progress.stage != self.stage:
            self.stage, self.drawn = progress.stage, -1.0
        if self.drawn >= 0 and now - self.drawn < _REDRAW_S and not progress.is_done:
            return
        self.drawn = now
        self._draw(line_of(progress)[: self.columns - 1])  # a line that wraps could not be drawn over

    def wipe(self) -> None:
        if self.length:
            self._draw("")
            self._write("\r")
            self.length = 0

    def _draw(self, text: str) -> None:
        self._write(f"\r{text.ljust(self.length)}")
        self.length = len(text)

    def _write(self, text: str) -> None:
        if self.is_gone:
            return
        try:
            self.stream.write(text)
            self.stream.flush()
        except OSError:
            self.is_gone = True


def line_of(progress: Progress) -> str:
    """The stage, a bar, how much is done, how fast, and about how long it will still take."""
    filled = int(_WIDTH * progress.fraction)
    bar = f"[{'#' * filled}{'-' * (_WIDTH - filled)}]"
    return f"{progress.stage} {bar} {', '.join(_facts(progress))}"


def _facts(progress: Progress) -> Iterator[str]:
    if progress.tasks_total > 1:
        yield f"{progress.tasks}/{progress.tasks_total} tasks"
    if progress.rows:
        total = "" if progress.rows_total is None else f"/{short(progress.rows_total)}"
        yield f"{short(progress.rows)}{total} rows"
    elif progress.bytes_total is not None:  # what is to be read is known before any row is
        yield f"{short(progress.bytes)}/{short(progress.bytes_total)}B"
    elif progress.rows_total is not None:
        yield f"{short(progress.rows_total)} rows"
    if progress.rows_per_s is not None:
        yield f"{short(progress.rows_per_s)} rows/s"
    left = progress.remaining_s
    yield f"{progress.seconds:.0f}s" if left is None or progress.is_done else f"about {left:.0f}s left"


def short(number: float) -> str:
    """Three digits and a unit: `999`, `1.25M`. What it leaves out it leaves off, so that nothing is done too early."""
    for size, unit in _UNITS:
        if number >= size:
            return f"{str(number / size)[:4].rstrip('.')}{unit}"
    return f"{int(number)}"


def progress_line(*, quiet: bool = False) -> ProgressLine | None:
    """A progress line, or None when stderr is not a terminal."""
    if quiet or not sys.stderr.isatty():
        return None
    return ProgressLine(sys.stderr, columns=os.get_terminal_size(sys.stderr.fileno()).columns or _COLUMNS_DEFAULT)
