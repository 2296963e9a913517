"""The degree book: what is known of the degrees of edge types, from topologies that are or were resident.

A summary is made once from a topology, serves later versions of the table while about as many edges are there, and is
kept as a small file for large tables, so that a new process knows it before it has read an edge. It is an estimate by
nature: nothing but the order of steps and the way to follow edges depends on it.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Iterable, Mapping

import numpy as np

from omnigraph.language.query.ir import Direction
from omnigraph.model.late_dataclass import dataclass
from omnigraph.query.degree_files import read_degrees, write_degrees
from omnigraph.query.degrees import FLIPPED, Degrees, EdgeDegrees
from omnigraph.query.residence import Residence
from omnigraph.query.topology import ResidentTopology
from omnigraph.query.topology_files import EDGES_MIN, TopologyFiles
from omnigraph.storage import Table

DRIFT = 0.1
"""A summary serves until the number of edges differs from its own by more than this share."""

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


class DegreeBook:
    """The summaries of one graph. Thread-safe."""

    def __init__(self, resident: Residence, files: Callable[[], TopologyFiles]) -> None:
        self._residence = resident
        self._files = files
        self._lock = threading.Lock()
        self._kept: dict[tuple[str, str | None], Summary | None] = {}
        self._joint: dict[tuple[int, Direction, int, Direction], float | None] = {}

    def known(self, tables: Iterable[Table]) -> KnownDegrees:
        """What is known of those of the tables that hold edges."""
        edges = {table.pin.table_key.type_name: table for table in tables if table.pin.table_key.kind == "edge"}
        if not edges:
            return NOTHING_KNOWN
        found = {name: self._summary(table) for name, table in edges.items()}
        summaries = {name: each for name, each in found.items() if each is not None}
        return KnownDegrees(summaries, lambda *asked: self._crossed(edges, summaries, *asked))

    def _summary(self, table: Table) -> Summary | None:
        key = (table.base_uri, table.pin.lineage)
        with self._lock:
            known, is_new = self._kept.get(key), key not in self._kept
        if known is not None and known.serves(table):
            return known
        topology = self._residence.topology_of(table)
        if topology is not None and known is not None and known.edges == topology.edges.table.pin.row_count:
            return known  # the topology has not followed yet
        if topology is not None:
            known = _summed_up(topology)
            if known.edges >= EDGES_MIN:
                write_degrees(self._files(), table, known.degrees, known.edges)
        elif is_new and table.pin.row_count >= EDGES_MIN:
            read = read_degrees(self._files(), table)
            known = None if read is None else Summary(*read, next(_serials))
        with self._lock:
            self._kept[key] = known
        return known

    def _crossed(
        self,
        tables: Mapping[str, Table],
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
        one, other = (self._residence.topology_of(tables[name]) for name in (arrived, leaving))
        found = None if one is None or other is None else _joint(one, by, other, direction)
        if found is not None:
            with self._lock:
                self._joint[key] = found
        return found


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
