"""Progress: one line on stderr that is drawn over, per stage of a long job. Only for a person at a terminal."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TextIO

_WIDTH = 24
_REDRAW_S = 0.1


@dataclass(slots=True)
class ProgressLine:
    """Draws `decode [######------] 3/12 4s` and wipes it when the job is over."""

    stream: TextIO
    clock: Callable[[], float] = time.monotonic
    stage: str = ""
    started: float = 0.0
    drawn: float = field(default=-1.0)
    length: int = 0

    def __call__(self, stage: str, done: int, total: int) -> None:
        now = self.clock()
        if stage != self.stage:
            self.stage, self.started, self.drawn = stage, now, -1.0
        if self.drawn >= 0 and now - self.drawn < _REDRAW_S and done < total:
            return
        self.drawn = now
        self._draw(f"{stage} {bar(done, total)} {done}/{total}{remaining(done, total, now - self.started)}")

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


def bar(done: int, total: int) -> str:
    filled = _WIDTH * done // total if total else _WIDTH
    return f"[{'#' * filled}{'-' * (_WIDTH - filled)}]"


def remaining(done: int, total: int, seconds: float) -> str:
    """How long it took, and about how long it will still take."""
    took = f" {seconds:.0f}s"
    return took if not done or done >= total else f"{took}, about {seconds * (total - done) / done:.0f}s more"


def progress_line(*, quiet: bool = False) -> ProgressLine | None:
    """A line to draw on, or None when nobody looks at one."""
    return None if quiet or not sys.stderr.isatty() else ProgressLine(sys.stderr)
