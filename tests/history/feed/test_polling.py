"""The feed of a branch: rows F08 to F12, F16 and B22 of the specification, and every way to name a wrong position."""

from __future__ import annotations

import base64
import hashlib
import json
from pathlib import Path

import pytest

from history.feed.following import (
    apply,
    brief,
    change,
    commits_of,
    cursor_of,
    entities,
    evolve,
    fx,
    head,
    node,
    only,
    poll,
    put,
    with_property,
)
from omnigraph.graph import Graph
from omnigraph.history.feed import ChangeCursorRejected, ChangeSchemaBoundary, PageLimits, changes_in_whole_blocks
from omnigraph.merge import Merge, merge
from omnigraph.model.errors import BadRequest, BranchNotFound
from omnigraph.storage.failpoints import InjectedFault, Point, armed


@pytest.fixture
def graph(tmp_path: Path) -> Graph:
    return fx(tmp_path / "g")


def test_tx_F08_a_reader_that_starts_now_gets_the_commits_that_follow_oldest_first(graph: Graph) -> None:
    begun = poll(graph)
    assert begun.to_json() == {"blocks": [], "cursor": begun.cursor, "caught_up": True}
    change(graph, 'insert Person { name: "Eve" }')
    first = head(graph)
    change(graph, 'insert Person { name: "Frank" }')
    page = poll(graph, cursor=begun.cursor)
    assert commits_of(page) == [first, head(graph)]
    assert [brief(block.changes) for block in page] == [[("insert", "Person", "Eve")], [("insert", "Person", "Frank")]]
    assert page.caught_up is True
    again = poll(graph, cursor=page.cursor)
    assert (again.blocks, again.caught_up, again.cursor) == ((), True, page.cursor)


def test_tx_F09_from_the_beginning_a_branch_tells_what_it_inherited_with_its_original_cause(graph: Graph) -> None:
    graph.create_branch("feature")
    change(graph, 'insert Person { name: "Eve" }', "feature")
    change(graph, 'insert Person { name: "Nobody" }')
    page = poll(graph, "feature", start="beginning")
    assert [block.cause.authored_branch for block in page] == ["main", "feature"]
    state: dict[tuple[str, str], object] = {}
    for block in page:
        for each in block.changes:
            apply(state, each)
    assert state == entities(graph, "feature")


def test_tx_F10_a_commit_that_lands_between_two_pages_comes_with_the_next_cursor(graph: Graph) -> None:
    begun = poll(graph)
    put(graph, *(node("Company", name=name) for name in ("Umbrella", "Initech", "Hooli")))
    first = poll(graph, cursor=begun.cursor, max_changes=2)
    change(graph, 'insert Person { name: "Late" }')
    second = poll(graph, page_token=first.next_page_token, max_changes=2)
    assert [brief(block.changes) for block in second] == [[("insert", "Company", "Umbrella")]]
    assert second.caught_up is True, "up to the head that the poll began with"
    assert brief(poll(graph, cursor=second.cursor).blocks[0].changes) == [("insert", "Person", "Late")]


def test_tx_F11_a_page_that_ends_inside_a_block_has_a_page_token_and_no_cursor(graph: Graph) -> None:
    begun = poll(graph)
    change(graph, 'insert Person { name: "Eve" }')
    put(graph, *(node("Company", name=name) for name in ("Umbrella", "Initech", "Hooli")))
    page = poll(graph, cursor=begun.cursor, max_changes=2)
    assert [len(block.changes) for block in page] == [1, 1]
    assert sorted(page.to_json()) == ["blocks", "next_page_token"]
    rest = poll(graph, page_token=page.next_page_token, max_changes=2)
    assert [len(block.changes) for block in rest] == [2]
    assert rest.blocks[0].cause == page.blocks[1].cause
    assert sorted(rest.to_json()) == ["blocks", "caught_up", "cursor"]


