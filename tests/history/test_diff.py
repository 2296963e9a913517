"""Diff between two snapshots: rows D01 to D06 of the specification, and that a diff says everything that differs."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from omnigraph.graph import Graph
from omnigraph.history import current_snapshot, find_commit, snapshot_at
from omnigraph.history.diff import Diff, change_filter, diff_snapshots
from omnigraph.model.errors import BadRequest
from omnigraph.storage.tables import row_changes, table

SCHEMA = """
node Person { name: String @key  age: I32?  nick: String?  tags: [String]?  face: Vector(3)?  photo: Blob? }
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


@pytest.fixture
def graph(tmp_path: Path) -> Graph:
    """The fixture FX of the specification."""
    graph = Graph.init(str(tmp_path / "g"), SCHEMA, durability="os")
    lines = [node("Person", name=name, age=age, nick="") for name, age in PEOPLE.items()]
    lines += [node("Company", name=name) for name in ("Acme", "Globex")]
    lines += [edge("Knows", *pair) for pair in KNOWS]
    lines += [edge("WorksAt", "Alice", "Acme"), edge("WorksAt", "Bob", "Globex")]
    graph.load(lines, mode="merge")
    return graph


def change(graph: Graph, statement: str, branch: str | None = None) -> None:
    graph.mutate(f"query change() {{ {statement} }}", branch=branch)


def head(graph: Graph, branch: str = "main") -> str:
    return graph.commits(branch)[0].commit_id


def diff(graph: Graph, before: str, after: str, **wanted: list[str]) -> Diff:
    storage = graph._storage
    snapshots = (snapshot_at(storage, find_commit(storage, commit)) for commit in (before, after))
    return diff_snapshots(storage, *snapshots, change_filter(**wanted))


def told(found: Diff) -> list[tuple[str, str, str]]:
    return [(each.op, each.type_name, each.id) for each in found]


def test_tx_D01_a_commit_does_not_differ_from_itself(graph: Graph) -> None:
    found = diff(graph, head(graph), head(graph))
    assert list(found) == []
    assert found.is_empty()
    assert found.stats.total == 0


def test_tx_D02_D05_inserts_updates_and_deletes_are_told_with_images_and_endpoints(graph: Graph) -> None:
    before = head(graph)
    change(graph, 'insert Person { name: "Eve", age: 22 }')
    change(graph, 'update Person set { age: 26 } where name = "Bob"')
    change(graph, 'delete Person where name = "Diana"')
    found = diff(graph, before, head(graph))
    changes = list(found)
    assert [(each.op, each.id) for each in changes[:3]] == [("update", "Bob"), ("delete", "Diana"), ("insert", "Eve")]
    updated, deleted, inserted, cascaded = changes
    assert updated.before is not None
    assert updated.after is not None
    assert (updated.before.properties["age"], updated.after.properties["age"]) == (25, 26)
    assert updated.changed_properties == ("age",)
    assert (inserted.before, deleted.after) == (None, None)
    assert (cascaded.kind, cascaded.op, cascaded.type_name) == ("edge", "delete", "Knows")
    assert cascaded.to_json()["before"] == {"properties": {"since": None}, "endpoints": {"from": "Bob", "to": "Diana"}}
    assert (found.stats.inserts, found.stats.updates, found.stats.deletes, len(found.stats.types)) == (1, 1, 2, 2)
    assert told(diff(graph, before, head(graph), ops=["delete"])) == told(found)[1:2] + told(found)[3:]  # D05
    assert told(diff(graph, before, head(graph), kinds=["edge"])) == told(found)[3:]
    assert told(diff(graph, before, head(graph), types=["Person"])) == told(found)[:3]
    assert told(diff(graph, before, head(graph), types=["Nobody"])) == []


def test_tx_D03_a_property_that_changed_on_a_branch_is_one_update(graph: Graph) -> None:
    graph.create_branch("feature")
    change(graph, 'update Person set { age: 31 } where name = "Alice"', "feature")
    assert told(diff(graph, head(graph), head(graph, "feature"))) == [("update", "Person", "Alice")]


def test_tx_D04_an_empty_text_and_null_are_different(graph: Graph) -> None:
    graph.create_branch("feature")
    change(graph, 'update Person set { nick: null } where name = "Alice"', "feature")
    [only] = diff(graph, head(graph), head(graph, "feature"))
    assert only.before is not None
    assert only.before.properties["nick"] == ""
    assert only.after is not None
    assert only.after.properties["nick"] is None


