"""Topology: which row leads to which, for an edge type, and the kernels that walk it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnigraph.model.late_names import late_names

if TYPE_CHECKING:
    from omnigraph.query.topology.adjacency import Adjacency as Adjacency
    from omnigraph.query.topology.adjacency import Neighbours as Neighbours
    from omnigraph.query.topology.adjacency import connected as connected
    from omnigraph.query.topology.adjacency import entries_from as entries_from
    from omnigraph.query.topology.adjacency import walk as walk
    from omnigraph.query.topology.edge_topology import InternedTopology as InternedTopology
    from omnigraph.query.topology.edge_topology import ResidentTopology as ResidentTopology
    from omnigraph.query.topology.edge_topology import Topology as Topology
    from omnigraph.query.topology.files import EDGES_MIN as EDGES_MIN
    from omnigraph.query.topology.files import TopologyFiles as TopologyFiles
    from omnigraph.query.topology.intersection import common_counts as common_counts
    from omnigraph.query.topology.intersection import common_neighbours as common_neighbours
    from omnigraph.query.topology.reachability import Reached as Reached
    from omnigraph.query.topology.reachability import reach as reach
    from omnigraph.query.topology.update import updated as updated
else:
    __getattr__, __dir__ = late_names(
        __name__,
        {
            "adjacency": (
                "Adjacency",
                "Neighbours",
                "connected",
                "entries_from",
                "walk",
            ),
            "edge_topology": (
                "InternedTopology",
                "ResidentTopology",
                "Topology",
            ),
            "files": (
                "EDGES_MIN",
                "TopologyFiles",
            ),
            "intersection": (
                "common_counts",
                "common_neighbours",
            ),
            "reachability": (
                "Reached",
                "reach",
            ),
            "update": ("updated",),
        },
    )
