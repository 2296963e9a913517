"""Progress: what a long job tells while it runs, stage by stage. Counted facts, and what follows from them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from omnigraph.model.late_dataclass import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """How far a stage is. Counts are of work that is finished, so they are exact, and they never go back."""

    stage: str
    """A load has `decode`, `check`, `write`, `commit` and `index`, an export `export`."""
    tasks: int = 0
    tasks_total: int = 1
    rows: int = 0
    rows_total: int | None = None
    """None while nobody can know it: before the input was read."""
    bytes: int = 0
    """Of the input, as it is stored."""
    bytes_total: int | None = None
    seconds: float = 0.0
    """Since the stage began."""

    @property
    def fraction(self) -> float:
        """Between 0 and 1: by bytes where they are counted, else by rows, else by tasks."""
        if self.is_done:
            return 1.0
        for done, total in ((self.bytes, self.bytes_total), (self.rows, self.rows_total)):
            if done and total:
                return min(done / total, 1.0)
        return self.tasks / self.tasks_total

    @property
    def rows_per_s(self) -> float | None:
        return self.rows / self.seconds if self.rows and self.seconds > 0 else None

    @property
    def remaining_s(self) -> float | None:
        """About how long it will still take; None while nothing is finished."""
        done = self.fraction
        return self.seconds * (1 - done) / done if done > 0 else None

    @property
    def is_done(self) -> bool:
        return self.tasks >= self.tasks_total


ProgressListener: TypeAlias = Callable[[Progress], None]
"""Is called when a stage begins, now and then while it runs, and when it is done; also from threads of the job."""
