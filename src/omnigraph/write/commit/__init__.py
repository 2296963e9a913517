"""Commit: how a prepared change becomes one graph commit.

`run_write` is the way in, `protocol` reads like the specification, `branch_queue` says whose turn it is, `own_failure`
ends what failed half-way. `effects` and `forks` make files and lineages; `prestage` and `publish_ahead` do it early.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnigraph.model.late_names import late_names

if TYPE_CHECKING:
    from omnigraph.write.commit.forks import owns as owns
    from omnigraph.write.commit.leftovers import settle as settle
    from omnigraph.write.commit.request import Prepared as Prepared
    from omnigraph.write.commit.request import Receipt as Receipt
    from omnigraph.write.commit.request import WriteBase as WriteBase
    from omnigraph.write.commit.request import WriteRequest as WriteRequest
    from omnigraph.write.commit.run_write import write as write
else:
    __getattr__, __dir__ = late_names(
        __name__,
        {
            "forks": ("owns",),
            "leftovers": ("settle",),
            "request": ("Prepared", "Receipt", "WriteBase", "WriteRequest"),
            "run_write": ("write",),
        },
    )
