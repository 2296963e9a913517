"""A reader that stops, restarts and crashes anywhere sees every change once, in order, and ends at the head."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from history.feed.following import SCHEMA, apply, change, edge, entities, node, poll, put
from omnigraph.graph import Graph
from omnigraph.history import find_commit
from omnigraph.history.feed import FeedPage, commit_change_stream
from omnigraph.merge import Merge, MergeConflicts, merge
from omnigraph.model.errors import OmniGraphError
from omnigraph.storage.failpoints import InjectedFault, Point, armed

CRASHES = [
    Point.MUTATION_ARMED,
    Point.MUTATION_TABLE_COMMITTED,
    Point.MUTATION_BEFORE_PUBLISH,
    Point.PUBLISH_AFTER,
    Point.SIDECAR_DELETE,
]


@dataclass
class Reader:
    """Keeps the state and the position together, as a reader would in one transaction of its own database."""

    state: dict[tuple[str, str], Any] = field(default_factory=dict)
    log: list[tuple[str, str, str, str]] = field(default_factory=list)
    position: dict[str, str] = field(default_factory=lambda: {"start": "beginning"})
    caught_up: bool = False

    def received(self, page: FeedPage) -> Reader:
        """The reader that has taken in a page; this one has not yet, and is what a crash goes back to."""
        after = replace(self, state=dict(self.state), log=list(self.log))
        for block in page:
            for each in block.changes:
                apply(after.state, each)
                after.log.append((block.cause.graph_commit_id, each.op, each.type_name, each.id))
        if page.next_page_token is not None:
            after.position, after.caught_up = {"page_token": page.next_page_token}, False
        else:
            after.position, after.caught_up = {"cursor": page.cursor or ""}, bool(page.caught_up)
        return after


def truth(graph: Graph, branch: str) -> list[tuple[str, str, str, str]]:
    """Every change of every first parent, each commit asked for by itself."""
    commits = {each.commit_id: each for each in graph.commits(branch)}
    chain, commit = [], graph.commits(branch)[0]
    while commit.parent_id is not None:
        chain.append(commit)
        commit = commits[commit.parent_id]
    told = []
    for each in reversed(chain):
        stream = commit_change_stream(graph._storage, find_commit(graph._storage, each.commit_id))
        told += [(each.commit_id, one.op, one.type_name, one.id) for one in stream.changes]
    return told


def write(graph: Graph, what: str, chance: random.Random) -> None:
    branch = chance.choice(["main", "main", "draft"])
    names = [f"n{number}" for number in range(8)]
    if what == "put":
        chosen = chance.sample(names, chance.randint(1, 5))
        lines = [node("Person", name=name, age=chance.randint(0, 3)) for name in chosen]
        lines += [edge("Knows", src, dst) for src, dst in pairwise(chosen)]
        put(graph, *lines, branch=branch)
    elif what == "delete":
        change(graph, f'delete Person where name = "{chance.choice(names)}"', branch)
    elif what == "optimize":
        graph.optimize(branch)
    elif what == "merge":
        source, target = chance.sample(["main", "draft"], 2)
        with suppress(MergeConflicts):
            merge(graph._storage, lambda: graph.schema, Merge(source=source, target=target))
    elif what == "crash":
        with armed(chance.choice(CRASHES), "raise"), suppress(InjectedFault, OmniGraphError):
            put(graph, node("Person", name=chance.choice(names), age=9), node("Company", name="C"), branch=branch)


def read(graph: Graph, branch: str, reader: Reader, chance: random.Random) -> Reader:
    limits = {"max_changes": chance.choice([1, 2, 3, 7, 1000]), "max_commits": chance.choice([1, 2, 128])}
    limits |= {"max_bytes": chance.choice([1, 300, 4_000_000])}
    after = reader.received(poll(graph, branch, **reader.position, **limits))  # type: ignore[arg-type]
    return reader if chance.random() < 0.3 else after  # it crashed before it could keep what it received


steps = st.lists(
    st.sampled_from(["put", "put", "delete", "merge", "optimize", "crash", "read", "read", "restart"]), max_size=16
)


@settings(max_examples=12)
@given(todo=steps, seed=st.integers(0, 2**16))
def test_a_reader_sees_every_change_exactly_once_in_order_and_ends_with_the_state_of_the_head(
    tmp_path_factory: pytest.TempPathFactory, todo: list[str], seed: int
) -> None:
    chance = random.Random(seed)
    graph = Graph.init(str(tmp_path_factory.mktemp("feed") / "g"), SCHEMA, durability="os")
    put(graph, node("Person", name="n0"), node("Person", name="n1"), edge("Knows", "n0", "n1"))
    graph.create_branch("draft")
    readers = {"main": Reader(), "draft": Reader()}
    for what in todo:
        if what == "read":
            branch = chance.choice(["main", "draft"])
            readers[branch] = read(graph, branch, readers[branch], chance)
        elif what == "restart":
            graph = Graph.open(graph.uri, durability="os")
        else:
            write(graph, what, chance)
    graph = Graph.open(graph.uri, durability="os")
    for branch, reader in readers.items():
        for _ in range(1000):
            reader = read(graph, branch, reader, chance)
            if reader.caught_up:
                break
        reader = reader.received(poll(graph, branch, **reader.position))  # what came after the last cut
        assert reader.caught_up
        assert reader.state == entities(graph, branch)
        assert reader.log == truth(graph, branch)


FOLLOW = """
import sys
sys.path.insert(0, sys.argv[2])
from history.feed.following import poll
from omnigraph.graph import Graph
graph = Graph.open(sys.argv[1], read_only=True)
begun = {"cursor": sys.argv[3]} if len(sys.argv) > 3 else {"start": "beginning"}
page = poll(graph, max_changes=2, **begun)
while page.next_page_token is not None:
    page = poll(graph, page_token=page.next_page_token, max_changes=2)
print(page.cursor)
"""


def test_a_cursor_is_all_that_another_process_needs_to_continue(tmp_path: Path) -> None:
    graph = Graph.init(str(tmp_path / "g"), SCHEMA, durability="os")
    put(graph, *(node("Person", name=f"n{number}") for number in range(5)))
    tests = str(Path(__file__).parents[2])
    command = [sys.executable, "-c", FOLLOW, graph.uri, tests]
    found = subprocess.run(command, env=dict(os.environ), timeout=60, check=True, capture_output=True, text=True)
    assert found.stdout.strip() == poll(graph).cursor
    change(graph, 'insert Person { name: "Eve" }')
    [block] = poll(graph, cursor=found.stdout.strip())
    assert [each.id for each in block.changes] == ["Eve"]
