"""What the merge tests share: the small graphs of the specification, and merges without a face around them."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

from omnigraph.graph import Graph
from omnigraph.merge import Merge, MergeConflicts, MergeOptions, MergeResult, merge
from omnigraph.write.recovery import list_sidecars

PEOPLE_SCHEMA = """
node Person { name: String @key  age: I32?  nick: String? }
edge Knows: Person -> Person { since: Date? }
"""
PEOPLE = {"Alice": 30, "Bob": 25, "Carol": 40, "Dan": 50}


def node(kind: str, **data: Any) -> bytes:
    return json.dumps({"type": kind, "data": data}).encode()


def edge(kind: str, src: str, dst: str, **data: Any) -> bytes:
    return json.dumps({"edge": kind, "from": src, "to": dst, "data": data}).encode()


def make(path: Path, schema: str = PEOPLE_SCHEMA, lines: list[bytes] | None = None) -> Graph:
    """A graph with these records: those of the fixture FT unless they are given."""
    graph = Graph.init(str(path), schema, durability="os")
    people = [node("Person", name=name, age=age, nick="") for name, age in PEOPLE.items()]
    records = [*people, edge("Knows", "Bob", "Carol")] if lines is None else lines
    if records:
        graph.load(records, mode="merge")
    return graph


def copy_of(template: Path, path: Path) -> Graph:
    """A graph without branches may be copied: only forks hold absolute paths."""
    shutil.copytree(template, path)
    return Graph.open(str(path), durability="os")


def change(graph: Graph, statement: str, branch: str | None = None) -> None:
    graph.mutate(f"query change() {{ {statement} }}", branch=branch)


def put(graph: Graph, branch: str, *lines: bytes) -> None:
    graph.load(list(lines), mode="merge", branch=branch)


def merged(
    graph: Graph, source: str, into: str = "main", *, dry_run: bool = False, message: str | None = None, **options: Any
) -> MergeResult:
    request = Merge(source=source, target=into, dry_run=dry_run, message=message, options=MergeOptions(**options))
    return merge(graph._storage, lambda: graph.schema, request)


def conflicts(error: MergeConflicts) -> list[tuple[str, str, str | None]]:
    return [(each.kind, each.type_name, each.entity_id) for each in error.conflicts]


def head(graph: Graph, branch: str = "main") -> str:
    return graph.commits(branch)[0].commit_id


def people(graph: Graph, branch: str = "main") -> dict[str, Any]:
    """Every Person of a branch with its age."""
    lines = (json.loads(line) for line in graph.export(branch=branch))
    return {line["data"]["id"]: line["data"]["age"] for line in lines if line.get("type") == "Person"}


def edges(graph: Graph, branch: str = "main", kind: str = "Knows") -> Counter[tuple[str, str]]:
    lines = (json.loads(line) for line in graph.export(branch=branch))
    return Counter((line["from"], line["to"]) for line in lines if line.get("edge") == kind)


def content(graph: Graph, branch: str = "main") -> list[str]:
    return sorted(line.decode() for line in graph.export(branch=branch))


def assert_clean(graph: Graph) -> None:
    assert graph.verify().findings == ()
    assert list_sidecars(graph._storage.objects) == []
