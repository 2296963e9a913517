"""The degree book: what is known of the degrees of edge types, from topologies that are or were resident.

A summary is made once from a topology and serves other versions of the same branch of the same tables while about as
many edges are there; never another branch, nor one that was made again under the same name. For large tables it is kept
as a small file, named by the very version that it is of, so that a new process knows it before it has read an edge. It
is an estimate by nature: nothing but the order of steps and the way to follow edges depends on it.
"""

from __future__ import annotations

import itertools
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeAlias

import numpy as np

from omnigraph.language.query import Direction
from omnigraph.language.schema import Catalog
from omnigraph.model.identifiers import TableKey
from omnigraph.model.late_dataclass import dataclass
from omnigraph.query.plan.degree_files import read_degrees, write_degrees
from omnigraph.query.plan.degrees import FLIPPED, Degrees, EdgeDegrees
from omnigraph.query.resident import ResidentCache
from omnigraph.query.topology import EDGES_MIN, ResidentTopology, TopologyFiles
from omnigraph.storage.manifest import Incarnation
from omnigraph.storage.tables import Table, TableIdentity

DRIFT = 0.1
"""A summary serves until the number of edges differs from its own by more than this share."""
SUMMARIES_MAX = 1024
JOINTS_MAX = 4096

_Line: TypeAlias = tuple[tuple[str, str | None, Incarnation | None], ...]
"""One branch of the edges and of the nodes at both ends, as it was made once."""
_serials = itertools.count(1)


@dataclass(frozen=True, slots=True)
class Summary:
    """The degrees of one edge type as they once were."""

    degrees: EdgeDegrees
    edges: int
    serial: int

    def serves(self, table: Table) -> bool:
        return abs(table.pin.row_count - self.edges) <= DRIFT * self.edges


@dataclass(frozen=True, slots=True)
class KnownDegrees:
    """What a planner may ask."""

    summaries: Mapping[str, Summary]
    joint: Callable[[str, Direction, str, Direction], float | None]

    @property
    def edition(self) -> tuple[int, ...]:
        """Changes when something else is known."""
        return tuple(self.summaries[name].serial for name in sorted(self.summaries))

    def along(self, edge_type: str, direction: Direction) -> Degrees | None:
        found = self.summaries.get(edge_type)
        return None if found is None else found.degrees.along(direction)

    def onward(self, arrived: tuple[str, Direction], leaving: tuple[str, Direction]) -> float | None:
        """The mean degree along one type of the nodes that a hop of another, or the same, led to."""
        if not {arrived[0], leaving[0]} <= self.summaries.keys():
            return None
        if arrived[0] == leaving[0]:
            return self.summaries[arrived[0]].degrees.onward(arrived[1], leaving[1])
        return self.joint(*arrived, *leaving)


NOTHING_KNOWN = KnownDegrees({}, lambda *_: None)


@dataclass(frozen=True, slots=True)
class Walked:
    """The tables of one edge type: its edges, and the nodes at both ends."""

    edges: Table
    sources: Table
    targets: Table

    @property
    def identities(self) -> tuple[TableIdentity, ...]:
        return self.edges.identity, self.sources.identity, self.targets.identity

    @property
    def line(self) -> _Line:
        tables = (self.edges, self.sources, self.targets)
        return tuple((table.base_uri, table.pin.lineage, table.pin.incarnation) for table in tables)


@dataclass(frozen=True, slots=True)
class _Entry:
    """What is known of one line; for which version it was last looked up on file."""

    summary: Summary | None
    looked_up: tuple[TableIdentity, ...]


class DegreeCache:
    """The summaries of one graph. Thread-safe."""

    def __init__(self, resident: ResidentCache, files: Callable[[], TopologyFiles]) -> None:
        self._resident_cache = resident
        self._files = files
        self._lock = threading.Lock()
        self._kept: OrderedDict[_Line, _Entry] = OrderedDict()
        self._joint: OrderedDict[tuple[int, Direction, int, Direction], float] = OrderedDict()

    def known(self, tables: Iterable[Table], catalog: Catalog) -> KnownDegrees:
        """What is known of those of the tables that hold edges and have the nodes at both ends beside them."""
        walked = _walked({table.pin.table_key: table for table in tables}, catalog)
        if not walked:
            return NOTHING_KNOWN
        found = {name: self._summary(each) for name, each in walked.items()}
        summaries = {name: each for name, each in found.items() if each is not None}
        return KnownDegrees(summaries, lambda *asked: self._crossed(walked, summaries, *asked))

    def _summary(self, walked: Walked) -> Summary | None:
        line = walked.line
        with self._lock:
            entry = self._kept.get(line)
        known = None if entry is None else entry.summary
        if known is not None and known.serves(walked.edges):
            return known
        topology = self._topology(walked)
        if topology is not None and known is not None and known.edges == topology.edges.table.pin.row_count:
            return known  # the topology has not followed yet
        identities = walked.identities
        if topology is not None:
            known = _summed_up(topology)
            if known.edges >= EDGES_MIN:
                of = tuple(each.table.identity for each in topology.ends)
                write_degrees(self._files(), of, known.degrees, known.edges)
        elif walked.edges.pin.row_count >= EDGES_MIN and (entry is None or entry.looked_up != identities):
            read = read_degrees(self._files(), identities)
            known = known if read is None else Summary(*read, next(_serials))
        with self._lock:
            self._kept[line] = _Entry(known, identities)
            _trim(self._kept, SUMMARIES_MAX)
        return known

    def _topology(self, walked: Walked) -> ResidentTopology | None:
        return self._resident_cache.topology_of(walked.edges, walked.sources, walked.targets)

    def _crossed(
        self,
        walked: Mapping[str, Walked],
        summaries: Mapping[str, Summary],
        arrived: str,
        by: Direction,
        leaving: str,
        direction: Direction,
    ) -> float | None:
        key = (summaries[arrived].serial, by, summaries[leaving].serial, direction)
        with self._lock:
            if key in self._joint:
                return self._joint[key]
        one, other = (self._topology(walked[name]) for name in (arrived, leaving))
        found = None if one is None or other is None else _joint(one, by, other, direction)
        if found is not None:
            with self._lock:
                self._joint[key] = found
                _trim(self._joint, JOINTS_MAX)
        return found


def _walked(tables: Mapping[TableKey, Table], catalog: Catalog) -> dict[str, Walked]:
    found = {}
    for key, table in tables.items():
        declared = catalog.edge_types.get(key.type_name) if key.kind == "edge" else None
        if declared is not None:
            ends = [tables.get(TableKey("node", name)) for name in (declared.from_type, declared.to_type)]
            if ends[0] is not None and ends[1] is not None:
                found[key.type_name] = Walked(table, ends[0], ends[1])
    return found


def _trim(kept: OrderedDict[Any, Any], most: int) -> None:
    while len(kept) > most:
        kept.popitem(last=False)


def _summed_up(topology: ResidentTopology) -> Summary:
    out, into = topology.counts("out"), topology.counts("in")
    same = topology.sources is topology.targets
    return Summary(EdgeDegrees.of(out, into, same_type=same), topology.edges.table.pin.row_count, next(_serials))


def _joint(one: ResidentTopology, by: Direction, other: ResidentTopology, direction: Direction) -> float | None:
    reached, leaving = one.counts(FLIPPED[by]), other.counts(direction)
    total = int(reached.sum())
    if len(reached) != len(leaving) or not total:
        return None  # numbered by different versions of the nodes, or nothing is reached
    return float(np.dot(reached.astype(np.float64), leaving)) / total
