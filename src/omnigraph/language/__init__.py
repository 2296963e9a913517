"""The languages: `.pg` schemas and `.gq` queries, from text to checked IR. Pure: no I/O, no Arrow, no Lance."""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnigraph.model.late_names import late_names

if TYPE_CHECKING:
    from omnigraph.language.diagnostics import CompileError as CompileError
    from omnigraph.language.diagnostics import Diagnostic as Diagnostic
    from omnigraph.language.diagnostics import did_you_mean as did_you_mean
else:
    __getattr__, __dir__ = late_names(
        __name__,
        {
            "diagnostics": (
                "CompileError",
                "Diagnostic",
                "did_you_mean",
            ),
        },
    )
