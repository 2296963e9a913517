"""Schema changes of large tables: where their rows are written, in this process or on Spark."""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnigraph.model.late_names import late_names

if TYPE_CHECKING:
    from omnigraph.pipeline.evolution.row_runner import Engine as Engine
    from omnigraph.pipeline.evolution.row_runner import runner_of_rows as runner_of_rows
else:
    __getattr__, __dir__ = late_names(__name__, {"row_runner": ("Engine", "runner_of_rows")})
