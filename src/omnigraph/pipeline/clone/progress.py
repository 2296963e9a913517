"""Progress of a clone: two stages, `copy` and, where commits are made again, `replay`."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Literal

from omnigraph.model.progress import Progress, ProgressListener

REPORT_EVERY_S = 0.1


@dataclass(slots=True)
class Meter:
    """Counts what is done of one stage, and tells it now and then. What the listener raises ends the clone."""

    stage: Literal["copy", "replay"]
    listener: ProgressListener | None
    tasks_total: int
    rows_total: int | None = None
    bytes_total: int | None = None
    tasks: int = 0
    rows: int = 0
    bytes: int = 0
    _begun: float = field(default_factory=time.monotonic)
    _told: float = 0.0

    def add(self, *, tasks: int = 0, rows: int = 0, copied: int = 0) -> None:
        self.tasks += tasks
        self.rows += rows
        self.bytes += copied
        now = time.monotonic()
        if now - self._told >= REPORT_EVERY_S or self.tasks == self.tasks_total:
            self._told = now
            self.tell()

    def tell(self) -> None:
        if self.listener is not None:
            told = Progress(
                stage=self.stage,
                tasks=self.tasks,
                tasks_total=max(self.tasks_total, self.tasks),
                rows=self.rows,
                rows_total=self.rows_total,
                bytes=self.bytes,
                bytes_total=self.bytes_total,
                seconds=time.monotonic() - self._begun,
            )
            self.listener(told)
