"""Leases: who may write a branch or a folder now, across processes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnigraph.model.late_names import late_names

if TYPE_CHECKING:
    from omnigraph.storage.leases.lease import GRAPH_WAIT_S as GRAPH_WAIT_S
    from omnigraph.storage.leases.lease import WAIT_MAX_S as WAIT_MAX_S
    from omnigraph.storage.leases.lease import HeldLeases as HeldLeases
    from omnigraph.storage.leases.lease import Lease as Lease
    from omnigraph.storage.leases.lease import Leases as Leases
else:
    __getattr__, __dir__ = late_names(
        __name__,
        {
            "lease": (
                "GRAPH_WAIT_S",
                "HeldLeases",
                "Lease",
                "Leases",
                "WAIT_MAX_S",
            ),
        },
    )
