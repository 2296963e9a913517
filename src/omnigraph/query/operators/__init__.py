"""Operators: one module for each kind of step of a plan; `run_plan` puts them together."""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnigraph.model.late_names import late_names

if TYPE_CHECKING:
    from omnigraph.query.operators.run_plan import Run as Run
    from omnigraph.query.operators.run_plan import StepTimes as StepTimes
    from omnigraph.query.operators.shared_results import SharedResults as SharedResults
else:
    __getattr__, __dir__ = late_names(
        __name__,
        {
            "run_plan": (
                "Run",
                "StepTimes",
            ),
            "shared_results": ("SharedResults",),
        },
    )
