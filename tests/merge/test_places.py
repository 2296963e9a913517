"""Merges on other ground: graphs of the Rust release, an object store, and many processes at once."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from merge.merging import PEOPLE_SCHEMA, assert_clean, change, content, edges, make, merged, node, people, put
from omnigraph.graph import Graph
from support.graphs.rust_graphs import rust_graph

BRANCH_WRITE_MERGE = """
import sys
from omnigraph.graph import Graph
from omnigraph.merge import Merge, merge
from omnigraph.model.errors import ReadSetChanged
uri, worker, rounds = sys.argv[1], sys.argv[2], int(sys.argv[3])
graph = Graph.open(uri, durability="os")
for number in range(rounds):
    branch = f"w{worker}-{number}"
    graph.create_branch(branch)
    insert = "query q($n: String) { insert Person { name: $n }  insert Knows { from: $n, to: 'Alice' } }"
    graph.mutate(insert.replace("'", chr(34)), n=branch, branch=branch)
    while True:
        try:
            merge(graph._storage, lambda: graph.schema, Merge(source=branch))
        except ReadSetChanged:
            continue
        break
    graph.delete_branch(branch)
"""


def entities(graph: Graph, branch: str) -> dict[tuple[str, str], object]:
    lines = [json.loads(line) for line in graph.export(branch=branch)]
    return {(line.get("type") or line["edge"], line["data"]["id"]): line for line in lines}


@pytest.mark.parametrize("name", ["branches", "fork-of-fork"])
def test_every_branch_of_a_graph_that_the_rust_release_wrote_merges_into_main(name: str) -> None:
    with rust_graph(name) as found:
        graph = Graph.open(found.uri, durability="os")
        for branch in [each for each in graph.branches() if each != "main"]:
            before, theirs = entities(graph, "main"), entities(graph, branch)
            merged(graph, branch, on_conflict="theirs")
            after = entities(graph, "main")
            assert set(after) <= set(before) | set(theirs)
            assert {key for key in before if key in theirs} <= set(after), "what both have is not lost"
            assert merged(graph, branch).outcome == "already_up_to_date"
        assert [found for found in graph.verify().findings if found.severity == "error"] == []


def test_a_merge_works_the_same_on_an_object_store(new_root: Callable[[str], str]) -> None:
    graph = Graph.init(new_root("g"), PEOPLE_SCHEMA, durability="os")
    put(graph, "main", *(node("Person", name=name, age=0) for name in ("Alice", "Bob", "Carol")))
    change(graph, 'delete Person where name = "Carol"')
    graph.create_branch("feature")
    change(graph, 'update Person set { age: 1 } where name = "Alice"', "feature")
    change(graph, 'delete Person where name = "Bob"', "feature")
    change(graph, 'insert Person { name: "Eve", age: 5 }')
    assert merged(graph, "feature").outcome == "merged"
    assert people(graph) == {"Alice": 1, "Eve": 5}
    assert merged(graph, "main", "feature").outcome == "fast_forward"
    assert content(graph) == content(graph, "feature")
    assert_clean(graph)


def test_processes_that_branch_write_and_merge_at_the_same_time_lose_nothing(tmp_path: Path) -> None:
    graph = make(tmp_path / "g")
    workers, rounds = 4, 3
    command = [sys.executable, "-c", BRANCH_WRITE_MERGE, graph.uri]
    running = [subprocess.Popen([*command, str(worker), str(rounds)]) for worker in range(workers)]
    assert [process.wait(timeout=120) for process in running] == [0] * workers
    names = {f"w{worker}-{number}" for worker in range(workers) for number in range(rounds)}
    assert set(people(graph)) == {"Alice", "Bob", "Carol", "Dan"} | names
    assert {src for src, dst in edges(graph) if dst == "Alice"} == names
    merges = [commit for commit in graph.commits() if commit.merged_parent_id is not None]
    assert len(merges) == len(names)
    assert graph.branches() == ["main"]
    assert_clean(graph)
