"""The answer: grouped, made distinct, ordered, cut and projected."""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnigraph.model.late_names import late_names

if TYPE_CHECKING:
    from omnigraph.query.answer.output import Output as Output
else:
    __getattr__, __dir__ = late_names(
        __name__,
        {
            "output": ("Output",),
        },
    )