def test_tx_D06_a_compaction_is_no_difference_and_no_user_column_is_read_for_it(
    graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(8):
        change(graph, f'insert Person {{ name: "P{number}", age: {number} }}')
    before = head(graph)
    graph.optimize()
    assert head(graph) != before
    change(graph, 'update Person set { age: 99 } where name = "P3"')
    read: list[int] = []
    real = row_changes.read_candidates
    monkeypatch.setattr(
        "omnigraph.history.diff.side.read_candidates",
        lambda table, rows, columns, **options: read.append(len(rows)) or real(table, rows, columns, **options),
    )
    assert told(diff(graph, before, head(graph))) == [("update", "Person", "P3")]
    assert sum(read) == 2, "the row before and the row after"


def test_a_compaction_of_a_branch_is_no_difference_to_where_it_was_cut(graph: Graph) -> None:
    before = head(graph)
    graph.create_branch("feature")
    for number in range(8):
        change(graph, f'insert Person {{ name: "P{number}" }}', "feature")
    Graph.open(graph.uri, branch="feature", durability="os").optimize()
    found = diff(graph, before, head(graph, "feature"))
    assert found.stats.inserts == found.stats.total == 8


def test_vectors_lists_and_blobs_are_compared_by_value(graph: Graph) -> None:
    full = {"name": "Zoe", "tags": ["a", "b"], "face": [1, 2, 3], "photo": "base64:aGVsbG8="}
    graph.load([node("Person", **full)], mode="merge")
    before = head(graph)
    graph.load([node("Person", **full)], mode="merge")
    assert told(diff(graph, before, head(graph))) == [], "the same values, written again"
    for name, value in (
        ("tags", ["a"]),
        ("tags", []),
        ("face", [1, 2, 4]),
        ("photo", "base64:aGVsbG8h"),
        ("photo", None),
    ):
        graph.load([node("Person", **full | {name: value})], mode="merge")
        [only] = diff(graph, before, head(graph))
        assert only.changed_properties == (name,)
        assert only.after is not None
        assert only.after.properties[name] == value


def test_a_diff_is_an_arrow_table_per_type(graph: Graph) -> None:
    before = head(graph)
    change(graph, 'update Person set { age: 26 } where name = "Bob"')
    change(graph, 'delete Person where name = "Diana"')
    tables = diff(graph, before, head(graph)).to_arrow()
    assert sorted(tables) == ["edge:Knows", "node:Person"]
    people = tables["node:Person"]
    assert people.column_names == ["change", "id", "before", "after"]
    assert people.schema.field("before").type.field("age").type == pa.int32()
    [bob, diana] = people.to_pylist()
    assert (bob["change"], bob["before"]["age"], bob["after"]["age"]) == ("update", 25, 26)
    assert (diana["change"], diana["before"]["age"], diana["after"]) == ("delete", 28, None)
    assert tables["edge:Knows"]["before"][0].as_py()["dst"] == "Diana"


def test_a_diff_as_json_has_the_change_object_and_stats(graph: Graph) -> None:
    before = head(graph)
    change(graph, 'update Person set { age: 26 } where name = "Bob"')
    document = diff(graph, before, head(graph)).to_json()
    assert sorted(document) == ["changes", "from", "stats", "to"]
    [only] = document["changes"]
    assert list(only) == ["kind", "type", "id", "op", "before", "after"]
    assert sorted(only["type"]) == ["id", "name"]
    assert list(only["before"]) == ["properties"]
    assert document["stats"]["types_affected"] == 1
    assert json.loads(json.dumps(document)) == document


def test_a_kind_or_an_operation_that_does_not_exist_is_refused(graph: Graph) -> None:
    with pytest.raises(BadRequest, match="unknown operation 'drop'"):
        change_filter(ops=["drop"])
    with pytest.raises(BadRequest, match="unknown kind 'vertex'"):
        change_filter(kinds=["vertex"])


def test_only_fragments_that_differ_are_read(graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    graph.load([node("Person", name=f"N{number:05}", age=number) for number in range(20_000)], mode="merge")
    before = head(graph)
    change(graph, 'update Person set { age: 1 } where name = "N00007"')
    taken: list[int] = []
    real = table.Table.take
    monkeypatch.setattr(
        table.Table, "take", lambda self, ids, cols=None: taken.append(len(ids)) or real(self, ids, cols)
    )
    assert diff(graph, before, head(graph)).stats.updates == 1
    assert sum(taken) <= 4, "the old row and the new row, once more to compare what is costly to read"


# --- everything that differs, and nothing else ------------------------------------------------------------

names = st.sampled_from([f"n{number}" for number in range(12)])
ages = st.one_of(st.none(), st.integers(0, 3))
steps = st.lists(st.tuples(st.sampled_from(["put", "put", "delete", "optimize"]), names, ages), max_size=14)


def entities(graph: Graph, branch: str) -> dict[str, Any]:
    lines = (json.loads(line) for line in graph.export(branch=branch))
    return {line["data"]["id"]: line for line in lines}


@settings(max_examples=12)
@given(before=steps, after=steps, on_main=steps)
def test_a_diff_applied_to_one_side_gives_the_other(
    tmp_path_factory: pytest.TempPathFactory, before: Any, after: Any, on_main: Any
) -> None:
    graph = Graph.init(str(tmp_path_factory.mktemp("diff") / "g"), SCHEMA, durability="os")
    perform(graph, "main", before)
    graph.create_branch("feature")
    perform(graph, "feature", after)
    perform(graph, "main", on_main)
    storage = graph._storage
    for one, other in (("main", "feature"), ("feature", "main")):
        found = diff_snapshots(storage, current_snapshot(storage, one), current_snapshot(storage, other))
        state = entities(graph, one)
        for each in found:
            if each.after is None:
                del state[each.id]
            else:
                assert (each.id in state) == (each.op == "update")
                state[each.id] = {"type": each.type_name, "data": {"id": each.id, **each.after.properties}}
        assert state == entities(graph, other)
        assert found.stats.total == len(list(found))


def perform(graph: Graph, branch: str, todo: Any) -> None:
    runs: dict[str, Callable[[str, Any], object]] = {
        "put": lambda name, age: graph.load([node("Person", name=name, age=age)], mode="merge", branch=branch),
        "delete": lambda name, age: change(graph, f'delete Person where name = "{name}"', branch),
        "optimize": lambda name, age: Graph.open(graph.uri, branch=branch, durability="os").optimize(),
    }
    for what, name, age in todo:
        runs[what](name, age)
