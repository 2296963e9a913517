"""The table of all operations: what the router, the app and the API document are made from."""

from __future__ import annotations

from omnigraph.server.operation import Operation
from omnigraph.server.operations import (
    blobs,
    branches,
    changes,
    commits,
    exports,
    history,
    loads,
    management,
    reads,
    schema_changes,
    stored,
    writes,
)

OPERATIONS: tuple[Operation, ...] = (
    *management.OPERATIONS,
    *reads.OPERATIONS,
    *writes.OPERATIONS,
    *stored.OPERATIONS,
    *schema_changes.OPERATIONS,
    *loads.OPERATIONS,
    *exports.OPERATIONS,
    *branches.OPERATIONS,
    *commits.OPERATIONS,
    *changes.OPERATIONS,
    *history.OPERATIONS,
    *blobs.OPERATIONS,
)
