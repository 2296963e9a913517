"""A merge that dies half-way: it happened whole or not at all, whoever comes next."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from merge.merging import assert_clean, change, content, edges, head, make, merged, people
from omnigraph.graph import Graph
from omnigraph.storage import open_storage
from omnigraph.storage.failpoints import InjectedFault, Point, armed
from omnigraph.write.recovery import list_sidecars

DYING_MERGE = """
import sys
from omnigraph.graph import Graph
from omnigraph.merge import Merge, merge
graph = Graph.open(sys.argv[1], durability="os")
merge(graph._storage, lambda: graph.schema, Merge(source=sys.argv[2], target=sys.argv[3]))
"""


@pytest.fixture
def graph(tmp_path: Path) -> Graph:
    """Two types move, and both sides have moved."""
    graph = make(tmp_path / "g")
    graph.create_branch("feature")
    change(graph, 'insert Person { name: "Eve" }', "feature")
    change(graph, 'update Person set { age: 1 } where name = "Alice"', "feature")
    change(graph, 'delete Person where name = "Carol"', "feature")
    change(graph, 'insert Knows { from: "Eve", to: "Bob" }', "feature")
    change(graph, 'insert Person { name: "Frank" }')
    return graph


def die(graph: Graph, where: str, source: str = "feature", target: str = "main") -> None:
    environment = {**os.environ, "OMNIGRAPH_FAILPOINTS": where}
    command = [sys.executable, "-c", DYING_MERGE, graph.uri, source, target]
    assert subprocess.run(command, env=environment, timeout=60, check=False).returncode == -9


def assert_not_merged(graph: Graph) -> None:
    assert people(graph) == {"Alice": 30, "Bob": 25, "Carol": 40, "Dan": 50, "Frank": None}
    assert edges(graph) == {("Bob", "Carol"): 1}


def assert_merged(graph: Graph, branch: str = "main") -> None:
    assert people(graph, branch) == {"Alice": 1, "Bob": 25, "Dan": 50, "Eve": None, "Frank": None}
    assert edges(graph, branch) == {("Eve", "Bob"): 1}


@pytest.mark.parametrize(
    "where",
    [
        pytest.param(Point.MUTATION_ARMED, id="the sidecar is there, no table moved"),
        pytest.param(Point.MUTATION_TABLE_COMMITTED, id="tx-C21 C22 one of two tables moved"),
        pytest.param(Point.MERGE_BEFORE_CONFIRM, id="tx-C23 both tables moved, not confirmed"),
        pytest.param(Point.SIDECAR_CONFIRM, id="both tables moved, about to be confirmed"),
    ],
)
def test_a_merge_that_died_before_it_was_confirmed_did_not_happen(graph: Graph, where: Point) -> None:
    die(graph, f"{where.value}=kill")
    reopened = Graph.open(graph.uri, durability="os")
    assert_not_merged(reopened)
    assert_clean(reopened)
    assert merged(reopened, "feature").outcome == "merged"
    assert_merged(reopened)
    assert_clean(reopened)


@pytest.mark.parametrize(
    "where", [Point.MERGE_CONFIRMED, Point.PUBLISH_BEFORE, Point.PUBLISH_AFTER, Point.SIDECAR_DELETE]
)
def test_tx_C24_a_merge_that_died_after_it_was_confirmed_happened(graph: Graph, where: Point) -> None:
    before = head(graph)
    die(graph, f"{where.value}=kill")
    reopened = Graph.open(graph.uri, durability="os")
    assert_merged(reopened)
    merge_commits = [commit for commit in reopened.commits() if commit.merged_parent_id is not None]
    [commit] = merge_commits
    assert (commit.parent_id, commit.merged_parent_id) == (before, head(reopened, "feature"))
    assert merged(reopened, "feature").outcome == "already_up_to_date"
    assert_clean(reopened)


def test_tx_C25_a_type_whose_edits_cancel_is_not_touched_by_a_merge_that_dies(tmp_path: Path) -> None:
    graph = make(tmp_path / "g")
    graph.create_branch("feature")
    change(graph, 'insert Knows { from: "Dan", to: "Bob" }', "feature")
    change(graph, 'delete Knows where from = "Dan"', "feature")
    change(graph, 'insert Person { name: "Eve" }', "feature")
    versions = {pin.table_key: pin.version for pin in graph.snapshot().tables}
    die(graph, f"{Point.MERGE_BEFORE_CONFIRM.value}=kill")
    [sidecar] = list_sidecars(open_storage(graph.uri, durability="os").objects)
    assert [pin.table_key for pin in sidecar.tables] == ["node:Person"]
    assert sidecar.merge_source_commit_id == head(graph, "feature")
    reopened = Graph.open(graph.uri, durability="os")
    after = {pin.table_key: pin.version for pin in reopened.snapshot().tables}
    assert [str(key) for key in after if after[key] != versions[key]] == ["node:Person"]
    assert "Eve" not in people(reopened)
    count = len(reopened.commits())
    merged(reopened, "feature")
    assert len(reopened.commits()) == count + 1
    assert "Eve" in people(reopened)


def test_tx_C27_a_merge_into_a_branch_that_inherits_the_table_dies_on_its_own_fork(graph: Graph) -> None:
    graph.create_branch("release")
    before = content(graph, "release")
    die(graph, f"{Point.MUTATION_TABLE_COMMITTED.value}=kill", target="release")
    [sidecar] = list_sidecars(open_storage(graph.uri, durability="os").objects)
    assert {pin.table_branch for pin in sidecar.tables} == {"release"}
    reopened = Graph.open(graph.uri, durability="os")
    assert content(reopened, "release") == before
    merged(reopened, "feature", "release")
    assert_merged(reopened, "release")
    assert_not_merged(reopened)
    assert_clean(reopened)


@pytest.mark.parametrize("where", [Point.SIDECAR_CONFIRM, Point.MERGE_BEFORE_CONFIRM, Point.MUTATION_TABLE_COMMITTED])
def test_a_failure_before_the_confirmation_is_taken_back_at_once(graph: Graph, where: Point) -> None:
    with armed(where), pytest.raises(InjectedFault):
        merged(graph, "feature")
    assert_not_merged(graph)
    assert_clean(graph)
    merged(graph, "feature")
    assert_merged(graph)


def test_a_failure_after_the_confirmation_is_finished_at_once(graph: Graph) -> None:
    with armed(Point.MERGE_CONFIRMED):
        result = merged(graph, "feature")
    assert result.commit == graph.commits()[0]
    assert_merged(graph)
    assert_clean(graph)


def test_an_interrupted_write_of_the_source_is_resolved_before_it_is_merged(graph: Graph) -> None:
    text = 'query q() { insert Person { name: "Late" } }'
    code = "import sys; from omnigraph.graph import Graph; graph = Graph.open(sys.argv[1], durability='os'); "
    code += "graph.mutate(sys.argv[2], branch='feature')"
    environment = {**os.environ, "OMNIGRAPH_FAILPOINTS": f"{Point.MUTATION_BEFORE_PUBLISH.value}=kill"}
    died = subprocess.run([sys.executable, "-c", code, graph.uri, text], env=environment, timeout=60, check=False)
    assert died.returncode == -9
    merged(graph, "feature")
    assert "Late" in people(graph)
    assert_clean(graph)
