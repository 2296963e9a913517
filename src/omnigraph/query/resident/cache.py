"""ResidentCache: the entities and topologies that this process keeps in memory, within one budget of bytes.

Keyed by what they derive from, `Table.identity`, which never comes again. Branches that share a table version share
what is kept of it. Of each branch of a table the few versions stay that were asked for last: a newer one is derived
from them and shares what it can, so older ones would only take up room. Everything here can be dropped at any time; it
is only ever a reason to be fast. Keeping one more thing costs the same however much is kept.
"""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple, TypeAlias

from omnigraph.model.late_dataclass import dataclass
from omnigraph.query.entities import HeldBytes, ResidentEntities
from omnigraph.query.topology import ResidentTopology, TopologyFiles, updated
from omnigraph.storage.tables import Table, TableIdentity

BUDGET_DEFAULT = 4 << 30
VERSIONS_KEPT = 2
"""Of a branch of a table: the newest, and one more for whoever reads an older one beside it."""
CANDIDATES_MAX = 8
"""So many topologies of other branches are looked at when a new one could be derived from them."""


@dataclass(frozen=True, slots=True)
class _TopologyKey:
    """The edges and the nodes at both ends, each in one numbering: what left the memory may come back in another."""

    edges: TableIdentity
    sources: TableIdentity
    targets: TableIdentity
    numbering: tuple[int, int, int]

    def __hash__(self) -> int:
        return hash(self.edges)


_Key: TypeAlias = TableIdentity | _TopologyKey
_Group: TypeAlias = tuple[str | None, ...]


class _Kept(NamedTuple):
    item: ResidentEntities | ResidentTopology
    groups: tuple[OrderedDict[_Key, None], OrderedDict[_Key, None]]
    """Those that it is in: all of the table, and all of the same branch of it."""


