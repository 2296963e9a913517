"""The access mode of a run: everything from memory (`csr`), or through indexes (`indexed`). Chosen once, by cost."""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from typing import Literal

from omnigraph.model.late_dataclass import dataclass
from omnigraph.query.plan.steps import Hop, Intersect, Mode, Plan, PlanStep, ScanNodes, Traverse
from omnigraph.query.resident import ResidentCache
from omnigraph.storage.tables import Table

SMALL_ROWS = 50_000
"""Tables that are together no larger are made resident at once: that takes a few milliseconds."""
INDEXED_FRONTIER_MAX = 1024
INDEXED_HOPS_MAX = 6
BUILD_FACTOR = 1.5
"""What building a topology costs per edge, beside what an indexed lookup costs per edge that it finds."""


@dataclass(frozen=True, slots=True)
class AccessMode:
    mode: Literal["indexed", "csr"]
    reason: str


class RecentTables:
    """Which tables were asked about through their indexes: whoever asks twice is better served from memory."""

    def __init__(self, most: int = 4096) -> None:
        self._lock = threading.Lock()
        self._most = most
        self._seen: OrderedDict[str, None] = OrderedDict()

    def again(self, tables: list[Table]) -> bool:
        with self._lock:
            names = [table.base_uri for table in tables]
            again = bool(names) and all(name in self._seen for name in names)
            self._seen.update(dict.fromkeys(names))
            while len(self._seen) > self._most:
                self._seen.popitem(last=False)
            return again


def choose_access_mode(
    plan: Plan, mode: Mode, tables: list[Table], resident_cache: ResidentCache, asked: RecentTables
) -> AccessMode:
    """How this run follows edges and finds nodes."""
    if mode != "auto":
        return AccessMode(mode, "asked for")
    named = os.environ.get("OMNIGRAPH_TRAVERSAL_MODE")
    if named in ("indexed", "csr"):
        return AccessMode("indexed" if named == "indexed" else "csr", "OMNIGRAPH_TRAVERSAL_MODE")
    again = asked.again(tables)
    if all(resident_cache.has_entities(table) for table in tables):
        return AccessMode("csr", "resident already")
    rows = sum(table.pin.row_count for table in tables)
    if rows <= SMALL_ROWS:
        return AccessMode("csr", f"{rows} rows: small tables")
    if again:
        return AccessMode("csr", "asked again")
    return _by_cost(plan, tables)


def _by_cost(plan: Plan, tables: list[Table]) -> AccessMode:
    frontier = max((step.estimate for step in plan.steps if isinstance(step, ScanNodes)), default=0.0)
    hops = sum(_hops(hop) for step in plan.steps for hop in _walked(step))
    frontier_max = int(os.environ.get("OMNIGRAPH_EXPAND_INDEXED_MAX_FRONTIER", INDEXED_FRONTIER_MAX))
    hops_max = int(os.environ.get("OMNIGRAPH_EXPAND_INDEXED_MAX_HOPS", INDEXED_HOPS_MAX))
    if frontier > frontier_max or hops > hops_max:
        return AccessMode("csr", f"{frontier:.0f} rows to start from, {hops} hops")
    edge_tables = [table for table in tables if table.pin.table_key.kind == "edge"]
    edges = sum(table.pin.row_count for table in edge_tables)
    looked_at = sum(step.estimate for step in plan.steps)
    looked_at += hops * sum(_rows_beside_index(table) for table in edge_tables)
    if looked_at > BUILD_FACTOR * max(edges, SMALL_ROWS):
        return AccessMode("csr", f"about {looked_at:.0f} rows to look at on the way")
    return AccessMode("indexed", f"{frontier:.0f} rows to start from, nothing resident yet")


def _rows_beside_index(table: Table) -> int:
    """The edges that no index on the ends covers: each hop scans them."""
    rows = table.pin.row_count
    covered = dict.fromkeys(("src", "dst"), 0)
    for index in table.indexes():
        if len(index.columns) == 1 and index.columns[0] in covered:
            covered[index.columns[0]] = max(covered[index.columns[0]], index.rows_indexed)
    return max(0, rows - min(covered.values()))


def _walked(step: PlanStep) -> tuple[Hop, ...]:
    if isinstance(step, Traverse):
        return (step.hop,)
    return step.hops if isinstance(step, Intersect) else ()


def _hops(hop: Hop) -> int:
    return INDEXED_HOPS_MAX + 1 if hop.max_hops is None else hop.max_hops
