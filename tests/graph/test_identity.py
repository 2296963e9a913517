"""What a handle remembers is of this graph and this branch, and of no namesake that came after."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Literal

import pytest

from omnigraph.graph import Graph
from omnigraph.model.errors import BranchReplaced, GraphReplaced, ReadSetChanged
from omnigraph.storage.failpoints import Point, armed
from omnigraph.write.commit.branch_queue import _pass_on, _queue_of

SCHEMA = """
node Person { name: String @key  age: I32? }
edge Knows: Person -> Person
"""
ADD = "query add($n: String, $a: I32?) { insert Person { name: $n, age: $a } }"
AGE = "query age($n: String, $a: I32) { update Person set { age: $a } where name = $n }"
LINK = "query link($a: String, $b: String) { insert Knows { from: $a, to: $b } }"
ALL = "query all() { match { $p: Person } return { $p.name as name, $p.age as age } order { name asc } }"
FRIENDS = "query friends() { match { $p: Person $p knows $f } return { $p.name as a, $f.name as b } order { a asc } }"
Mode = Literal["auto", "csr", "indexed"]
MODES: tuple[Mode, ...] = ("auto", "csr", "indexed")


@pytest.fixture
def root(tmp_path: Path) -> str:
    graph = Graph.init(str(tmp_path / "g.omni"), SCHEMA)
    graph.mutate(ADD, n="root", a=0)
    return str(tmp_path / "g.omni")


def names(graph: Graph, branch: str, mode: Mode) -> list[str]:
    return [row["name"] for row in graph.query(ALL, branch=branch, mode=mode)]


def friends(graph: Graph, branch: str, mode: Mode) -> list[tuple[str, str]]:
    return [(row["a"], row["b"]) for row in graph.query(FRIENDS, branch=branch, mode=mode)]


def fill(graph: Graph, branch: str, tag: str) -> None:
    """The same shape each time: the tables come to the same version numbers with other rows."""
    graph.create_branch(branch)
    for each in ("1", "2"):
        graph.mutate(ADD, n=f"{tag}{each}", a=1, branch=branch)
    graph.mutate(LINK, a=f"{tag}1", b=f"{tag}2", branch=branch)


def elsewhere(code: str, *arguments: str) -> str:
    """Runs code in another process that has `Graph`, `fill` and the texts above."""
    here = "import sys; sys.path[:0] = json.loads(sys.argv[1]); from graph.test_identity import *"
    paths = json.dumps([str(Path(__file__).parents[1]), *sys.path])
    done = subprocess.run(
        [sys.executable, "-c", f"import json\n{here}\n{code}", paths, *arguments],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


REMAKE = "g = Graph.open(sys.argv[2]); g.delete_branch('b'); fill(g, 'b', 'new')"


@pytest.mark.parametrize("mode", MODES)
def test_a_branch_that_is_made_again_is_read_as_the_new_one(root: str, mode: Mode) -> None:
    graph = Graph.open(root)
    fill(graph, "b", "old")
    assert names(graph, "b", mode) == ["old1", "old2", "root"]
    assert friends(graph, "b", mode) == [("old1", "old2")]
    graph.delete_branch("b")
    fill(graph, "b", "new")
    assert names(graph, "b", mode) == ["new1", "new2", "root"]
    assert friends(graph, "b", mode) == [("new1", "new2")]


@pytest.mark.parametrize("mode", MODES)
def test_a_branch_that_another_process_made_again_is_read_as_the_new_one(root: str, mode: Mode) -> None:
    graph = Graph.open(root)
    fill(graph, "b", "old")
    assert names(graph, "b", mode) == ["old1", "old2", "root"]
    assert friends(graph, "b", mode) == [("old1", "old2")]
    elsewhere(REMAKE, root)
    assert names(graph, "b", mode) == ["new1", "new2", "root"]
    assert friends(graph, "b", mode) == [("new1", "new2")]


def test_a_write_of_an_old_key_changes_nothing_of_a_branch_that_was_made_again(root: str) -> None:
    graph = Graph.open(root)
    fill(graph, "b", "old")
    names(graph, "b", "auto")
    elsewhere(REMAKE, root)
    assert graph.mutate(AGE, n="old1", a=99, branch="b").affected_nodes == 0
    assert graph.mutate(AGE, n="new1", a=7, branch="b").affected_nodes == 1
    fresh = Graph.open(root)
    assert [(row["name"], row["age"]) for row in fresh.query(ALL, branch="b")] == [
        ("new1", 7),
        ("new2", 1),
        ("root", 0),
    ]
    assert graph.verify().ok


def test_a_snapshot_of_a_branch_that_was_made_again_is_refused_and_not_mixed(root: str) -> None:
    graph = Graph.open(root)
    fill(graph, "b", "old")
    old = {str(pin.table_key): pin for pin in graph.snapshot("b").tables}
    elsewhere(REMAKE, root)
    with pytest.raises(BranchReplaced, match="deleted and created again"):
        Graph.open(root)._storage.tables.open(old["node:Person"])


def test_files_staged_ahead_for_a_branch_that_was_made_again_are_not_committed(root: str) -> None:
    graph = Graph.open(root)
    fill(graph, "b", "old")
    queue = _queue_of(graph._storage, "b")
    staged = threading.Event()
    with ThreadPoolExecutor(1) as pool:
        queue.lock.acquire()  # some writer of this process is before it
        queue.is_held = True
        with armed(Point.TABLE_STAGED, staged.set):
            queued = pool.submit(graph.mutate, ADD, {"n": "queued", "a": 3}, branch="b")
            assert staged.wait(60)
            elsewhere(REMAKE, root)
        _pass_on(queue)
        queued.result(60)
    fresh = Graph.open(root)
    assert names(fresh, "b", "auto") == ["new1", "new2", "queued", "root"]
    assert fresh.verify().ok
    fresh.mutate(ADD, n="after", a=4, branch="b")


def remade(root: str) -> None:
    Path(root).rename(f"{root}.gone")
    graph = Graph.init(root, SCHEMA)
    graph.mutate(ADD, n="other", a=5)


@pytest.mark.parametrize("mode", MODES)
def test_a_graph_made_in_the_place_of_another_shows_its_own_rows(root: str, mode: Mode) -> None:
    old = Graph.open(root)
    assert names(old, "main", mode) == ["root"]
    remade(root)
    assert names(Graph.open(root), "main", mode) == ["other"]


def test_a_handle_of_a_graph_that_was_replaced_says_so_and_writes_nothing(root: str) -> None:
    old = Graph.open(root)
    names(old, "main", "auto")
    elsewhere("remade(sys.argv[2])", root)
    with pytest.raises(GraphReplaced, match="was replaced"):
        old.mutate(ADD, n="lost", a=1)
    with pytest.raises(GraphReplaced):
        old.query(ALL)
    fresh = Graph.open(root)
    assert names(fresh, "main", "auto") == ["other"]
    assert fresh.verify().ok
    fresh.mutate(ADD, n="next", a=2)


@pytest.mark.parametrize("mode", MODES)
def test_a_graph_restored_from_a_copy_is_read_as_the_copy(root: str, mode: Mode) -> None:
    """The same genesis, the same numbers, other rows."""
    graph = Graph.open(root)
    shutil.copytree(root, f"{root}.copy")
    graph.mutate(ADD, n="forgotten", a=1)
    assert names(graph, "main", mode) == ["forgotten", "root"]
    shutil.rmtree(root)
    shutil.move(f"{root}.copy", root)
    elsewhere("Graph.open(sys.argv[2]).mutate(ADD, n='restored', a=1)", root)
    assert names(graph, "main", mode) == ["restored", "root"]
    graph.mutate(AGE, n="restored", a=8)
    assert [row["age"] for row in Graph.open(root).query(ALL)] == [8, 0]


@pytest.mark.parametrize("mode", MODES)
def test_two_copies_of_a_graph_that_are_both_written_show_their_own_rows(root: str, mode: Mode) -> None:
    copied = f"{root}.copy"
    shutil.copytree(root, copied)
    one, two = Graph.open(root), Graph.open(copied)
    one.mutate(ADD, n="one", a=1)
    two.mutate(ADD, n="two", a=2)
    assert names(one, "main", mode) == ["one", "root"]
    assert names(two, "main", mode) == ["root", "two"]


def _ignore(_: object) -> None:
    return None


def test_a_graph_that_is_removed_while_a_writer_holds_its_branch_is_not_written(root: str) -> None:
    graph = Graph.open(root)
    with (
        armed(Point.MUTATION_ARMED, lambda: _ignore(elsewhere("remade(sys.argv[2])", root))),
        pytest.raises(GraphReplaced),
    ):
        graph.mutate(ADD, n="late", a=1)
    fresh = Graph.open(root)
    assert names(fresh, "main", "auto") == ["other"]
    assert fresh.verify().ok


def test_a_branch_cut_after_a_graph_was_restored_shows_what_the_copy_has(root: str) -> None:
    """The handle knows tables of the lost main, at the numbers that the new one came to."""
    graph = Graph.open(root)
    shutil.copytree(root, f"{root}.copy")
    graph.mutate(ADD, n="lost", a=1)
    assert names(graph, "main", "auto") == ["lost", "root"]
    shutil.rmtree(root)
    shutil.move(f"{root}.copy", root)
    elsewhere("g = Graph.open(sys.argv[2]); g.mutate(ADD, n='new', a=1); g.create_branch('c')", root)
    for mode in MODES:
        assert names(graph, "c", mode) == ["new", "root"]


def test_a_write_that_is_under_way_while_its_branch_is_made_again_names_the_cause(root: str) -> None:
    graph = Graph.open(root)
    fill(graph, "b", "old")
    remake = partial(elsewhere, REMAKE, root)
    with armed(Point.MUTATION_STAGED, lambda: _ignore(remake())), pytest.raises((ReadSetChanged, BranchReplaced)):
        graph.mutate(AGE, n="old1", a=5, branch="b")
    assert names(graph, "b", "auto") == ["new1", "new2", "root"]
    assert graph.verify().ok
