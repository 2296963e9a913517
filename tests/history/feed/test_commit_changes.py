"""What one commit changed: rows F01 to F07, F17 and F18 of the specification, and the order of changes."""

from __future__ import annotations

import base64
import hashlib
import json
from pathlib import Path

import lance
import pytest

from history.feed.following import brief, change, evolve, fx, head, node, of_commit, only, put, with_property
from omnigraph.graph import Graph
from omnigraph.history import find_commit
from omnigraph.history.feed import (
    ChangeCursorRejected,
    ChangeSchemaBoundary,
    CommitHasNoParent,
    commit_change_stream,
)
from omnigraph.model.errors import BadRequest, ResourceLimitExceeded
from omnigraph.storage import version_row
from omnigraph.storage.manifest import TableRegistration, TableTombstone
from support.graphs.rust_graphs import rust_graph


@pytest.fixture
def graph(tmp_path: Path) -> Graph:
    return fx(tmp_path / "g")


def test_tx_F01_a_load_is_told_as_inserts_nodes_before_edges_by_type_id_and_id(graph: Graph) -> None:
    page = of_commit(graph, head(graph))
    assert {(each.op, each.before) for each in page} == {("insert", None)}
    places = [(each.kind == "edge", each.type_id, each.id.encode()) for each in page]
    assert len(places) == 11
    assert places == sorted(places)
    assert page.next_page_token is None
    genesis = graph.commits()[-1].commit_id
    digest = hashlib.sha256(f"{genesis}\x1fnode:Person".encode()).digest()
    opaque = base64.urlsafe_b64encode(digest).decode().rstrip("=")
    assert {each.type_id for each in page if each.type_name == "Person"} == {opaque}


def test_tx_F02_an_update_has_both_images_and_the_id_beside_them(graph: Graph) -> None:
    change(graph, 'update Person set { age: 31 } where name = "Alice"')
    document = of_commit(graph, head(graph)).to_json()
    [commit, parent] = graph.commits(limit=2)
    [only_change] = document["changes"]
    assert document == {
        "cause": {
            "graph_commit_id": commit.commit_id,
            "parent_commit_id": parent.commit_id,
            "authored_branch": "main",
            "authored_at": commit.created_at,
        },
        "changes": [
            {
                "kind": "node",
                "type": {"id": only_change["type"]["id"], "name": "Person"},
                "id": "Alice",
                "op": "update",
                "before": {"properties": {"age": 30, "name": "Alice"}},
                "after": {"properties": {"age": 31, "name": "Alice"}},
            }
        ],
    }
    assert list(document["changes"][0]) == ["kind", "type", "id", "op", "before", "after"]


def test_a_deleted_edge_has_its_endpoints_and_an_actor_is_named(graph: Graph) -> None:
    other = Graph.open(graph.uri, actor="ann", durability="os")
    change(other, 'delete Person where name = "Diana"')
    page = of_commit(graph, head(graph))
    assert page.cause.actor_id == "ann"
    assert [(each.op, each.type_name) for each in page] == [("delete", "Person"), ("delete", "Knows")]
    assert page.changes[1].to_json()["before"] == {
        "properties": {"since": None},
        "endpoints": {"from": "Bob", "to": "Diana"},
    }


def test_tx_F03_the_first_commit_of_a_graph_has_nothing_to_be_compared_with(graph: Graph) -> None:
    genesis = graph.commits()[-1].commit_id
    with pytest.raises(CommitHasNoParent, match="has no first parent") as caught:
        of_commit(graph, genesis)
    assert caught.value.code == "commit_has_no_parent"
    with pytest.raises(CommitHasNoParent):
        commit_change_stream(graph._storage, find_commit(graph._storage, genesis))
    assert caught.value.details() == {
        "change_diff_refusal": {"reason": "parentless_commit", "graph_commit_id": genesis}
    }


def test_tx_F04_upkeep_and_equal_values_written_again_change_nothing(graph: Graph) -> None:
    for number in range(6):
        change(graph, f'insert Company {{ name: "C{number}" }}')
    assert graph.optimize().commit is not None
    assert of_commit(graph, head(graph)).changes == ()
    put(graph, node("Person", name="Alice", age=30))
    assert of_commit(graph, head(graph)).to_json()["changes"] == []


def test_tx_F05_a_commit_that_added_a_property_is_refused_whatever_the_filter(graph: Graph) -> None:
    commit = evolve(graph, with_property(graph, "Company", "city"))
    for wanted in (None, only(types=["Person"])):
        with pytest.raises(
            ChangeSchemaBoundary, match=f"commit '{commit}' changed the schema of type 'Company'"
        ) as caught:
            of_commit(graph, commit, wanted)
        assert caught.value.code == "change_schema_boundary"
        assert caught.value.details() == {
            "change_diff_refusal": {"reason": "schema_boundary", "graph_commit_id": commit, "type_name": "Company"}
        }


def test_a_type_that_came_or_went_with_rows_is_a_schema_change_and_one_without_rows_is_none(graph: Graph) -> None:
    company = next(pin for pin in graph.snapshot().tables if pin.table_key.type_name == "Company")
    schema = lance.dataset(f"{graph.uri}/{company.path}").schema
    lance.write_dataset(schema.empty_table(), f"{graph.uri}/nodes/club", enable_stable_row_ids=True)
    club = TableRegistration(table_key="node:Club", location="nodes/club")
    added = evolve(graph, club, version_row(graph._storage, "node:Club", "nodes/club", None, 1))
    assert of_commit(graph, added).changes == ()
    gone = evolve(graph, TableTombstone(table_key="node:Club", table_version=1))
    assert of_commit(graph, gone).changes == ()
    assert of_commit(graph, evolve(graph)).changes == (), "no table moved: only metadata was changed"
    dropped = evolve(graph, TableTombstone(table_key="node:Company", table_version=company.version))
    with pytest.raises(ChangeSchemaBoundary, match="of type 'Company'"):
        of_commit(graph, dropped)


