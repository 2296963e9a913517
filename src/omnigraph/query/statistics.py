"""Statistics: what the planner knows without reading a row: how many there are, and what conditions usually leave."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from omnigraph.language.query.ir import Condition, Expr, Filter, InList, Literal, NullTest, PropAccess, Variable
from omnigraph.language.query.literals import ListLit
from omnigraph.language.schema.catalog import Catalog
from omnigraph.query.plan import Hop

EQUAL_SHARE = 0.05
RANGE_SHARE = 0.3
TEXT_SHARE = 0.05
OTHER_SHARE = 0.5


@dataclass(frozen=True)
class Statistics:
    """Row counts per type, from the snapshot's pins."""

    catalog: Catalog
    nodes: Mapping[str, int]
    edges: Mapping[str, int]

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

    def fan_out(self, hop: Hop) -> float:
        """Destinations per source, on average; over several hops never more than there are nodes."""
        edges = float(self.edges.get(hop.edge_type, 0))
        sources = max(1.0, float(self.nodes.get(hop.src_type, 0)))
        targets = max(1.0, float(self.nodes.get(hop.dst_type, 0)))
        degree = edges / sources * (2 if hop.direction == "both" else 1)
        if hop.is_empty:
            return 0.0
        if hop.is_single:
            return min(degree, edges)
        hops = 16 if hop.max_hops is None else min(hop.max_hops, 16)
        reached = sum(degree**step for step in range(hop.min_hops, hops + 1))
        return min(reached, targets)

    def closes(self, hop: Hop) -> float:
        """The share of rows whose two ends a hop connects."""
        return min(1.0, self.fan_out(hop) / max(1.0, float(self.nodes.get(hop.dst_type, 0))))


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
