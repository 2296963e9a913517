"""Commit: how a prepared change becomes one graph commit.

`run_write` is the way in, `protocol` reads like the specification, `branch_queue` says whose turn it is, `own_failure`
ends what failed half-way. `effects` and `forks` make files and lineages; `prestage` and `publish_ahead` do it early.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnigraph.model.late_names import late_names

if TYPE_CHECKING:
    from omnigraph.write.commit.branch_queue import window as window
    from omnigraph.write.commit.forks import owns as owns
    from omnigraph.write.commit.leftovers import pending_on as pending_on
    from omnigraph.write.commit.leftovers import settle as settle
    from omnigraph.write.commit.leftovers import settle_held as settle_held
    from omnigraph.write.commit.own_failure import Intended as Intended
    from omnigraph.write.commit.own_failure import resolve_own as resolve_own
    from omnigraph.write.commit.protocol import require_head_at_pin as require_head_at_pin
    from omnigraph.write.commit.protocol import sidecar_pin as sidecar_pin
    from omnigraph.write.commit.request import Prepared as Prepared
    from omnigraph.write.commit.request import Receipt as Receipt
    from omnigraph.write.commit.request import WriteBase as WriteBase
    from omnigraph.write.commit.request import WriteRequest as WriteRequest
    from omnigraph.write.commit.request import write_base as write_base
    from omnigraph.write.commit.run_write import write as write
else:
    __getattr__, __dir__ = late_names(
        __name__,
        {
            "branch_queue": ("window",),
            "forks": ("owns",),
            "leftovers": ("pending_on", "settle", "settle_held"),
            "own_failure": ("Intended", "resolve_own"),
            "protocol": ("require_head_at_pin", "sidecar_pin"),
            "request": ("Prepared", "Receipt", "WriteBase", "WriteRequest", "write_base"),
            "run_write": ("write",),
        },
    )
