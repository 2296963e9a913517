"""What is remembered is known by what never comes again: names and version numbers do, rows behind them do not."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

import omnigraph.query.plan.degree_cache as degree_book
import omnigraph.query.topology.files as topology_files
from omnigraph.graph import Graph
from omnigraph.query.plan.steps import Mode
from omnigraph.query.resident.cache import resident_cache

SCHEMA = """
node Person { name: String @key  age: I32?  bio: String? @index  face: Vector(2)? @index }
edge Knows: Person -> Person { weight: I32? }
"""
MODES: tuple[Mode, ...] = ("auto", "csr", "indexed")
PEOPLE = "query q() { match { $p: Person } return { $p.name, $p.age } order { $p.name asc } }"
WALK = "query q() { match { $p: Person $p knows $f } return { $p.name, $f.name } }"
WEIGHTS = "query q() { match { $p: Person $p $k:knows $f } return { $p.name, $k.weight, $f.name } }"
FOUND = 'query q() { match { $p: Person search($p.bio, "garden") } return { $p.name } }'
RANKED = 'query q() { match { $p: Person } return { $p.name } order { bm25($p.bio, "garden") desc } limit 1 }'
NEAREST = "query q() { match { $p: Person } return { $p.name } order { nearest($p.face, [1.0, 0.0]) } limit 1 }"


def person(name: str, age: int = 1, **more: Any) -> dict[str, Any]:
    return {"type": "Person", "data": {"name": name, "age": age, **more}}


def knows(one: str, other: str, weight: int = 1) -> dict[str, Any]:
    return {"edge": "Knows", "from": one, "to": other, "data": {"weight": weight}}


def load(graph: Graph, records: Iterable[dict[str, Any]], branch: str = "main") -> None:
    graph.load([json.dumps(record).encode() + b"\n" for record in records], mode="merge", branch=branch)


def rows(graph: Graph, text: str, mode: Mode = "auto", branch: str = "main") -> list[str]:
    return sorted(" ".join(map(str, row.values())) for row in graph.query(text, mode=mode, branch=branch).rows())


@pytest.fixture
def graph(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Graph:
    monkeypatch.setenv("OMNIGRAPH_CACHE_DIR", str(tmp_path / "cache"))
    resident_cache().clear()
    made = Graph.init(str(tmp_path / "g"), SCHEMA, durability="os")
    load(made, [person(name) for name in "abcd"])
    load(made, [knows("a", "b")])
    return made


def started_again(graph: Graph) -> Graph:
    """The same graph to a process that has nothing in memory."""
    resident_cache().clear()
    return Graph.open(graph.uri)


def made_again(graph: Graph, branch: str = "draft") -> None:
    graph.delete_branch(branch)
    graph.create_branch(branch)


@pytest.mark.parametrize("mode", MODES)
def test_a_branch_that_is_made_again_is_not_read_as_the_one_before(graph: Graph, mode: Mode) -> None:
    graph.create_branch("draft")
    load(graph, [person("old", 7), knows("a", "c")], "draft")
    assert rows(graph, WALK, mode, "draft") == ["a b", "a c"]
    made_again(graph)
    load(graph, [person("new", 8), knows("b", "d")], "draft")
    assert rows(graph, WALK, mode, "draft") == ["a b", "b d"]
    assert rows(graph, PEOPLE, mode, "draft") == ["a 1", "b 1", "c 1", "d 1", "new 8"]


@pytest.mark.parametrize("mode", MODES)
def test_what_the_branch_before_had_in_files_of_its_own_is_not_read_through_it(graph: Graph, mode: Mode) -> None:
    """A column that nobody asked for yet is read late, when the files of the branch before are gone."""
    graph.create_branch("draft")
    load(graph, [person("old", 7), knows("a", "c", 5)], "draft")
    rows(graph, WALK, mode, "draft")
    made_again(graph)
    load(graph, [person("new", 8), knows("b", "d", 6)], "draft")
    assert rows(graph, WEIGHTS, mode, "draft") == ["a 1 b", "b 6 d"]
    assert rows(graph, PEOPLE, mode, "draft")[-1] == "new 8"


@pytest.mark.parametrize("text", [FOUND, RANKED, NEAREST])
@pytest.mark.parametrize("indexed", [False, True])
def test_a_search_on_a_branch_that_is_made_again_finds_its_own_rows(graph: Graph, text: str, indexed: bool) -> None:
    def draft(name: str) -> None:
        load(graph, [person(name, bio="a garden", face=[1.0, 0.0])], "draft")
        if indexed:
            graph.ensure_indices("draft")
        for _ in range(3):  # by the index at first, from memory later
            assert rows(graph, text, branch="draft") == [name]

    graph.create_branch("draft")
    draft("old")
    made_again(graph)
    draft("new")


def test_a_branch_that_is_made_again_counts_its_own_ids(graph: Graph) -> None:
    graph.create_branch("draft")
    for name in ("old1", "old2", "old3"):
        graph.mutate("query a($n: String) { insert Person { name: $n } }", n=name, branch="draft")
    made_again(graph)
    for name in ("new1", "old2", "new3"):
        graph.mutate("query a($n: String) { insert Person { name: $n } }", n=name, branch="draft")
    graph.mutate('query a() { insert Knows { from: "new1", to: "old2" } }', branch="draft")
    with pytest.raises(Exception, match="old1"):
        graph.mutate('query a() { insert Knows { from: "new1", to: "old1" } }', branch="draft")


@pytest.fixture
def _small_tables_are_filed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(topology_files, "EDGES_MIN", 1)
    monkeypatch.setattr(degree_book, "EDGES_MIN", 1)


@pytest.mark.usefixtures("_small_tables_are_filed")
class TestFiles:
    def test_a_new_process_does_not_take_the_topology_of_the_branch_before(self, graph: Graph) -> None:
        graph.create_branch("draft")
        load(graph, [knows("a", "c")], "draft")
        graph = started_again(graph)
        assert rows(graph, WALK, "csr", "draft") == ["a b", "a c"]
        made_again(graph)
        load(graph, [knows("b", "d")], "draft")
        assert rows(started_again(graph), WALK, "csr", "draft") == ["a b", "b d"]

    def test_two_copies_of_a_graph_that_went_on_do_not_share_their_topologies(
        self, graph: Graph, tmp_path: Path
    ) -> None:
        shutil.copytree(graph.uri, tmp_path / "copy")
        copy = Graph.open(str(tmp_path / "copy"))
        load(graph, [knows("a", "c")])
        load(copy, [knows("b", "d")])
        assert rows(started_again(graph), WALK, "csr") == ["a b", "a c"]
        assert rows(started_again(copy), WALK, "csr") == ["a b", "b d"]

    def test_a_copy_takes_the_topology_of_what_it_still_has_in_common(
        self, graph: Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        shutil.copytree(graph.uri, tmp_path / "copy")
        rows(started_again(graph), WALK, "csr")
        monkeypatch.setattr("omnigraph.query.topology.edge_topology.ResidentTopology.of", None)
        assert rows(started_again(Graph.open(str(tmp_path / "copy"))), WALK, "csr") == ["a b"]

    def test_a_new_process_does_not_show_the_degrees_of_the_branch_before(self, graph: Graph) -> None:
        graph.create_branch("draft")
        load(graph, [knows("a", "c"), knows("a", "d")], "draft")
        assert most(graph, "draft") == 3
        graph = started_again(graph)
        made_again(graph)
        load(graph, [knows("b", "c"), knows("c", "d")], "draft")
        assert shown(started_again(graph), "draft") is None

    def test_the_degrees_of_a_copy_are_not_shown(self, graph: Graph, tmp_path: Path) -> None:
        shutil.copytree(graph.uri, tmp_path / "copy")
        load(graph, [knows("a", "c")])
        load(Graph.open(str(tmp_path / "copy")), [knows("b", "d")])
        assert most(started_again(graph)) == 2
        assert shown(started_again(graph)) == 2, "its own are on file"
        assert shown(started_again(Graph.open(str(tmp_path / "copy")))) is None


def shown(graph: Graph, branch: str = "main") -> int | None:
    """The greatest degree that a plan shows, if it shows one."""
    [fan] = [line.fan for line in graph.explain(WALK, branch=branch).lines if line.fan is not None]
    return None if fan.degrees is None else fan.degrees.most


def most(graph: Graph, branch: str = "main") -> int | None:
    """The same after the edges were walked."""
    rows(graph, WALK, "csr", branch)
    return shown(graph, branch)


class TestDegrees:
    def test_a_plan_on_one_branch_never_shows_the_degrees_of_another(self, graph: Graph) -> None:
        load(graph, [knows(one, other) for one in "abcd" for other in "abcd" if one != other])
        graph.create_branch("draft")
        load(graph, [knows("a", "a")], "draft")
        assert most(graph) == 3
        assert shown(graph, "draft") is None
        assert most(graph, "draft") == 4
        assert shown(graph) == 3

    def test_a_branch_that_only_added_nodes_has_degrees_of_its_own(self, graph: Graph) -> None:
        graph.create_branch("draft")
        load(graph, [person(f"n{number}") for number in range(4)], "draft")
        assert most(graph) == 1
        assert shown(graph, "draft") is None
        text = "query q() { match { $p: Person $p knows $f } return { $f.name } }"
        rows(graph, text, "csr", "draft")
        [fan] = [line.fan for line in graph.explain(text, branch="draft").lines if line.fan is not None]
        assert fan.degrees is not None
        assert fan.degrees.nodes == 8

    def test_a_plan_on_a_branch_that_is_made_again_shows_no_degrees_of_the_one_before(self, graph: Graph) -> None:
        graph.create_branch("draft")
        load(graph, [knows("a", "c"), knows("a", "d")], "draft")
        assert most(graph, "draft") == 3
        made_again(graph)
        load(graph, [knows("b", "c"), knows("c", "d")], "draft")
        assert shown(graph, "draft") is None
        assert most(graph, "draft") == 1

    def test_a_later_version_of_the_same_branch_is_estimated_by_the_degrees_of_an_earlier_one(
        self, graph: Graph
    ) -> None:
        load(graph, [knows(one, other) for one in "abcd" for other in "abcd" if one != other])
        assert most(graph) == 3
        load(graph, [knows("a", "a")])
        assert shown(graph) == 3, "12 edges or 13: about as many"
