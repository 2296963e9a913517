"""Clones: a graph, a branch or one snapshot as another graph, at another root, with its history or without."""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnigraph.model.late_names import late_names

if TYPE_CHECKING:
    from omnigraph.pipeline.clone.run_clone import Clone as Clone
    from omnigraph.pipeline.clone.run_clone import CloneResult as CloneResult
    from omnigraph.pipeline.clone.run_clone import clone as clone
else:
    __getattr__, __dir__ = late_names(
        __name__,
        {
            "run_clone": (
                "Clone",
                "CloneResult",
                "clone",
            ),
        },
    )
