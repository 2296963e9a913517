"""The view of a query: entities and topologies of one snapshot, all of them resident or all of them interned."""

from __future__ import annotations

from collections.abc import Callable

from omnigraph.history import Snapshot
from omnigraph.language.schema import Catalog
from omnigraph.model.identifiers import EntityKind, TableKey
from omnigraph.query.entities import Entities, InternedEntities, ResidentEntities
from omnigraph.query.resident.cache import ResidentCache
from omnigraph.query.topology import InternedTopology, ResidentTopology, Topology, TopologyFiles
from omnigraph.storage import GraphStorage


class QueryView:
    """What a running query reads from. In one run everything is resident, or everything is interned."""

    def __init__(
        self,
        storage: GraphStorage,
        snapshot: Snapshot,
        catalog: Catalog,
        *,
        resident: ResidentCache | None,
        files: Callable[[], TopologyFiles] | None = None,
    ) -> None:
        self.snapshot = snapshot
        self.catalog = catalog
        self._storage = storage
        self._resident = resident
        self._files = files
        self._entities: dict[tuple[EntityKind, str], Entities] = {}
        self._topologies: dict[str, Topology] = {}

    @property
    def is_resident(self) -> bool:
        return self._resident is not None

    def entities(self, kind: EntityKind, type_name: str) -> Entities:
        known = self._entities.get((kind, type_name))
        if known is None:
            table = self._storage.tables.open(self.snapshot.table(TableKey(kind, type_name)))
            known = InternedEntities(table) if self._resident is None else self._resident.entities(table)
            self._entities[kind, type_name] = known
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
