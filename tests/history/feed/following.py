"""What the tests of the feed share: the fixture FX of the specification, and short names for its calls."""

from __future__ import annotations

import datetime as dt
import json
from pathlib import Path
from typing import Any

import lance
import pyarrow as pa

from omnigraph.graph import Graph
from omnigraph.history import find_commit
from omnigraph.history.diff import ChangeFilter, EntityChange, change_filter
from omnigraph.history.feed import CommitChanges, FeedPage, PageLimits, changes, commit_changes
from omnigraph.storage import version_row
from omnigraph.storage.manifest import CommitIdentity, PublishPlan, TableVersion, head_of, publish
from omnigraph.storage.manifest.publishing import Change

SCHEMA = """
node Person { name: String @key  age: I32? }
node Company { name: String @key }
edge Knows: Person -> Person { since: Date? }
edge WorksAt: Person -> Company
"""
PEOPLE = {"Alice": 30, "Bob": 25, "Charlie": 35, "Diana": 28}
KNOWS = [("Alice", "Bob"), ("Alice", "Charlie"), ("Bob", "Diana")]


def node(kind: str, **data: Any) -> bytes:
    return json.dumps({"type": kind, "data": data}).encode()


def edge(kind: str, src: str, dst: str, **data: Any) -> bytes:
    return json.dumps({"edge": kind, "from": src, "to": dst, "data": data}).encode()


def fx(path: Path) -> Graph:
    graph = Graph.init(str(path), SCHEMA, durability="os")
    lines = [node("Person", name=name, age=age) for name, age in PEOPLE.items()]
    lines += [node("Company", name=name) for name in ("Acme", "Globex")]
    lines += [edge("Knows", *pair) for pair in KNOWS]
    lines += [edge("WorksAt", "Alice", "Acme"), edge("WorksAt", "Bob", "Globex")]
    graph.load(lines, mode="merge")
    return graph


def change(graph: Graph, statement: str, branch: str | None = None) -> None:
    graph.mutate(f"query change() {{ {statement} }}", branch=branch)


def put(graph: Graph, *lines: bytes, branch: str | None = None) -> None:
    graph.load(list(lines), mode="merge", branch=branch)


def head(graph: Graph, branch: str = "main") -> str:
    return graph.commits(branch)[0].commit_id


def only(**wanted: list[str]) -> ChangeFilter:
    return change_filter(**wanted)


def of_commit(
    graph: Graph,
    commit_id: str,
    wanted: ChangeFilter | None = None,
    page_token: str | None = None,
    **limits: int,
) -> CommitChanges:
    commit = find_commit(graph._storage, commit_id)
    return commit_changes(graph._storage, commit, wanted=wanted, page_token=page_token, limits=PageLimits(**limits))


def poll(
    graph: Graph,
    branch: str = "main",
    *,
    start: str | None = None,
    cursor: str | None = None,
    page_token: str | None = None,
    wanted: ChangeFilter | None = None,
    **limits: int,
) -> FeedPage:
    return changes(
        graph._storage,
        branch,
        start=start,
        cursor=cursor,
        page_token=page_token,
        wanted=wanted,
        limits=PageLimits(**limits),
    )


def cursor_of(page: FeedPage) -> str:
    assert page.cursor is not None
    return page.cursor


def brief(changes: Any) -> list[tuple[str, str, str]]:
    return [(each.op, each.type_name, each.id) for each in changes]


def commits_of(page: FeedPage) -> list[str]:
    return [block.cause.graph_commit_id for block in page]


def apply(state: dict[tuple[str, str], Any], each: EntityChange) -> None:
    """What a reader does with a change; fails on one that does not follow from what it knows."""
    key = (each.type_name, each.id)
    if each.before is None:
        assert key not in state
    else:
        assert state[key] == each.before.to_json()
    if each.after is None:
        del state[key]
    else:
        state[key] = each.after.to_json()


def entities(graph: Graph, branch: str = "main") -> dict[tuple[str, str], Any]:
    """The state of a branch in the shape that `apply` builds."""
    found = {}
    for line in map(json.loads, graph.export(branch=branch)):
        data = line["data"]
        image: dict[str, Any] = {"properties": {name: value for name, value in data.items() if name != "id"}}
        if "edge" in line:
            image["endpoints"] = {"from": line["from"], "to": line["to"]}
        found[line.get("type") or line["edge"], data["id"]] = image
    return found


def reclaim(graph: Graph, *types: str) -> None:
    """Removes the versions of the tables of main that are not the newest."""
    if not types:
        assert graph.cleanup(keep_versions=1, grace=0, confirm=True).versions > 0
        return
    for pin in graph.snapshot().tables:
        if types and pin.table_key.type_name not in types:
            continue
        lance.dataset(f"{graph.uri}/{pin.path}").cleanup_old_versions(
            older_than=dt.timedelta(0), delete_unverified=True
        )


def evolve(graph: Graph, *changes: Change) -> str:
    """One commit that publishes tables as they are, without the write path: what a schema change ends in."""
    storage = graph._storage
    loaded = storage.manifest.load("main")
    plan = PublishPlan(changes=changes, requirements=(head_of(loaded),), identity=CommitIdentity())
    return publish(storage.manifest, plan).commit.commit_id


def with_property(graph: Graph, type_name: str, name: str) -> TableVersion:
    """A version of a table that has one nullable property more."""
    pin = next(pin for pin in graph.snapshot().tables if pin.table_key.type_name == type_name)
    dataset = lance.dataset(f"{graph.uri}/{pin.path}")
    dataset.add_columns(pa.field(name, pa.string()))
    return version_row(graph._storage, str(pin.table_key), pin.location, None, dataset.version)