def test_tx_F12_a_merge_is_one_block_that_tells_what_it_brought_to_its_first_parent(graph: Graph) -> None:
    graph.create_branch("feature")
    change(graph, 'insert Person { name: "Eve" }', "feature")
    brought = head(graph, "feature")
    change(graph, 'insert Person { name: "Frank" }')
    begun = poll(graph)
    merge(graph._storage, lambda: graph.schema, Merge(source="feature", target="main"))
    [block] = poll(graph, cursor=begun.cursor)
    assert brief(block.changes) == [("insert", "Person", "Eve")]
    assert block.cause.merged_parent_commit_id == brought
    assert block.cause.to_json()["merged_parent_commit_id"] == brought


def test_commits_that_change_no_entity_are_empty_blocks_that_advance_the_cursor(graph: Graph) -> None:
    begun = poll(graph)
    for number in range(6):
        change(graph, f'insert Company {{ name: "C{number}" }}')
    graph.ensure_indices()
    graph.optimize()
    put(graph, node("Person", name="Alice", age=30))
    page = poll(graph, cursor=begun.cursor)
    assert [len(block.changes) for block in page][:6] == [1] * 6
    assert {len(block.changes) for block in page.blocks[6:]} == {0}
    assert commits_of(page)[-1] == head(graph)
    assert page.caught_up is True


def test_a_write_that_was_taken_back_is_an_empty_block_and_one_that_was_finished_is_told(graph: Graph) -> None:
    begun = poll(graph)
    with armed(Point.MUTATION_TABLE_COMMITTED, "raise", visit=1), pytest.raises(InjectedFault):
        put(graph, node("Person", name="Gone"), node("Company", name="Gone"))
    graph = Graph.open(graph.uri, durability="os")
    change(graph, 'insert Person { name: "Eve" }')
    page = poll(graph, cursor=begun.cursor)
    assert [each for block in page for each in brief(block.changes)] == [("insert", "Person", "Eve")]
    assert page.caught_up is True


