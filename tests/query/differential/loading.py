"""Random graphs as real ones, with a past: rows added after an index was built, and entities that are gone again."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random
from typing import Any

from omnigraph.graph import Graph
from query.differential.graphs import Entity, RandomGraph, random_values


def load(graph: RandomGraph, uri: Path) -> Graph:
    """The graph. Odd seeds come in two loads with an index build between them, every third has deleted entities."""
    made = Graph.init(str(uri), graph.schema, durability="os")
    early, late = halves(graph.records) if graph.seed % 2 else (graph.records, [])
    add(made, early)
    if graph.seed % 2:
        made.ensure_indices()
    add(made, late)
    if graph.seed % 3 == 0:
        for entity in graph.nodes:
            come_and_go(made, graph, entity)
    return made


def add(graph: Graph, records: list[dict[str, Any]]) -> None:
    if records:
        graph.load([json.dumps(record, ensure_ascii=False).encode() + b"\n" for record in records], mode="append")


def halves(records: list[dict[str, Any]]) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Two loads: every second node, with the edges between these; then the others."""
    nodes = [record for record in records if "type" in record]
    first = nodes[::2]
    known = {(record["type"], _id(record)) for record in first}
    ids = {name for _, name in known} - {_id(record) for record in nodes if (record["type"], _id(record)) not in known}
    early = [*first, *(record for record in records if "edge" in record and {record["from"], record["to"]} <= ids)]
    return early, [record for record in records if record not in early]


def _id(record: dict[str, Any]) -> str:
    return str(record["data"].get("key", record["data"].get("id")))


def come_and_go(made: Graph, graph: RandomGraph, entity: Entity) -> None:
    """A node with edges to itself, added and deleted again; only a key can say which one to delete."""
    if entity.key is None:
        return
    key: str | int = "zzz" if entity.properties[entity.key] == "String" else -999
    loops = [edge for edge in graph.edges if edge.ends == (entity.name, entity.name)]
    values = random_values(Random(graph.seed), entity)
    add(
        made,
        [
            {"type": entity.name, "data": {entity.key: key, **values}},
            *({"edge": edge.name, "from": str(key), "to": str(key), "data": {}} for edge in loops),
        ],
    )
    made.mutate(f"query gone() {{ delete {entity.name} where {entity.key} = {json.dumps(key)} }}")
