"""The operations: one module for each family of routes, and the table of all of them."""

from __future__ import annotations

from omnigraph.server.operations.table import OPERATIONS as OPERATIONS
