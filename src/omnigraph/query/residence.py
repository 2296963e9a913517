"""Residence: the entities and topologies that this process keeps in memory, within one budget of bytes.

Keyed by what they derive from: the table's place, its lineage, its version. Branches that share a table version share
what is kept of it. Everything here can be dropped at any time; it is only ever a reason to be fast.
"""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import TypeAlias

from omnigraph.model.late_dataclass import dataclass
from omnigraph.query.resident import ResidentEntities
from omnigraph.query.topology import ResidentTopology
from omnigraph.query.topology_files import TopologyFiles
from omnigraph.query.topology_update import updated
from omnigraph.storage import Table

BUDGET_DEFAULT = 4 << 30


@dataclass(frozen=True, slots=True)
class TableIdentity:
    """Which rows: a version of a lineage of a table. Nothing else decides what is in it."""

    uri: str
    location: str
    lineage: str | None
    version: int

    @classmethod
    def of(cls, table: Table) -> TableIdentity:
        pin = table.pin
        return cls(table.base_uri, pin.location, pin.lineage, table.version)


_Key: TypeAlias = TableIdentity | tuple[TableIdentity, int, int]


class Residence:
    """What is resident. Thread-safe: two who ask for the same thing at once wait for one of them to make it."""

    def __init__(self, budget_bytes: int | None = None) -> None:
        self.budget_bytes = budget_bytes or int(os.environ.get("OMNIGRAPH_RESIDENT_BYTES", BUDGET_DEFAULT))
        self._lock = threading.RLock()
        self._making = threading.RLock()
        self._kept: OrderedDict[_Key, ResidentEntities | ResidentTopology] = OrderedDict()

    def has_entities(self, table: Table) -> bool:
        """Whether numbering this table costs next to nothing: it, or another version of it, is here."""
        identity = TableIdentity.of(table)
        with self._lock:
            return identity in self._kept or self._relative(identity) is not None

    def topology_of(self, edges: Table) -> ResidentTopology | None:
        """The topology of these edges, or of another version of them, if one is here. Makes nothing."""
        identity, found = TableIdentity.of(edges), None
        with self._lock:
            for key, kept in self._kept.items():
                if isinstance(key, tuple) and isinstance(kept, ResidentTopology) and key[0].uri == identity.uri:
                    found = kept if found is None or key[0].lineage == identity.lineage else found
        return found

    def entities(self, table: Table) -> ResidentEntities:
        identity = TableIdentity.of(table)
        known = self._get(identity)
        if isinstance(known, ResidentEntities):
            return known
        with self._making:
            known = self._get(identity)
            if isinstance(known, ResidentEntities):
                return known
            relative = self._relative(identity)
            made = (relative.derived(table) if relative is not None else None) or ResidentEntities.of(table)
            self._keep(identity, made)
            return made

    def topology(
        self,
        edges: ResidentEntities,
        sources: ResidentEntities,
        targets: ResidentEntities,
        files: Callable[[], TopologyFiles] | None = None,
    ) -> ResidentTopology:
        key = (TableIdentity.of(edges.table), sources.token, targets.token)
        known = self._get(key)
        if isinstance(known, ResidentTopology):
            return known
        with self._making:
            known = self._get(key)
            if isinstance(known, ResidentTopology):
                return known
            made = self._updated(edges, sources, targets)
            if made is None:
                made = (files().topology if files else ResidentTopology.of)(edges, sources, targets)
            self._keep(key, made)
            return made

    def clear(self) -> None:
        with self._lock:
            self._kept.clear()

    # --- parts --------------------------------------------------------------------------------------------

    def _get(self, key: _Key) -> ResidentEntities | ResidentTopology | None:
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
            return self._kept.get(key)

    def _keep(self, key: _Key, made: ResidentEntities | ResidentTopology) -> None:
        with self._lock:
            self._kept[key] = made
            while len(self._kept) > 1 and sum(kept.nbytes for kept in self._kept.values()) > self.budget_bytes:
                self._kept.popitem(last=False)

    def _relative(self, identity: TableIdentity) -> ResidentEntities | None:
        """The most recently used other version of the same table, preferably of the same lineage."""
        found = None
        with self._lock:
            for key, kept in self._kept.items():
                if not isinstance(key, TableIdentity) or not isinstance(kept, ResidentEntities):
                    continue
                if key.uri == identity.uri and (found is None or key.lineage == identity.lineage):
                    found = kept
        return found

    def _updated(
        self, edges: ResidentEntities, sources: ResidentEntities, targets: ResidentEntities
    ) -> ResidentTopology | None:
        """A topology of older relatives, patched. The older one is dropped: the newer one shares what it can."""
        uri = edges.table.base_uri
        with self._lock:
            candidates = [
                kept
                for key, kept in reversed(self._kept.items())
                if isinstance(key, tuple) and isinstance(kept, ResidentTopology) and key[0].uri == uri
            ]
        for candidate in candidates:
            made = updated(candidate, edges, sources, targets)
            if made is not None:
                return made
        return None


_residence = Residence()


def residence() -> Residence:
    """The residence of this process: one budget for all graphs that it has open."""
    return _residence
