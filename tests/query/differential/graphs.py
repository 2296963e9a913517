"""Random graphs: a schema with every type of property, and records with nulls, parallel edges and loops."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from functools import cached_property
from random import Random
from typing import Any

from language.query.oracle import GraphData, graph_data
from omnigraph.language.schema import Catalog, compile_schema
from query.differential.values import ENUM, POOLS, stored

SCALARS = list(POOLS)
LISTS = ["[String]", "[I32]", "[I64]", "[F32]", "[F64]", "[Bool]", "[Date]", "[U64]", "[DateTime]"]
IDS = [*"abcdefgh", "A", "10", "9", "é"]
"""The same for every type, so that an engine that mixes up the ids of two types is caught."""


@dataclass(frozen=True)
class Entity:
    """A node or edge type: its name, its properties by name, and for an edge the types of its ends."""

    name: str
    properties: dict[str, str]
    required: frozenset[str] = frozenset()
    key: str | None = None
    ends: tuple[str, str] | None = None

    @property
    def word(self) -> str:
        """The edge type as a traversal writes it."""
        return self.name[0].lower() + self.name[1:]

    def declaration(self) -> str:
        lines = []
        for name, kind in self.properties.items():
            shown = f"enum({', '.join(ENUM)})" if kind == "Enum" else kind
            mark = " @key" if name == self.key else "" if name in self.required else "?"
            lines.append(f"    {name}: {shown}{mark}")
        head = f"node {self.name}" if self.ends is None else f"edge {self.name}: {self.ends[0]} -> {self.ends[1]}"
        return "\n".join([f"{head} {{", *lines, "}"]) if lines else head


@dataclass(frozen=True)
class RandomGraph:
    """A schema and the records of a graph, the same for the same seed."""

    seed: int
    nodes: tuple[Entity, ...]
    edges: tuple[Entity, ...]
    records: list[dict[str, Any]] = field(repr=False)

    @cached_property
    def schema(self) -> str:
        return "\n".join(entity.declaration() for entity in (*self.nodes, *self.edges)) + "\n"

    @cached_property
    def catalog(self) -> Catalog:
        return compile_schema(self.schema).catalog

    @cached_property
    def data(self) -> GraphData:
        return graph_data(self.records, self.catalog)

    def lines(self) -> list[bytes]:
        return [json.dumps(record, ensure_ascii=False).encode() + b"\n" for record in self.records]

    def values_of(self, type_name: str, name: str) -> list[Any]:
        """What a property holds, the elements of lists one by one."""
        found = []
        for record in self.records:
            value = record["data"].get(name)
            if type_name in (record.get("type"), record.get("edge")) and value is not None:
                found += value if isinstance(value, list) else [value]
        return found

    def entity(self, name: str) -> Entity:
        return next(entity for entity in (*self.nodes, *self.edges) if entity.name == name)


def random_graph(seed: int) -> RandomGraph:
    rng = Random(f"graph {seed}")
    nodes = tuple(_node_type(rng, name) for name in ["Alpha", "Beta", "Gamma"][: rng.choice([1, 2, 2, 3])])
    edges = tuple(
        _edge_type(rng, name, nodes) for name in ["Knows", "Likes", "WorksAt", "Owns"][: rng.choice([2, 3, 4])]
    )
    ids = {entity.name: rng.sample(_ids(entity), rng.choice([0, 2, 4, 5, 5, 6, 6, 7, 7, 8, 8])) for entity in nodes}
    records = [*_node_records(rng, nodes, ids), *_edge_records(rng, edges, ids)]
    return RandomGraph(seed, nodes, edges, records)


# --- schemas ----------------------------------------------------------------------------------------------


def _properties(rng: Random, count: int) -> dict[str, str]:
    kinds = [*rng.sample(SCALARS, min(count, len(SCALARS))), *rng.sample(LISTS, rng.choice([0, 1, 2]))]
    return {f"p{place}": kind for place, kind in enumerate(kinds)}


def _node_type(rng: Random, name: str) -> Entity:
    properties = _properties(rng, rng.choice([3, 5, 8, len(SCALARS)]))
    required = frozenset(p for p in properties if rng.random() < 0.15)
    if rng.random() < 0.2:
        properties["vec"] = "Vector(2)"
    key_kind = rng.choice(["String", "String", "I64", None])
    if key_kind is None:
        return Entity(name, properties, required)
    return Entity(name, {"key": key_kind, **properties}, required, key="key")


def _edge_type(rng: Random, name: str, nodes: tuple[Entity, ...]) -> Entity:
    source = rng.choice(nodes)
    target = source if rng.random() < 0.6 else rng.choice(nodes)
    properties = {} if rng.random() < 0.2 else _properties(rng, rng.choice([1, 2, 4]))
    return Entity(name, properties, ends=(source.name, target.name))


# --- records ----------------------------------------------------------------------------------------------


def random_values(rng: Random, entity: Entity) -> dict[str, Any]:
    """Values for the properties of an entity, its key left out."""
    values = {}
    for name, kind in entity.properties.items():
        if name != entity.key and (name in entity.required or rng.random() < 0.75):
            values[name] = stored(rng, kind)
    return values


def _ids(entity: Entity) -> list[Any]:
    if entity.key is not None and entity.properties[entity.key] == "I64":
        return [-5, 0, 7, 9, 10, 11, 100, 2**53 + 1]
    return IDS


def _node_records(rng: Random, nodes: tuple[Entity, ...], ids: dict[str, list[Any]]) -> list[dict[str, Any]]:
    return [
        {"type": entity.name, "data": {entity.key or "id": name, **random_values(rng, entity)}}
        for entity in nodes
        for name in ids[entity.name]
    ]


def _edge_records(rng: Random, edges: tuple[Entity, ...], ids: dict[str, list[Any]]) -> list[dict[str, Any]]:
    return [
        {"edge": edge.name, "from": source, "to": target, "data": {"id": f"{edge.name[0]}{number}", **values}}
        for edge in edges
        for number, (source, target, values) in enumerate(_edges_of(rng, edge, ids))
    ]


def _edges_of(rng: Random, edge: Entity, ids: dict[str, list[Any]]) -> list[tuple[str, str, dict[str, Any]]]:
    assert edge.ends is not None
    sources, targets = ([str(known) for known in ids[end]] for end in edge.ends)
    pairs: list[tuple[str, str]] = []
    for _ in range(rng.choice([0, 5, 8, 12, 15, 20, 24]) if sources and targets else 0):
        if pairs and rng.random() < 0.15:
            pairs.append(rng.choice(pairs))  # a parallel edge
        elif edge.ends[0] == edge.ends[1] and rng.random() < 0.1:
            loop = rng.choice(sources)
            pairs.append((loop, loop))
        else:
            pairs.append((rng.choice(sources), rng.choice(targets)))
    return [(source, target, random_values(rng, edge)) for source, target in pairs]
