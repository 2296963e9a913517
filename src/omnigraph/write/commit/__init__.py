"""Commit: `protocol` is the way of a change to a graph commit; `branch_queue` says whose turn it is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnigraph.model.late_names import late_names

if TYPE_CHECKING:
    from omnigraph.write.commit.protocol import Receipt as Receipt
    from omnigraph.write.commit.protocol import WriteBase as WriteBase
    from omnigraph.write.commit.protocol import WriteRequest as WriteRequest
    from omnigraph.write.commit.protocol import settle as settle
    from omnigraph.write.commit.protocol import write as write
else:
    __getattr__, __dir__ = late_names(
        __name__,
        {
            "protocol": (
                "Receipt",
                "WriteBase",
                "WriteRequest",
                "settle",
                "write",
            ),
        },
    )
