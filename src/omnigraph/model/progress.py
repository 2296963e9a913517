"""Progress: what a long job reports while it runs, stage by stage."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from omnigraph.model.late_dataclass import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """How far a stage is. Only finished work is counted, so the counts are exact and never go back.

    >>> stages = []
    >>> done = graph.load(["people.jsonl"], mode="merge", progress=lambda step: stages.append(step.stage))
    >>> stages[0], stages[-1]
    ('decode', 'commit')
    """

    stage: str
    """The stages of a load are `decode`, `check`, `write`, `commit` and `index`; an export has one, `export`;
    a schema change has `check` and `write`."""
    tasks: int = 0
    tasks_total: int = 1
    rows: int = 0
    rows_total: int | None = None
    """None while it is unknown: before the input was read."""
    bytes: int = 0
    """Of the input as it is stored."""
    bytes_total: int | None = None
    seconds: float = 0.0
    """Since the stage began."""

    @property
    def fraction(self) -> float:
        """Between 0 and 1: by bytes where they are counted, else by rows, else by tasks.

        >>> og.Progress(stage="decode", bytes=25, bytes_total=100).fraction
        0.25
        """
        if self.is_done:
            return 1.0
        for done, total in ((self.bytes, self.bytes_total), (self.rows, self.rows_total)):
            if done and total:
                return min(done / total, 1.0)
        return self.tasks / self.tasks_total

    @property
    def rows_per_s(self) -> float | None:
        """Rows per second of this stage; None while nothing is finished.

        >>> og.Progress(stage="decode", rows=500, seconds=2.0).rows_per_s
        250.0
        """
        return self.rows / self.seconds if self.rows and self.seconds > 0 else None

    @property
    def remaining_s(self) -> float | None:
        """The estimated seconds until the stage is done; None while nothing is finished.

        >>> og.Progress(stage="decode", bytes=25, bytes_total=100, seconds=1.0).remaining_s
        3.0
        """
        done = self.fraction
        return self.seconds * (1 - done) / done if done > 0 else None

    @property
    def is_done(self) -> bool:
        """Whether every task of the stage is finished.

        >>> og.Progress(stage="decode", tasks=1, tasks_total=1).is_done
        True
        """
        return self.tasks >= self.tasks_total


ProgressListener: TypeAlias = Callable[[Progress], None]
"""Called when a stage begins, while it runs, and when it is done; also from threads of the job."""
