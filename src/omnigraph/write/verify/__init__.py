"""Verify: a read-only check of a whole graph."""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnigraph.model.late_names import late_names

if TYPE_CHECKING:
    from omnigraph.write.verify.check_graph import verify_graph as verify_graph
    from omnigraph.write.verify.report import VerifyReport as VerifyReport
else:
    __getattr__, __dir__ = late_names(
        __name__,
        {
            "check_graph": ("verify_graph",),
            "report": ("VerifyReport",),
        },
    )
