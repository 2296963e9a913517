"""The view of a query: entities and topologies of one snapshot, resident or interned, decided once per run."""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import Literal

from omnigraph.history import Snapshot
from omnigraph.language.schema.catalog import Catalog
from omnigraph.model.identifiers import EntityKind, TableKey
from omnigraph.model.late_dataclass import dataclass
from omnigraph.query.entities import Entities, InternedEntities
from omnigraph.query.plan import Hop, Intersect, Mode, Plan, PlanStep, ScanNodes, Traverse
from omnigraph.query.residence import Residence
from omnigraph.query.resident import ResidentEntities
from omnigraph.query.topology import InternedTopology, ResidentTopology, Topology
from omnigraph.query.topology_files import TopologyFiles
from omnigraph.storage import GraphStorage, Table

SMALL_ROWS = 50_000
"""Tables that are together no larger are made resident at once: that takes a few milliseconds."""
INDEXED_FRONTIER_MAX = 1024
INDEXED_HOPS_MAX = 6
BUILD_FACTOR = 1.5
"""What building a topology costs per edge, beside what an indexed lookup costs per edge that it finds."""


class QueryView:
    """What a running query reads from. In one run everything is resident, or everything is interned."""

    def __init__(
        self,
        storage: GraphStorage,
        snapshot: Snapshot,
        catalog: Catalog,
        *,
        resident: Residence | None,
        files: Callable[[], TopologyFiles] | None = None,
    ) -> None:
        self.snapshot = snapshot
        self.catalog = catalog
        self._storage = storage
        self._resident = resident
        self._files = files
        self._entities: dict[TableKey, Entities] = {}
        self._topologies: dict[str, Topology] = {}

    @property
    def is_resident(self) -> bool:
        return self._resident is not None

    def entities(self, kind: EntityKind, type_name: str) -> Entities:
        key = TableKey(kind, type_name)
        known = self._entities.get(key)
        if known is None:
            table = self._storage.tables.open(self.snapshot.table(key))
            known = InternedEntities(table) if self._resident is None else self._resident.entities(table)
            self._entities[key] = known
        return known

    def topology(self, edge_type: str) -> Topology:
        known = self._topologies.get(edge_type)
        if known is None:
            known = self._topologies[edge_type] = self._open_topology(edge_type)
        return known

    def _open_topology(self, edge_type: str) -> Topology:
        declared = self.catalog.edge_types[edge_type]
        edges = self.entities("edge", edge_type)
        sources, targets = self.entities("node", declared.from_type), self.entities("node", declared.to_type)
        if self._resident is None:
            assert isinstance(edges, InternedEntities)
            assert isinstance(sources, InternedEntities)
            assert isinstance(targets, InternedEntities)
            return InternedTopology(edges, sources, targets)
        assert isinstance(edges, ResidentEntities)
        assert isinstance(sources, ResidentEntities)
        assert isinstance(targets, ResidentEntities)
        return self._resident.topology(edges, sources, targets, self._files)

    def resident_topology(self, edge_type: str) -> ResidentTopology | None:
        topology = self.topology(edge_type)
        return topology if isinstance(topology, ResidentTopology) else None


@dataclass(frozen=True, slots=True)
class Decision:
    mode: Literal["indexed", "csr"]
    reason: str


class Asked:
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


def decide(plan: Plan, mode: Mode, tables: list[Table], residence: Residence, asked: Asked) -> Decision:
    """How this run follows edges and finds nodes."""
    if mode != "auto":
        return Decision(mode, "asked for")
    named = os.environ.get("OMNIGRAPH_TRAVERSAL_MODE")
    if named in ("indexed", "csr"):
        return Decision("indexed" if named == "indexed" else "csr", "OMNIGRAPH_TRAVERSAL_MODE")
    again = asked.again(tables)
    if all(residence.has_entities(table) for table in tables):
        return Decision("csr", "resident already")
    rows = sum(table.pin.row_count for table in tables)
    if rows <= SMALL_ROWS:
        return Decision("csr", f"{rows} rows are read in no time")
    if again:
        return Decision("csr", "asked again")
    return _by_cost(plan, tables)


def _by_cost(plan: Plan, tables: list[Table]) -> Decision:
    frontier = max((step.estimate for step in plan.steps if isinstance(step, ScanNodes)), default=0.0)
    hops = sum(_hops(hop) for step in plan.steps for hop in _walked(step))
    frontier_max = int(os.environ.get("OMNIGRAPH_EXPAND_INDEXED_MAX_FRONTIER", INDEXED_FRONTIER_MAX))
    hops_max = int(os.environ.get("OMNIGRAPH_EXPAND_INDEXED_MAX_HOPS", INDEXED_HOPS_MAX))
    if frontier > frontier_max or hops > hops_max:
        return Decision("csr", f"{frontier:.0f} rows to start from, {hops} hops")
    edge_tables = [table for table in tables if table.pin.table_key.kind == "edge"]
    edges = sum(table.pin.row_count for table in edge_tables)
    looked_at = sum(step.estimate for step in plan.steps)
    looked_at += hops * sum(_rows_beside_index(table) for table in edge_tables)
    if looked_at > BUILD_FACTOR * max(edges, SMALL_ROWS):
        return Decision("csr", f"about {looked_at:.0f} rows to look at on the way")
    return Decision("indexed", f"{frontier:.0f} rows to start from, nothing resident yet")


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
