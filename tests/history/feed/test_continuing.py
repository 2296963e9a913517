"""Continuing a block: at the cost of what is left of it, from any process, and beside writers."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from history.feed.following import SCHEMA, apply, brief, change, entities, fx, head, node, of_commit, poll, put
from omnigraph.graph import Graph
from omnigraph.history import entity_at, find_commit
from omnigraph.history.diff import snapshot_diff
from omnigraph.history.feed import baseline_lines, continuations


def count_comparisons(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    compared: list[object] = []
    real = snapshot_diff.table_changes
    monkeypatch.setattr(snapshot_diff, "table_changes", lambda *sides: compared.append(sides) or real(*sides))
    return compared


def test_the_pages_of_a_block_are_read_in_one_go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    graph = fx(tmp_path / "g")
    cursor = poll(graph).cursor
    put(graph, *(node("Company", name=f"C{number:03}") for number in range(100)))
    compared = count_comparisons(monkeypatch)
    page, seen = poll(graph, cursor=cursor, max_changes=7), list[str]()
    while page.next_page_token is not None:
        seen += [each.id for block in page for each in block.changes]
        page = poll(graph, page_token=page.next_page_token, max_changes=7)
    seen += [each.id for block in page for each in block.changes]
    assert seen == [f"C{number:03}" for number in range(100)]
    assert len(compared) == 1


def test_a_token_that_is_used_again_gives_the_same_page(tmp_path: Path) -> None:
    graph = fx(tmp_path / "g")
    token = of_commit(graph, head(graph), max_changes=4).next_page_token
    first = of_commit(graph, head(graph), page_token=token, max_changes=4)
    assert of_commit(graph, head(graph), page_token=token, max_changes=4) == first
    fresh = Graph.open(graph.uri, read_only=True)
    assert of_commit(fresh, head(graph), page_token=token, max_changes=4) == first
    feed = poll(graph, start="beginning", max_changes=4).next_page_token
    again = poll(graph, page_token=feed, max_changes=4)
    assert poll(graph, page_token=feed, max_changes=4) == again


def test_only_the_last_few_blocks_are_kept_in_parts(tmp_path: Path) -> None:
    graph = fx(tmp_path / "g")
    tokens = [of_commit(graph, head(graph), max_changes=size).next_page_token for size in range(1, 10)]
    assert len(continuations._kept) <= continuations.KEPT_MAX
    whole = brief(of_commit(graph, head(graph)))
    for size, token in enumerate(tokens, start=1):
        assert brief(of_commit(graph, head(graph), page_token=token)) == whole[size:]


def test_a_reader_beside_writers_misses_nothing(tmp_path: Path) -> None:
    graph = Graph.init(str(tmp_path / "g"), SCHEMA, durability="os")

    def write(letter: str) -> None:
        for number in range(8):
            put(graph, node("Person", name=f"{letter}{number}"), node("Person", name="shared", age=number))

    writers = [threading.Thread(target=write, args=(letter,)) for letter in "ab"]
    for writer in writers:
        writer.start()
    state: dict[tuple[str, str], object] = {}
    position, is_last = {"start": "beginning"}, False
    while not is_last:
        is_last = not any(writer.is_alive() for writer in writers)
        caught_up = False
        while not caught_up:
            page = poll(graph, **position, max_changes=3)  # type: ignore[arg-type]
            for block in page:
                for each in block.changes:
                    apply(state, each)
            token = page.next_page_token
            position = {"page_token": token} if token is not None else {"cursor": page.cursor or ""}
            caught_up = bool(page.caught_up)
    assert state == entities(graph)
    assert len(state) == 17


def test_every_part_of_the_feed_works_on_every_kind_of_store(new_root: Callable[[str], str]) -> None:
    graph = Graph.init(new_root("g"), SCHEMA)
    put(graph, node("Person", name="Alice", age=30), node("Person", name="Bob"), node("Company", name="Acme"))
    before = find_commit(graph._storage, head(graph))
    graph.create_branch("feature")
    change(graph, 'update Person set { age: 31 } where name = "Alice"', "feature")
    page = poll(graph, "feature", start="beginning", max_changes=2)
    rest = poll(graph, "feature", page_token=page.next_page_token)
    assert [len(block.changes) for block in (*page, *rest)] == [2, 1, 1]
    assert rest.caught_up is True
    alice = entity_at(graph._storage, "Person", "Alice", before)
    assert alice is not None
    assert alice.image.properties["age"] == 30
    lines = list(baseline_lines(graph._storage, graph.schema.catalog, "feature"))
    assert lines[:-1] == list(graph.export("feature"))
