"""Loads: the rows of a source to a checked change set. Both engines share it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnigraph.model.late_names import late_names

if TYPE_CHECKING:
    from omnigraph.write.load.checks import LoadChecks as LoadChecks
    from omnigraph.write.load.checks import LoadMode as LoadMode
    from omnigraph.write.load.checks import OnError as OnError
    from omnigraph.write.load.checks import Reject as Reject
    from omnigraph.write.load.checks import TypeRows as TypeRows
    from omnigraph.write.load.edge_matching import MatchEdges as MatchEdges
    from omnigraph.write.load.prepare import PreparedLoad as PreparedLoad
    from omnigraph.write.load.prepare import blob_intake as blob_intake
    from omnigraph.write.load.prepare import prepare_load as prepare_load
    from omnigraph.write.load.spool import Spool as Spool
else:
    __getattr__, __dir__ = late_names(
        __name__,
        {
            "checks": (
                "LoadChecks",
                "LoadMode",
                "OnError",
                "Reject",
                "TypeRows",
            ),
            "edge_matching": ("MatchEdges",),
            "prepare": (
                "PreparedLoad",
                "blob_intake",
                "prepare_load",
            ),
            "spool": ("Spool",),
        },
    )
