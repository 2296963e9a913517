"""The catalog: what a compiled schema declares, in the form that queries, validation and storage ask for.

Immutable and hashable. A projection of the schema IR, never of the source text, so a graph opened from disk and
a graph just compiled have equal catalogs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from functools import cached_property

from omnigraph.model.identifiers import EntityKind, TableKey
from omnigraph.model.late_dataclass import dataclass
from omnigraph.model.types import PropType


@dataclass(frozen=True, slots=True)
class Annotation:
    """`@name("value", key="text")` exactly as stored: arguments are text."""

    name: str
    value: str | None = None
    kwargs: tuple[tuple[str, str], ...] = ()
    """Sorted by key."""


@dataclass(frozen=True, slots=True)
class Embed:
    """`@embed("source", model="m")` on a vector property."""

    source: str
    model: str | None = None


@dataclass(frozen=True, slots=True)
class Property:
    """One declared (or injected) property of a type."""

    name: str
    type: PropType
    annotations: tuple[Annotation, ...] = ()
    embed: Embed | None = None
    default: str | None = None
    """The text of `@default(...)`: fills absent values, not null ones."""


@dataclass(frozen=True, slots=True)
class RangeRule:
    """`@range(property, minimum..maximum)`, inclusive; an open side is None."""

    property: str
    minimum: int | float | None
    maximum: int | float | None


@dataclass(frozen=True, slots=True)
class CheckRule:
    """`@check(property, "pattern")`: RE2 syntax, search semantics."""

    property: str
    pattern: str


@dataclass(frozen=True, slots=True)
class Cardinality:
    """`@card(minimum..maximum)`: outgoing edges of one type per source node."""

    minimum: int = 0
    maximum: int | None = None


@dataclass(frozen=True)
class _Entity:
    """What node types and edge types share."""

    name: str
    properties: tuple[Property, ...]
    """Sorted by name, which is the column order on disk."""
    unique: tuple[tuple[str, ...], ...] = ()
    indices: tuple[tuple[str, ...], ...] = ()
    annotations: tuple[Annotation, ...] = ()

    @cached_property
    def by_name(self) -> Mapping[str, Property]:
        return {prop.name: prop for prop in self.properties}

    def property(self, name: str) -> Property | None:
        return self.by_name.get(name)


@dataclass(frozen=True)
class NodeType(_Entity):
    implements: tuple[str, ...] = ()
    key: tuple[str, ...] | None = None
    """Members in byte order of their names; None for a type without a key."""
    ranges: tuple[RangeRule, ...] = ()
    checks: tuple[CheckRule, ...] = ()

    kind: EntityKind = field(default="node", init=False, repr=False)

    @property
    def table_key(self) -> TableKey:
        return TableKey("node", self.name)


@dataclass(frozen=True)
class EdgeType(_Entity):
    from_type: str = ""
    to_type: str = ""
    cardinality: Cardinality = Cardinality()

    kind: EntityKind = field(default="edge", init=False, repr=False)

    @property
    def table_key(self) -> TableKey:
        return TableKey("edge", self.name)


@dataclass(frozen=True)
class InterfaceType:
    name: str
    properties: tuple[Property, ...]


@dataclass(frozen=True)
class Catalog:
    """Every declared type. Node, edge and interface names live in separate namespaces."""

    nodes: tuple[NodeType, ...] = ()
    edges: tuple[EdgeType, ...] = ()
    interfaces: tuple[InterfaceType, ...] = ()

    @cached_property
    def node_types(self) -> Mapping[str, NodeType]:
        return {node.name: node for node in self.nodes}

    @cached_property
    def edge_types(self) -> Mapping[str, EdgeType]:
        return {edge.name: edge for edge in self.edges}

    @property
    def entities(self) -> tuple[NodeType | EdgeType, ...]:
        """Every type that has a table: the nodes, then the edges."""
        return (*self.nodes, *self.edges)

    @cached_property
    def _edges_folded(self) -> Mapping[str, EdgeType]:
        return {edge.name.lower(): edge for edge in self.edges}

    def node(self, name: str) -> NodeType | None:
        return self.node_types.get(name)

    def edge(self, name: str) -> EdgeType | None:
        """The edge type of exactly this name (as mutations need it)."""
        return self.edge_types.get(name)

    def edge_word(self, word: str) -> EdgeType | None:
        """The edge type that a traversal or a load record means: the exact name first, then without case."""
        return self.edge_types.get(word) or self._edges_folded.get(word.lower())

    def table(self, key: TableKey) -> NodeType | EdgeType | None:
        return self.node(key.type_name) if key.kind == "node" else self.edge(key.type_name)

    def edges_touching(self, node_name: str) -> tuple[EdgeType, ...]:
        """Every edge type that starts or ends at this node type."""
        return tuple(edge for edge in self.edges if node_name in (edge.from_type, edge.to_type))
