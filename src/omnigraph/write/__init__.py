"""The write path: how a change is checked and becomes a graph commit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnigraph.model.late_names import late_names

if TYPE_CHECKING:
    from omnigraph.write.changes import ChangeSet as ChangeSet
    from omnigraph.write.changes import StagedWork as StagedWork
    from omnigraph.write.changes import TableChange as TableChange
    from omnigraph.write.places import Place as Place
    from omnigraph.write.places import Places as Places
    from omnigraph.write.results import LoadInterrupted as LoadInterrupted
    from omnigraph.write.results import LoadReport as LoadReport
    from omnigraph.write.results import LoadResult as LoadResult
    from omnigraph.write.results import MutationResult as MutationResult
else:
    __getattr__, __dir__ = late_names(
        __name__,
        {
            "changes": (
                "ChangeSet",
                "StagedWork",
                "TableChange",
            ),
            "places": (
                "Place",
                "Places",
            ),
            "results": (
                "LoadInterrupted",
                "LoadReport",
                "LoadResult",
                "MutationResult",
            ),
        },
    )