class ResidentCache:
    """What is resident. Thread-safe: two who ask for the same thing at once wait for one of them to make it."""

    def __init__(self, budget_bytes: int | None = None) -> None:
        self.budget_bytes = budget_bytes or int(os.environ.get("OMNIGRAPH_RESIDENT_BYTES", BUDGET_DEFAULT))
        self._lock = threading.RLock()
        self._making = threading.RLock()
        self._kept: OrderedDict[_Key, _Kept] = OrderedDict()
        self._groups: dict[_Group, OrderedDict[_Key, None]] = {}
        self._held = HeldBytes()
        self._used: set[_Key] = set()
        self._used_before: set[_Key] = set()
        """Asked for since the last measuring, and before it: whoever asked may have read columns meanwhile."""

    def __len__(self) -> int:
        return len(self._kept)

    @property
    def nbytes(self) -> int:
        """What all of it holds, shared arrays counted once."""
        with self._lock:
            self._used |= self._kept.keys()
            self._measure_used()
            return self._held.total

    def has_entities(self, table: Table) -> bool:
        """Whether numbering this table costs next to nothing: it, or another version of it, is here."""
        identity = table.identity
        with self._lock:
            return identity in self._kept or self._relative(identity) is not None

    def topology_of(self, edges: Table, sources: Table, targets: Table) -> ResidentTopology | None:
        """The topology of this branch's edges, at this version or another one, if one is here. Makes nothing."""
        tables = (edges, sources, targets)
        identities = tuple(table.identity for table in tables)
        with self._lock:
            found = [
                kept
                for key in reversed(self._groups.get(_line(*identities), ()))
                if isinstance(kept := self._kept[key].item, ResidentTopology)
            ]
        exact = next((each for each in found if tuple(part.table.identity for part in each.ends) == identities), None)
        return exact or next((each for each in found if _same_history(each, tables)), None)

    def entities(self, table: Table) -> ResidentEntities:
        identity = table.identity
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
        identities = (edges.table.identity, sources.table.identity, targets.table.identity)
        key = _TopologyKey(*identities, (edges.token, sources.token, targets.token))
        known = self._get(key)
        if isinstance(known, ResidentTopology):
            return known
        with self._making:
            known = self._get(key)
            if isinstance(known, ResidentTopology):
                return known
            made = self._updated(key, edges, sources, targets)
            if made is None:
                made = (files().topology if files else ResidentTopology.of)(edges, sources, targets)
            self._keep(key, made)
            return made

    def forget(self, tables: Iterable[Table]) -> bool:
        """Drops whatever is kept of these tables, in every version and branch; whether there was anything."""
        with self._lock:
            addresses = [table.base_uri for table in tables]
            wide = [group for uri in addresses for group in (("entities", uri), ("topologies", uri))]
            keys = [key for group in wide for key in self._groups.get(group, ())]
            for key in keys:
                self._drop(key)
        return bool(keys)

    def clear(self) -> None:
        with self._lock:
            for key in list(self._kept):
                self._drop(key)

    # --- parts --------------------------------------------------------------------------------------------

    def _get(self, key: _Key) -> ResidentEntities | ResidentTopology | None:
        with self._lock:
            found = self._kept.get(key)
            if found is None:
                return None
            self._kept.move_to_end(key)
            for group in found.groups:
                group.move_to_end(key)
            self._used.add(key)
            return found.item

    def _keep(self, key: _Key, made: ResidentEntities | ResidentTopology) -> None:
        with self._lock:
            wide, line = (self._groups.setdefault(group, OrderedDict()) for group in _groups_of(key))
            self._kept[key] = _Kept(made, (wide, line))
            self._used.add(key)
            wide[key] = line[key] = None
            while len(line) > VERSIONS_KEPT:
                self._drop(next(iter(line)))
            self._measure_used()
            while len(self._kept) > 1 and self._held.total > self.budget_bytes:
                self._drop(next(iter(self._kept)))

    def _drop(self, key: _Key) -> None:
        if self._kept.pop(key, None) is None:
            return
        self._used.discard(key)
        self._used_before.discard(key)
        self._held.release(key)
        for group in _groups_of(key):
            del self._groups[group][key]
            if not self._groups[group]:
                del self._groups[group]

    def _measure_used(self) -> None:
        for key in self._used | self._used_before:
            self._held.measure(key, self._kept[key].item.parts())
        self._used_before, self._used = self._used, set()

    def _relative(self, identity: TableIdentity) -> ResidentEntities | None:
        """The most recently used other version of the same table, preferably of the same lineage.

        Whatever incarnation it is of: fragments are compared by their files, whose names are never given again.
        """
        with self._lock:
            for group in reversed(_groups_of(identity)):
                for key in reversed(self._groups.get(group, ())):
                    kept = self._kept[key].item
                    if isinstance(kept, ResidentEntities):
                        return kept
        return None

    def _updated(
        self, key: _TopologyKey, edges: ResidentEntities, sources: ResidentEntities, targets: ResidentEntities
    ) -> ResidentTopology | None:
        """A topology of older relatives, patched: the newer one shares what it can."""
        with self._lock:
            candidates = list(self._candidates(key))
        for candidate in candidates:
            made = updated(candidate, edges, sources, targets)
            if made is not None:
                return made
        return None

    def _candidates(self, key: _TopologyKey) -> Iterator[ResidentTopology]:
        wide, line = _groups_of(key)
        near = [*reversed(self._groups.get(line, ()))]
        far = (each for each in reversed(self._groups.get(wide, ())) if each not in near)
        for each in (*near, *(found for found, _ in zip(far, range(CANDIDATES_MAX), strict=False))):
            kept = self._kept[each].item
            if isinstance(kept, ResidentTopology):
                yield kept


def _groups_of(key: _Key) -> tuple[_Group, _Group]:
    """What is related to it: of the same table, and of the same branch of it."""
    if isinstance(key, TableIdentity):
        return ("entities", key.uri), ("entities", key.uri, key.lineage)
    return ("topologies", key.edges.uri), _line(key.edges, key.sources, key.targets)


def _line(edges: TableIdentity, sources: TableIdentity, targets: TableIdentity) -> _Group:
    """The topologies of one branch: its edges, or its nodes, may be those of another branch still."""
    return "topologies", edges.uri, edges.lineage, sources.lineage, targets.lineage


def _same_history(kept: ResidentTopology, tables: tuple[Table, Table, Table]) -> bool:
    """Whether these are other versions of what is kept, and not of a branch or a graph that was made in its place."""
    pairs = zip(kept.ends, tables, strict=True)
    same_branches = all(each.table.pin.incarnation == table.pin.incarnation for each, table in pairs)
    return same_branches and kept.edges.is_akin(tables[0])


_resident_cache = ResidentCache()


def resident_cache() -> ResidentCache:
    """The resident cache of this process: one budget for all graphs that it has open."""
    return _resident_cache