def test_changes_of_a_graph_that_the_rust_binary_wrote_are_told_from_its_first_commit_on() -> None:
    with rust_graph("evolved") as found:
        graph = Graph.open(found.uri, read_only=True)
        [last, evolution, first, _] = graph.commits()
        assert len(of_commit(graph, first.commit_id)) == 4
        with pytest.raises(ChangeSchemaBoundary):
            of_commit(graph, evolution.commit_id)
        assert len(of_commit(graph, last.commit_id)) == 2


def test_tx_F06_a_block_larger_than_a_page_continues_from_its_token(graph: Graph) -> None:
    put(graph, *(node("Company", name=name) for name in ("Umbrella", "Initech", "Hooli")))
    first = of_commit(graph, head(graph), max_changes=2)
    assert brief(first) == [("insert", "Company", "Hooli"), ("insert", "Company", "Initech")]
    second = of_commit(graph, head(graph), page_token=first.next_page_token, max_changes=2)
    assert brief(second) == [("insert", "Company", "Umbrella")]
    assert second.next_page_token is None
    assert second.cause == first.cause
    assert of_commit(graph, head(graph), max_changes=3).next_page_token is None


def test_tx_F07_a_page_token_is_refused_with_another_filter_or_commit(graph: Graph) -> None:
    put(graph, *(node("Company", name=name) for name in ("Umbrella", "Initech", "Hooli")))
    commit = head(graph)
    token = of_commit(graph, commit, max_changes=2).next_page_token
    change(graph, 'insert Company { name: "Stark" }')
    with pytest.raises(ChangeCursorRejected, match="change cursor rejected: it was made with another filter"):
        of_commit(graph, commit, only(kinds=["node"]), token)
    with pytest.raises(ChangeCursorRejected, match="change cursor rejected: it is of another commit"):
        of_commit(graph, head(graph), page_token=token)
    everything = only(kinds=["edge", "node"], ops=["delete", "update", "insert"])
    assert brief(of_commit(graph, commit, everything, token)) == [("insert", "Company", "Umbrella")]


def test_pages_of_any_size_give_the_same_changes_in_the_same_order(graph: Graph) -> None:
    whole = brief(of_commit(graph, head(graph)))
    for size in (1, 2, 3, 5, 10, 11):
        pages, token = [], None
        while True:
            page = of_commit(graph, head(graph), page_token=token, max_changes=size)
            pages.append(page)
            token = page.next_page_token
            if token is None:
                break
        assert [each for page in pages for each in brief(page)] == whole
        assert [len(page) for page in pages[:-1]] == [size] * (len(pages) - 1)
    assert brief(commit_change_stream(graph._storage, find_commit(graph._storage, head(graph))).changes) == whole


def test_a_filter_picks_kinds_types_and_operations_and_an_unknown_type_nothing(graph: Graph) -> None:
    commit = head(graph)
    assert {each.kind for each in of_commit(graph, commit, only(kinds=["edge"]))} == {"edge"}
    assert {each.type_name for each in of_commit(graph, commit, only(types=["Company"]))} == {"Company"}
    assert of_commit(graph, commit, only(ops=["delete"])).changes == ()
    assert of_commit(graph, commit, only(types=["Nobody"])).changes == ()


def test_tx_F17_long_ids_at_the_edge_of_a_page_are_resumed_exactly_with_a_short_token(graph: Graph) -> None:
    stem = "ü" * 2000
    names = sorted([stem + tail for tail in ("a", "b" * 1000, "c")] + ["\x01" * 250, "z" * 5000], key=str.encode)
    put(graph, *(node("Company", name=name) for name in names))
    seen, token = [], None
    while True:
        page = of_commit(graph, head(graph), page_token=token, max_changes=1)
        seen += [each.id for each in page]
        token = page.next_page_token
        if token is None:
            break
        assert len(token) <= 4096
    assert seen == names


def test_tx_F18_a_change_larger_than_a_page_is_delivered_alone(graph: Graph) -> None:
    names = ["a", "b" * 3000, "c", "d"]
    put(graph, *(node("Company", name=name) for name in names))
    sizes, token = [], None
    while True:
        page = of_commit(graph, head(graph), page_token=token, max_bytes=1000)
        sizes.append([len(each.id) for each in page])
        token = page.next_page_token
        if token is None:
            break
    assert sizes == [[1], [3000], [1, 1]]


def test_limits_outside_of_their_range_are_refused(graph: Graph) -> None:
    with pytest.raises(BadRequest, match="max_changes must be at least 1, not 0"):
        of_commit(graph, head(graph), max_changes=0)
    with pytest.raises(ResourceLimitExceeded, match="commit_changes_page_changes limit is 8192, actual 8193"):
        of_commit(graph, head(graph), max_changes=8193)
    with pytest.raises(ResourceLimitExceeded, match="change_feed_commits_per_poll"):
        of_commit(graph, head(graph), max_commits=513)


def test_changes_are_an_arrow_table_and_a_table_of_a_notebook(graph: Graph) -> None:
    change(graph, 'insert Person { name: "<Eve>", age: 22 }')
    page = of_commit(graph, head(graph))
    [row] = page.to_arrow().to_pylist()
    assert (row["graph_commit_id"], row["op"], row["id"], row["before"]) == (head(graph), "insert", "<Eve>", None)
    assert json.loads(row["after"]) == {"properties": {"age": 22, "name": "<Eve>"}}
    assert "&lt;Eve&gt;" in page._repr_html_()
    assert of_commit(graph, head(graph), only(ops=["delete"])).to_arrow().num_rows == 0
