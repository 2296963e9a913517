"""Statistics: what the planner knows without reading a row: how many there are, how edges are spread over nodes, and
what conditions usually leave."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from omnigraph.language.query import Condition, Expr, Filter, InList, Literal, NullTest, PropAccess, Variable
from omnigraph.language.query.parse import ListLit
from omnigraph.language.schema import Catalog
from omnigraph.query.plan.degree_cache import NOTHING_KNOWN, KnownDegrees
from omnigraph.query.plan.steps import Fan, Hop

EQUAL_SHARE = 0.05
RANGE_SHARE = 0.3
TEXT_SHARE = 0.05
OTHER_SHARE = 0.5
WALKED_HOPS_MAX = 16
"""Further hops of a traversal are not worth a guess."""


@dataclass(frozen=True)
class Statistics:
    """Row counts per type, from the snapshot's pins; degrees of the edge types whose topology was seen."""

    catalog: Catalog
    nodes: Mapping[str, int]
    edges: Mapping[str, int]
    degrees: KnownDegrees = NOTHING_KNOWN

    def scan(self, type_name: str, variable: str, conditions: Iterable[Condition]) -> float:
        """The nodes of a type that pass."""
        rows = float(self.nodes.get(type_name, 0))
        for condition in conditions:
            if self.pins_key(condition, variable, type_name):
                return min(rows, float(_list_length(condition)))
            rows *= share(condition)
        return rows

    def pins_key(self, condition: Condition, variable: str, type_name: str) -> bool:
        """Whether the condition names the node by its key."""
        node = self.catalog.node(type_name)
        if node is None or node.key is None or len(node.key) != 1:
            return False
        sides: tuple[Expr, ...]
        if isinstance(condition, InList):
            sides = (condition.value,)
        elif isinstance(condition, Filter) and condition.op == "eq":
            sides = (condition.left, condition.right)
            if sum(isinstance(side, PropAccess | Variable) for side in sides) > 1:
                return False
        else:
            return False
        return any(
            isinstance(side, PropAccess) and side.variable == variable and side.property == node.key[0]
            for side in sides
        )

    def fan_out(self, hop: Hop, arrived: Hop | None = None) -> Fan:
        """Destinations per source. `arrived` is the hop that led to the source: busy nodes are reached more often."""
        degrees = self.degrees.along(hop.edge_type, hop.direction)
        first = self._mean(hop) if degrees is None else degrees.mean
        if arrived is not None:
            first = self._onward(arrived, hop, first)
        if hop.is_empty:
            return Fan(0.0, degrees)
        if hop.is_single:
            return Fan(min(first, float(self.edges.get(hop.edge_type, 0))), degrees)
        targets = max(1.0, float(self.nodes.get(hop.dst_type, 0)))
        hops = WALKED_HOPS_MAX if hop.max_hops is None else min(hop.max_hops, WALKED_HOPS_MAX)
        further = self._onward(hop, hop, first)
        reached = sum(first * further ** (step - 1) for step in range(hop.min_hops, hops + 1))
        return Fan(min(reached, targets), degrees)

    def closes(self, hop: Hop, arrived: Hop | None = None) -> float:
        """The share of rows whose two ends a hop connects."""
        return min(1.0, self.fan_out(hop, arrived).expected / max(1.0, float(self.nodes.get(hop.dst_type, 0))))

    def without(self, hop: Hop) -> float | None:
        """The share of nodes from which a hop leads nowhere, if that is known."""
        degrees = self.degrees.along(hop.edge_type, hop.direction)
        return None if degrees is None or not hop.is_single else degrees.share_without

    def _mean(self, hop: Hop) -> float:
        sources = max(1.0, float(self.nodes.get(hop.src_type, 0)))
        return float(self.edges.get(hop.edge_type, 0)) / sources * (2 if hop.direction == "both" else 1)

    def _onward(self, arrived: Hop, hop: Hop, otherwise: float) -> float:
        found = self.degrees.onward((arrived.edge_type, arrived.direction), (hop.edge_type, hop.direction))
        return otherwise if found is None else found


def share(condition: Condition) -> float:
    """The part of the rows that a condition usually leaves."""
    match condition:
        case NullTest():
            return OTHER_SHARE
        case InList():
            return min(1.0, EQUAL_SHARE * _list_length(condition))
        case Filter(op="eq", left=PropAccess() | Variable() | Literal(), right=_):
            return EQUAL_SHARE
        case Filter(op="eq"):
            return TEXT_SHARE
        case Filter(op="lt" | "gt" | "le" | "ge"):
            return RANGE_SHARE
        case _:
            return OTHER_SHARE


def _list_length(condition: Condition) -> int:
    if not isinstance(condition, InList):
        return 1
    members = condition.members
    if isinstance(members, Literal) and isinstance(members.value, ListLit):
        return max(1, len(members.value.items))
    return 100
