"""The read path: plan, operators over Arrow and numpy, topology, search, ranking. Start with `QueryEngine`."""

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
