"""The read path: one checked query on one snapshot. Start with `execute`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnigraph.model.late_names import late_names

if TYPE_CHECKING:
    from omnigraph.query.constants import constant as constant
    from omnigraph.query.constants import plain as plain
    from omnigraph.query.constants import scalar as scalar
    from omnigraph.query.execute import QueryEngine as QueryEngine
    from omnigraph.query.execute import QueryOptions as QueryOptions
    from omnigraph.query.execute import ReadRequest as ReadRequest
    from omnigraph.query.explain import Explanation as Explanation
    from omnigraph.query.frames import Mask as Mask
    from omnigraph.query.limits import Cancellation as Cancellation
    from omnigraph.query.limits import QueryCancelled as QueryCancelled
    from omnigraph.query.limits import QueryLimits as QueryLimits
    from omnigraph.query.limits import QueryTimeout as QueryTimeout
    from omnigraph.query.result import QueryResult as QueryResult
else:
    __getattr__, __dir__ = late_names(
        __name__,
        {
            "constants": (
                "constant",
                "plain",
                "scalar",
            ),
            "execute": (
                "QueryEngine",
                "QueryOptions",
                "ReadRequest",
            ),
            "explain": ("Explanation",),
            "frames": ("Mask",),
            "limits": (
                "Cancellation",
                "QueryCancelled",
                "QueryLimits",
                "QueryTimeout",
            ),
            "result": ("QueryResult",),
        },
    )
