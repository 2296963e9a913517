"""The read path: plan, operators over Arrow and numpy, topology, search, ranking. Start with `QueryEngine`.

Names are imported when first used: the write path shares the rules of values and conditions, and needs no engine.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnigraph.model.late_names import late_names

if TYPE_CHECKING:
    from omnigraph.query.execute import QueryEngine, QueryOptions, ReadRequest
    from omnigraph.query.explain import Explanation
    from omnigraph.query.limits import Cancellation, QueryCancelled, QueryLimits, QueryTimeout
    from omnigraph.query.plan import Mode
    from omnigraph.query.result import QueryResult

__all__ = [
    "Cancellation",
    "Explanation",
    "Mode",
    "QueryCancelled",
    "QueryEngine",
    "QueryLimits",
    "QueryOptions",
    "QueryResult",
    "QueryTimeout",
    "ReadRequest",
]

_HOMES = {
    "execute": ("QueryEngine", "QueryOptions", "ReadRequest"),
    "explain": ("Explanation",),
    "limits": ("Cancellation", "QueryCancelled", "QueryLimits", "QueryTimeout"),
    "plan": ("Mode",),
    "result": ("QueryResult",),
}
__getattr__ = late_names(__name__, {name: f"{__name__}.{home}" for home, names in _HOMES.items() for name in names})
