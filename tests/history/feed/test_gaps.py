"""History that was reclaimed: the feed says so at the commit that it cannot tell, and a baseline leads on."""

from __future__ import annotations

from pathlib import Path

import pytest

from history.feed.following import change, commits_of, fx, head, node, of_commit, poll, put, reclaim
from omnigraph.graph import Graph
from omnigraph.history import entity_at, find_commit
from omnigraph.history.feed import ChangeFeedGap, continuations, install_baseline
from omnigraph.model.errors import BadRequest, Gone, HistoricalVersionReclaimed, TypeNotFound


@pytest.fixture
def graph(tmp_path: Path) -> Graph:
    return fx(tmp_path / "g")


def gap(graph: Graph, **position: str | None) -> ChangeFeedGap:
    with pytest.raises(ChangeFeedGap, match="change feed gap at commit") as caught:
        poll(graph, **position)
    assert isinstance(caught.value, Gone)
    assert caught.value.code == "change_feed_gap"
    assert "omnigraph changes baseline" in (caught.value.hint or "")
    return caught.value


def test_tx_F13_a_reader_that_waited_too_long_is_told_where_the_gap_is(graph: Graph) -> None:
    cursor = poll(graph).cursor
    change(graph, 'update Person set { age: 31 } where name = "Alice"')
    first = head(graph)
    change(graph, 'update Person set { age: 32 } where name = "Alice"')
    reclaim(graph)
    for reader in (graph, Graph.open(graph.uri, read_only=True)):
        found = gap(reader, cursor=cursor)
        assert (found.first_unreadable_commit_id, found.cursor) == (first, cursor)
        assert found.details() == {"change_feed_gap": {"first_unreadable_commit_id": first, "cursor": cursor}}
    assert gap(graph, start=f"after:{first}").details() == {
        "change_feed_gap": {"first_unreadable_commit_id": head(graph)}
    }
    with pytest.raises(ChangeFeedGap) as caught:
        of_commit(graph, first)
    assert caught.value.cursor is None
    assert poll(graph).caught_up is True


def test_tx_F14_after_a_gap_a_baseline_has_the_head_and_exactly_the_next_commit_follows(
    graph: Graph, tmp_path: Path
) -> None:
    cursor = poll(graph).cursor
    change(graph, 'update Person set { age: 31 } where name = "Alice"')
    change(graph, 'update Person set { age: 32 } where name = "Alice"')
    reclaim(graph)
    gap(graph, cursor=cursor)
    installed = install_baseline(graph._storage, graph.schema.catalog, tmp_path / "snapshot.jsonl")
    assert installed.snapshot_commit_id == head(graph)
    assert (tmp_path / "snapshot.jsonl").read_bytes() == b"".join(graph.export())
    change(graph, 'update Person set { age: 33 } where name = "Alice"')
    page = poll(graph, cursor=installed.resume_cursor)
    assert commits_of(page) == [head(graph)]
    assert page.caught_up is True


def test_a_gap_behind_the_first_commit_ends_the_page_before_it(graph: Graph) -> None:
    """A table that did not move since is still told; the gap is told when it is the first commit of a poll."""
    cursor = poll(graph).cursor
    change(graph, 'insert Company { name: "Hooli" }')
    change(graph, 'update Person set { age: 31 } where name = "Alice"')
    first_lost = head(graph)
    change(graph, 'update Person set { age: 32 } where name = "Alice"')
    reclaim(graph, "Person")
    page = poll(graph, cursor=cursor)
    assert (len(page), page.caught_up) == (1, False)
    assert gap(graph, cursor=page.cursor).first_unreadable_commit_id == first_lost


def test_a_block_that_was_reclaimed_before_its_last_page_is_a_gap(graph: Graph) -> None:
    cursor = poll(graph).cursor
    put(graph, *(node("Company", name=name) for name in ("Umbrella", "Initech", "Hooli")))
    lost = head(graph)
    token = poll(graph, cursor=cursor, max_changes=1).next_page_token
    change(graph, 'insert Company { name: "Stark" }')
    reclaim(graph)
    continuations._kept.clear()  # the reader comes from another process
    assert gap(graph, page_token=token).first_unreadable_commit_id == lost


def test_upkeep_is_told_although_the_versions_before_it_are_gone(graph: Graph) -> None:
    for number in range(6):
        change(graph, f'insert Company {{ name: "C{number}" }}')
    cursor = poll(graph).cursor
    graph.optimize()
    reclaim(graph)
    page = poll(graph, cursor=cursor)
    assert page.caught_up is True
    assert {len(block.changes) for block in page} == {0}


# --- one entity at a commit -------------------------------------------------------------------------------


def test_an_entity_is_read_as_a_commit_showed_it(graph: Graph) -> None:
    before = find_commit(graph._storage, head(graph))
    change(graph, 'update Person set { age: 31 } where name = "Alice"')
    change(graph, 'delete Person where name = "Bob"')
    after = find_commit(graph._storage, head(graph))
    alice = [entity_at(graph._storage, "Person", "Alice", commit) for commit in (before, after)]
    assert [each and each.image.properties["age"] for each in alice] == [30, 31]
    assert alice[0] is not None
    assert alice[0].to_json() == {
        "graph_commit_id": before.commit_id,
        "kind": "node",
        "type_name": "Person",
        "id": "Alice",
        "properties": {"age": 30, "name": "Alice"},
    }
    bob = [entity_at(graph._storage, "node:Person", "Bob", commit) for commit in (before, after)]
    assert [each is not None for each in bob] == [True, False]
    [known] = [each for each in of_commit(graph, before.commit_id) if each.type_name == "Knows"][:1]
    edge = entity_at(graph._storage, "Knows", known.id, before)
    assert edge is not None
    assert edge.image == known.after


def test_tx_T05_an_entity_of_a_version_that_was_reclaimed_is_gone(graph: Graph) -> None:
    before = find_commit(graph._storage, head(graph))
    assert entity_at(graph._storage, "Person", "Alice", before) is not None
    change(graph, 'update Person set { age: 31 } where name = "Alice"')
    reclaim(graph)
    for reader in (graph, Graph.open(graph.uri, read_only=True)):
        with pytest.raises(HistoricalVersionReclaimed):
            entity_at(reader._storage, "Person", "Alice", before)


def test_a_type_that_a_commit_does_not_have_or_that_is_two_types_is_refused(graph: Graph, tmp_path: Path) -> None:
    commit = find_commit(graph._storage, head(graph))
    with pytest.raises(TypeNotFound, match="type 'Robot' not found"):
        entity_at(graph._storage, "Robot", "R2", commit)
    twin = Graph.init(str(tmp_path / "twin"), "node Knows { name: String @key }\nedge Knows: Knows -> Knows\n")
    first = find_commit(twin._storage, head(twin))
    with pytest.raises(BadRequest, match="'Knows' is a node type and an edge type"):
        entity_at(twin._storage, "Knows", "x", first)
    assert entity_at(twin._storage, "edge:Knows", "x", first) is None
