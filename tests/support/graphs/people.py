"""The fixture graphs of the transaction tables: FX, FU and FC, small enough to write out."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from omnigraph.graph import Graph

FX_SCHEMA = """
node Person { name: String @key  age: I32? }
node Company { name: String @key }
edge Knows: Person -> Person { since: Date? }
edge WorksAt: Person -> Company
"""
FX_PEOPLE = {"Alice": 30, "Bob": 25, "Charlie": 35, "Diana": 28}
FX_RECORDS: list[dict[str, Any]] = [
    *({"type": "Person", "data": {"name": name, "age": age}} for name, age in FX_PEOPLE.items()),
    *({"type": "Company", "data": {"name": name}} for name in ("Acme", "Globex")),
    *({"edge": "Knows", "from": a, "to": b} for a, b in (("Alice", "Bob"), ("Alice", "Charlie"), ("Bob", "Diana"))),
    *({"edge": "WorksAt", "from": a, "to": b} for a, b in (("Alice", "Acme"), ("Bob", "Globex"))),
]
FU_SCHEMA = "node User { handle: String @key  email: String? @unique }\n"
FC_SCHEMA = """
node Person { name: String @key  age: I32? }
node Company { name: String @key }
edge WorksAt: Person -> Company @card(0..1)
"""

INSERT_PERSON = "query add($n: String, $a: I32?) { insert Person { name: $n, age: $a } }"


def lines(*records: dict[str, Any]) -> list[bytes]:
    return [json.dumps(record).encode() + b"\n" for record in records]


def person(name: str, age: int | None = None) -> dict[str, Any]:
    return {"type": "Person", "data": {"name": name} if age is None else {"name": name, "age": age}}


def fx(path: Path | str, *, actor: str | None = None) -> Graph:
    """Four people, two companies, three acquaintances, two jobs; one load."""
    graph = Graph.init(str(path), FX_SCHEMA, durability="os", actor=actor)
    graph.load(lines(*FX_RECORDS), mode="append")
    return graph


def people(graph: Graph, branch: str | None = None) -> dict[str, int | None]:
    """Names and ages."""
    records = [json.loads(line) for line in graph.export(branch, types=["Person"])]
    return {record["data"]["name"]: record["data"]["age"] for record in records}


def edges(graph: Graph, name: str, branch: str | None = None) -> set[tuple[str, str]]:
    records = [json.loads(line) for line in graph.export(branch, types=[name])]
    return {(record["from"], record["to"]) for record in records}


def pins(graph: Graph, branch: str | None = None) -> dict[str, int]:
    return {pin.table_key.type_name: pin.version for pin in graph.snapshot(branch).tables}