def test_a_manifest_that_was_compacted_between_commits_tells_the_same(
    graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("omnigraph.storage.manifest.store.COMPACT_ABOVE_FRAGMENTS", 3)
    for number in range(12):
        change(graph, f'update Person set {{ age: {number} }} where name = "Alice"')
    state: dict[tuple[str, str], object] = {}
    told = [each for block in poll(graph, start="beginning") for each in block.changes]
    for each in told:
        apply(state, each)
    assert len(told) == 11 + 12
    assert state == entities(graph)


def test_a_poll_goes_through_at_most_so_many_commits(graph: Graph) -> None:
    begun = poll(graph)
    for number in range(5):
        change(graph, f'insert Company {{ name: "C{number}" }}')
    sizes, page = [], poll(graph, cursor=begun.cursor, max_commits=2)
    sizes.append((len(page), page.caught_up))
    while not page.caught_up:
        page = poll(graph, cursor=page.cursor, max_commits=2)
        sizes.append((len(page), page.caught_up))
    assert sizes == [(2, False), (2, False), (1, True)]


def test_a_page_that_is_full_at_the_end_of_a_block_ends_there(graph: Graph) -> None:
    begun = poll(graph)
    change(graph, 'insert Company { name: "A" }')
    change(graph, 'insert Company { name: "B" }')
    page = poll(graph, cursor=begun.cursor, max_changes=1)
    assert (len(page), page.caught_up, page.next_page_token) == (1, False, None)
    assert brief(poll(graph, cursor=page.cursor, max_changes=1).blocks[0].changes) == [("insert", "Company", "B")]


def test_a_large_change_does_not_share_its_page_with_earlier_blocks(graph: Graph) -> None:
    begun = poll(graph)
    change(graph, 'insert Company { name: "A" }')
    put(graph, node("Company", name="B" * 3000))
    page = poll(graph, cursor=begun.cursor, max_bytes=1000)
    assert (len(page), page.caught_up) == (1, False)
    page = poll(graph, cursor=page.cursor, max_bytes=1000)
    assert [len(block.changes) for block in page] == [1]
    assert page.caught_up is True


def test_a_commit_after_which_to_start_is_left_out(graph: Graph) -> None:
    after = head(graph)
    change(graph, 'insert Person { name: "Eve" }')
    assert commits_of(poll(graph, start=f"after:{after}")) == [head(graph)]
    assert poll(graph, start=f"after:{head(graph)}").blocks == ()


def test_the_pages_of_a_poll_stitched_together_are_whole_blocks(graph: Graph) -> None:
    change(graph, 'insert Person { name: "Eve" }')
    whole = poll(graph, start="beginning")
    for size in (1, 2, 4):
        limits = PageLimits(max_changes=size)
        page = changes_in_whole_blocks(graph._storage, start="beginning", limits=limits)
        while not page.caught_up:
            more = changes_in_whole_blocks(graph._storage, cursor=page.cursor, limits=limits)
            page = type(page)((*page.blocks, *more.blocks), None, more.cursor, more.caught_up)
        assert page == whole


def test_a_schema_change_ends_a_page_before_it_and_is_told_by_the_next_poll(graph: Graph) -> None:
    begun = poll(graph)
    change(graph, 'insert Person { name: "Eve" }')
    boundary = evolve(graph, with_property(graph, "Company", "city"))
    page = poll(graph, cursor=begun.cursor)
    assert (len(page), page.caught_up) == (1, False)
    for _ in range(2):
        with pytest.raises(ChangeSchemaBoundary, match=boundary):
            poll(graph, cursor=page.cursor)
    assert poll(graph, start=f"after:{boundary}").caught_up is True


# --- wrong positions --------------------------------------------------------------------------------------


def refusal(graph: Graph, branch: str = "main", **position: object) -> str:
    with pytest.raises(ChangeCursorRejected) as caught:
        poll(graph, branch, **position)  # type: ignore[arg-type]
    assert caught.value.code == "change_cursor_rejected"
    assert caught.value.hint
    sentence = caught.value.sentence()
    assert sentence.startswith("change cursor rejected: ")
    return sentence


def test_tx_F16_a_page_token_is_no_cursor_and_a_cursor_is_no_page_token(graph: Graph) -> None:
    token = poll(graph, start="beginning", max_changes=2).next_page_token
    assert "expected a token of kind 'feed-cursor', got 'feed-page'" in refusal(graph, cursor=token)
    assert "expected a token of kind 'feed-page', got 'feed-cursor'" in refusal(graph, page_token=poll(graph).cursor)


def test_tx_B22_the_cursor_of_a_branch_that_was_deleted_and_created_again_is_refused(graph: Graph) -> None:
    feature = graph.create_branch("feature")
    change(feature, 'insert Person { name: "Eve" }')
    cursor = poll(graph, "feature").cursor
    graph.delete_branch("feature")
    with pytest.raises(BranchNotFound, match="branch 'feature' not found"):
        poll(graph, "feature", cursor=cursor)
    graph.create_branch("feature")
    assert "deleted and created again" in refusal(graph, "feature", cursor=cursor)


def test_a_cursor_of_another_graph_or_branch_or_filter_is_refused(graph: Graph, tmp_path: Path) -> None:
    other = fx(tmp_path / "other")
    graph.create_branch("feature")
    cursor = cursor_of(poll(graph))
    assert "it is of another graph" in refusal(other, cursor=cursor)
    assert "it is of another branch" in refusal(graph, "feature", cursor=cursor)
    assert "it was made with another filter" in refusal(graph, cursor=cursor, wanted=only(types=["Person"]))
    narrow = poll(graph, wanted=only(types=["Person", "Knows"])).cursor
    assert poll(graph, cursor=narrow, wanted=only(types=["Knows", "Person", "Knows"])).caught_up is True


def sealed(members: object) -> str:
    data = json.dumps(members).encode()
    return base64.urlsafe_b64encode(data + hashlib.sha256(data).digest()).decode().rstrip("=")


def opened(token: str) -> dict[str, object]:
    data = base64.urlsafe_b64decode(token + "=" * (-len(token) % 4))
    members: dict[str, object] = json.loads(data[:-32])
    return members


def test_a_cursor_has_the_members_of_the_specification(graph: Graph) -> None:
    cursor = opened(cursor_of(poll(graph)))
    genesis = graph.commits()[-1].commit_id
    assert list(cursor) == [
        "version",
        "kind",
        "graph_identity",
        "filter_digest",
        "genesis_commit_id",
        "purpose",
        "branch",
        "branch_witness",
        "after_commit_id",
    ]
    assert cursor["genesis_commit_id"] == genesis
    assert cursor["graph_identity"] == hashlib.sha256(genesis.encode()).hexdigest()
    assert (cursor["version"], cursor["kind"], cursor["purpose"]) == (1, "feed-cursor", "changes/forward")
    assert cursor["after_commit_id"] == head(graph)
    everything = b'{"kinds":null,"ops":null,"types":null,"v":1}'
    assert cursor["filter_digest"] == hashlib.sha256(everything).hexdigest()
    page = opened(str(poll(graph, start="beginning", max_changes=2).next_page_token))
    assert list(page)[8:] == [
        "after_commit_id",
        "cut_commit_id",
        "current_commit_id",
        "type_id",
        "position",
        "operation_rank",
        "change_index",
    ]
    assert (page["operation_rank"], page["change_index"]) == (0, 1)


def test_damaged_and_forged_cursors_are_refused(graph: Graph) -> None:
    cursor = cursor_of(poll(graph))
    flipped = cursor[:20] + ("A" if cursor[20] != "A" else "B") + cursor[21:]
    assert "checksum" in refusal(graph, cursor=flipped)
    assert "checksum" in refusal(graph, cursor=cursor[:-4])
    for text in ("", "nonsense", "ü" * 8, "a" * 5000, cursor + "=", cursor + "\n", sealed([1]), sealed("x")):
        refusal(graph, cursor=text)
    members = opened(cursor)
    assert "version 2, expected 1" in refusal(graph, cursor=sealed(members | {"version": 2}))
    assert "is not among the first parents of branch 'main'" in refusal(
        graph, cursor=sealed(members | {"after_commit_id": "01M7GMPQ2A6WD6AYAY9FRNW82F"})
    )
    refusal(graph, cursor=sealed(members | {"after_commit_id": 7}))
    token = opened(str(poll(graph, start="beginning", max_changes=2).next_page_token))
    for wrong in (
        {"position": {"mode": "exact", "id": "nobody"}},
        {"position": {"mode": "digest", "prefix": "", "sha256": "00"}},
        {"position": {"mode": "digest"}},
        {"position": {"mode": []}},
        {"position": "Alice"},
        {"type_id": "another"},
        {"type_id": None},
        {"change_index": True},
        {"cut_commit_id": "nothing"},
        {"current_commit_id": token["after_commit_id"]},
    ):
        refusal(graph, page_token=sealed(token | wrong))


def test_a_start_that_is_none_is_refused(graph: Graph) -> None:
    for start in ("later", "after:", "after", "", "now "):
        with pytest.raises(BadRequest, match="unknown start"):
            poll(graph, start=start)
    assert "commit 'nope' is not among" in refusal(graph, start="after:nope")
    with pytest.raises(BadRequest, match="pass one of start, cursor and page_token"):
        poll(graph, start="now", cursor=poll(graph).cursor)


def test_a_commit_of_another_branch_is_no_place_to_start(graph: Graph) -> None:
    graph.create_branch("feature")
    change(graph, 'insert Person { name: "Eve" }', "feature")
    assert "is not among the first parents of branch 'main'" in refusal(graph, start=f"after:{head(graph, 'feature')}")
