"""Progress: one line on stderr that is drawn over, per stage of a long job. Only for a person at a terminal."""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from omnigraph.model.progress import Progress

_WIDTH = 24
_REDRAW_S = 0.1
_MB = 1_000_000


@dataclass(slots=True)
class ProgressLine:
    """Draws `decode [######------] 3/6 tasks, 410,000 rows, 102,500 rows/s, about 4s left`; wiped when all is over."""

    stream: TextIO
    clock: Callable[[], float] = time.monotonic
    columns: int = field(default_factory=lambda: shutil.get_terminal_size().columns)
    stage: str = ""
    drawn: float = field(default=-1.0)
    length: int = 0

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
            self.stream.write("\r")
            self.stream.flush()
            self.length = 0

    def _draw(self, text: str) -> None:
        self.stream.write(f"\r{text.ljust(self.length)}")
        self.stream.flush()
        self.length = len(text)


def line_of(progress: Progress) -> str:
    """The stage, a bar, how much is done, how fast, and about how long it will still take."""
    filled = int(_WIDTH * progress.fraction)
    bar = f"[{'#' * filled}{'-' * (_WIDTH - filled)}]"
    return f"{progress.stage} {bar} {', '.join(_facts(progress))}"


def _facts(progress: Progress) -> Iterator[str]:
    if progress.tasks_total > 1:
        yield f"{progress.tasks}/{progress.tasks_total} tasks"
    if progress.rows_total is not None:
        yield f"{progress.rows:,}/{progress.rows_total:,} rows"
    elif progress.rows:
        yield f"{progress.rows:,} rows"
    elif progress.bytes_total is not None:  # what is read is known before any row is
        yield f"{progress.bytes / _MB:,.1f}/{progress.bytes_total / _MB:,.1f} MB"
    if progress.rows_per_s is not None:
        yield f"{progress.rows_per_s:,.0f} rows/s"
    left = progress.remaining_s
    yield f"{progress.seconds:.0f}s" if left is None or progress.is_done else f"about {left:.0f}s left"


def progress_line(*, quiet: bool = False) -> ProgressLine | None:
    """A line to draw on, or None when nobody looks at one."""
    return None if quiet or not sys.stderr.isatty() else ProgressLine(sys.stderr)
