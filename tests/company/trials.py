"""Trials: one plan in one folder, and what to say when it fails."""

from __future__ import annotations

import tempfile
import traceback
from collections.abc import Callable
from pathlib import Path

from company.places import Bucket, Disk
from company.plan import Step
from company.run import Run
from company.shrinking import shrunk
from omnigraph.model.late_dataclass import dataclass

MakeGround = Callable[[Path], Disk | Bucket]
TRACE_LINES = 60


@dataclass(frozen=True, slots=True)
class Failure:
    """What went wrong, after how many steps, and what everybody said until then."""

    steps: int
    error: str
    trace: str


def tried(plan: list[Step], ground: MakeGround = Disk) -> Failure | None:
    """Runs a plan from nothing to its end; what went wrong, if anything did."""
    with tempfile.TemporaryDirectory(prefix="omnigraph-company-", ignore_cleanup_errors=True) as name:
        run = Run(ground(Path(name)), Path(name))
        try:
            run.run(plan)
        except Exception as error:
            said = "\n".join(run.members.trace[-TRACE_LINES:])
            return Failure(run.number, f"{type(error).__name__}: {error}", f"{said}\n{traceback.format_exc()}")
        finally:
            run.end()
    return None


def explained(plan: list[Step], failure: Failure, ground: MakeGround = Disk, shrink_s: float = 60.0) -> str:
    """A failure with the shortest plan that was found for it."""
    found = [failure]

    def fails(shorter: list[Step]) -> bool:
        again = tried(shorter, ground)
        found.extend([again] if again is not None else [])
        return again is not None

    least = shrunk(plan[: failure.steps], fails, shrink_s)
    return "\n".join(
        [failure.error, f"{len(least)} steps of {len(plan)} are enough:", *map(str, least), "", found[-1].trace]
    )
