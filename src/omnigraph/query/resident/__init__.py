"""What stays in memory: the cache of entities and topologies, and the view of it that a query works on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnigraph.model.late_names import late_names

if TYPE_CHECKING:
    from omnigraph.query.resident.cache import ResidentCache as ResidentCache
    from omnigraph.query.resident.cache import resident_cache as resident_cache
    from omnigraph.query.resident.view import QueryView as QueryView
else:
    __getattr__, __dir__ = late_names(
        __name__,
        {
            "cache": (
                "ResidentCache",
                "resident_cache",
            ),
            "view": ("QueryView",),
        },
    )
