"""What is resident follows the graph: after any commits a warm engine answers as a cold one does."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import omnigraph.query.entities.resident_table as resident
import omnigraph.query.entities.segments as segments
import omnigraph.query.topology.files as topology_files
from omnigraph.graph import Graph
from omnigraph.model.errors import BranchReplaced
from omnigraph.model.identifiers import TableKey
from omnigraph.query.entities import HeldBytes
from omnigraph.query.entities.resident_table import ResidentEntities
from omnigraph.query.resident.cache import VERSIONS_KEPT, ResidentCache, resident_cache
from omnigraph.query.topology.edge_topology import ResidentTopology

SCHEMA = """
node Person { name: String @key  age: I32?  tags: [String]? }
edge Knows: Person -> Person { weight: I32? }
"""
QUESTIONS = (
    "query q() { match { $p: Person } return { $p.name, $p.age, $p.tags } }",
    "query q() { match { $p: Person $p knows $f } return { $p.name, $f.name, $f.age } }",
    "query q() { match { $p: Person $p $k:knows $f } return { $p.name, $k.weight, $f.name } }",
    "query q() { match { $p: Person $p $k:<knows> $f } return { $p.name, $k.weight, $f.name } }",
    "query q() { match { $p: Person $p <knows>{1,3} $f } return { $p.name, $f.name } }",
    'query q() { match { $p: Person { name: "p3" } $f knows $p } return { $f.name, $f.age } }',
    "query q() { match { $p: Person $p.age > 40 not { $p knows $f } } return { $p.name } }",
    "query q() { match { $a: Person $a knows $b $b knows $a } return { count($a) as n } }",
)
WALK = QUESTIONS[1]
PERSON, KNOWS = TableKey("node", "Person"), TableKey("edge", "Knows")


@pytest.fixture
def graph(tmp_path: Path) -> Graph:
    made = Graph.init(str(tmp_path / "g.omni"), SCHEMA, durability="os")
    made.load([_line(_person(number)) for number in range(12)], mode="append")
    made.load([_line(_knows(number, (number * 5 + 1) % 12)) for number in range(12)], mode="append")
    return made


def _person(number: int, age: int | None = None) -> dict[str, Any]:
    return {"type": "Person", "data": {"name": f"p{number}", "age": number * 5 if age is None else age, "tags": ["a"]}}


def _knows(one: int, other: int) -> dict[str, Any]:
    return {"edge": "Knows", "from": f"p{one}", "to": f"p{other}", "data": {"weight": one}}


def _line(record: dict[str, Any]) -> bytes:
    return json.dumps(record).encode() + b"\n"


def answers(graph: Graph, mode: Any, branch: str = "main") -> list[list[str]]:
    return [sorted(map(repr, graph.query(text, mode=mode, branch=branch).rows())) for text in QUESTIONS]


def change(graph: Graph, dice: random.Random, branch: str = "main") -> None:
    """One small commit of a random kind."""
    one, other = dice.randrange(16), dice.randrange(16)
    kind = dice.choice(["add", "update", "delete", "edge", "unlink", "upsert", "rewrite"])
    names = {
        row["p.name"] for row in graph.query("query q() { match { $p: Person } return { $p.name } }", branch=branch)
    }
    if kind in ("add", "upsert"):
        graph.load([_line(_person(one, dice.randrange(90)))], mode="merge", branch=branch)
    elif kind == "update":
        graph.mutate(
            f'query u() {{ update Person set {{ age: {dice.randrange(90)} }} where name = "p{one}" }}', branch=branch
        )
    elif kind == "delete":
        graph.mutate(f'query d() {{ delete Person where name = "p{one}" }}', branch=branch)
    elif kind == "unlink":
        graph.mutate(f'query d() {{ delete Knows where from = "p{one}" }}', branch=branch)
    elif {f"p{one}", f"p{other}"} <= names:
        record = _knows(one, other)
        if kind == "rewrite":
            record["data"]["id"] = f"fixed{one}"
        graph.load([_line(record)], mode="merge", branch=branch)


@pytest.mark.parametrize("seed", range(3))
def test_after_any_commits_the_warm_engine_answers_as_a_cold_one(graph: Graph, seed: int) -> None:
    dice = random.Random(seed)
    for _ in range(16):
        change(graph, dice)
        assert answers(graph, "csr") == answers(graph, "indexed")


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("tail_rows_max", [6, 10_000])
def test_segments_that_were_put_together_answer_as_a_cold_engine(
    graph: Graph, seed: int, tail_rows_max: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every few commits, with compactions between them, and looking back at older commits."""
    monkeypatch.setattr(resident, "SEGMENTS_MAX", 3)
    monkeypatch.setattr(resident, "TAIL_ROWS_MAX", tail_rows_max)
    dice, commits = random.Random(seed), [graph.snapshot().commit_id]
    for step in range(24):
        change(graph, dice)
        if step % 7 == 6:
            graph.optimize()
        commits.append(graph.snapshot().commit_id)
        assert answers(graph, "csr") == answers(graph, "indexed")
        earlier = dice.choice(commits)
        warm, cold = (graph.query(WALK, mode=mode, commit=earlier).rows() for mode in ("csr", "indexed"))
        assert sorted(map(repr, warm)) == sorted(map(repr, cold))


def test_hundreds_of_small_commits_never_number_a_table_anew(graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resident, "SEGMENTS_MAX", 4)
    graph.query(WALK, mode="csr")
    people, topology = _entities(graph, "node", "Person"), _topology(graph)
    for number in range(40):
        graph.mutate(f'query a() {{ insert Person {{ name: "n{number}", age: {number} }} }}')
        graph.mutate(f'query k() {{ insert Knows {{ from: "n{number}", to: "p1", weight: 1 }} }}')
        graph.query(WALK, mode="csr")
        newer, patched = _entities(graph, "node", "Person"), _topology(graph)
        assert people.token in newer.ancestors
        assert topology.edges.token in patched.edges.ancestors
        assert max(len(newer.segments), len(patched.edges.segments)) <= 4
    assert answers(graph, "csr") == answers(graph, "indexed")


def test_branches_are_followed_apart_from_each_other(graph: Graph) -> None:
    dice = random.Random(7)
    graph.create_branch("draft")
    for _ in range(12):
        branch = dice.choice(["main", "draft"])
        change(graph, dice, branch)
        for each in ("main", "draft"):
            assert answers(graph, "csr", each) == answers(graph, "indexed", each)


def test_an_older_commit_is_answered_from_the_same_residence(graph: Graph) -> None:
    before = graph.snapshot().commit_id
    first = sorted(map(repr, graph.query(WALK, mode="csr").rows()))
    graph.mutate('query d() { delete Person where name = "p3" }')
    assert sorted(map(repr, graph.query(WALK, mode="csr").rows())) != first
    assert sorted(map(repr, graph.query(WALK, mode="csr", commit=before).rows())) == first


def _entities(graph: Graph, kind: Any, name: str) -> ResidentEntities:
    return resident_cache().entities(graph._storage.tables.open(graph.snapshot().table(TableKey(kind, name))))


def _topology(graph: Graph) -> ResidentTopology:
    people, knows = _entities(graph, "node", "Person"), _entities(graph, "edge", "Knows")
    return resident_cache().topology(knows, people, people)


def test_a_small_commit_patches_what_is_resident_instead_of_building_it_anew(graph: Graph) -> None:
    graph.query(WALK, mode="csr")
    people, topology = _entities(graph, "node", "Person"), _topology(graph)
    graph.load([_line(_person(50)), _line(_knows(50, 3)), _line(_knows(1, 50))], mode="merge")
    graph.mutate('query u() { update Person set { age: 1 } where name = "p2" }')
    graph.mutate('query d() { delete Knows where from = "p4" }')
    graph.query(WALK, mode="csr")
    newer, patched = _entities(graph, "node", "Person"), _topology(graph)
    assert people.token in newer.ancestors
    assert newer.segments[0] is people.segments[0]
    assert patched.edges.segments[0] is topology.edges.segments[0]
    assert set(patched.made()) == set(topology.made())
    fresh = ResidentTopology(patched.edges, patched.sources, patched.targets, patched.src, patched.dst)
    for (direction, kind), adjacency in patched.made().items():
        built = fresh.adjacency(direction, kind)
        assert np.array_equal(adjacency.offsets, built.offsets)
        assert np.array_equal(adjacency.targets, built.targets)


def test_branches_that_share_a_table_version_share_what_is_kept_of_it(graph: Graph) -> None:
    graph.query(WALK, mode="csr")
    graph.create_branch("draft")
    tables = [
        graph._storage.tables.open(graph.snapshot(b).table(TableKey("node", "Person"))) for b in ("main", "draft")
    ]
    assert resident_cache().entities(tables[0]) is resident_cache().entities(tables[1])


COMMITS = (
    'query u() { update Person set { age: 1 } where name = "p2" }',
    'query k() { insert Knows { from: "p1", to: "p7", weight: 1 } }',
    'query a() { insert Person { name: "new" } }',
    'query k() { delete Knows where from = "p1" }',
    'query d() { delete Person where name = "new" }',
)
"""After these the graph is as large as before."""


class TestFlat:
    """What is resident does not grow with the number of commits."""

    def state(self) -> tuple[int, int]:
        return len(resident_cache()), resident_cache().nbytes

    def test_commits_and_reads_in_turn_keep_as_much_after_many_as_after_the_first_few(
        self, graph: Graph, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(resident, "SEGMENTS_MAX", 8)
        monkeypatch.setattr(
            resident, "TAIL_ROWS_MAX", 2
        )  # then a table is numbered anew: a cycle, and it is short here
        resident_cache().clear()
        seen: list[tuple[int, int]] = []
        for number in range(120):
            graph.mutate(COMMITS[number % len(COMMITS)])
            graph.query(WALK, mode="csr")
            seen.append(self.state())
        entries, sizes = zip(*seen, strict=True)
        assert max(entries) == max(entries[:6]) <= 3 * VERSIONS_KEPT
        assert max(sizes[40:]) <= 1.2 * max(sizes[:40])

    def test_the_upkeep_of_the_cache_looks_at_as_much_whatever_it_holds(
        self, graph: Graph, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        measured: list[object] = []
        measure = HeldBytes.measure
        monkeypatch.setattr(
            HeldBytes, "measure", lambda held, key, parts: (measured.append(key), measure(held, key, parts))[1]
        )

        def measured_by_a_commit_and_its_read() -> int:
            for text in COMMITS[:2]:  # the second one finds what the first left to be measured
                measured.clear()
                graph.mutate(text)
                graph.query(WALK, mode="csr")
            return len(measured)

        resident_cache().clear()
        graph.query(WALK, mode="csr")
        with_few = measured_by_a_commit_and_its_read()
        for number in range(12):
            graph.create_branch(f"b{number}").mutate(COMMITS[0])
            graph.query(WALK, mode="csr", branch=f"b{number}")
        measured_by_a_commit_and_its_read()
        assert len(resident_cache()) > 12
        assert 0 < measured_by_a_commit_and_its_read() <= with_few

    def test_readers_of_two_versions_in_turn_derive_nothing_anew(self, graph: Graph) -> None:
        before = graph.snapshot().commit_id
        graph.load([_line(_person(50)), _line(_knows(50, 3))], mode="merge")

        def tokens() -> list[int]:
            both = []
            for commit in (before, None):
                graph.query(WALK, mode="csr", commit=commit)
                snapshot = graph.snapshot() if commit is None else graph.snapshot_at(commit)
                tables = [graph._storage.tables.open(snapshot.table(key)) for key in (PERSON, KNOWS)]
                both += [resident_cache().entities(table).token for table in tables]
            return both

        assert tokens() == tokens() == tokens()

    def test_what_versions_share_is_counted_once(self, graph: Graph) -> None:
        resident_cache().clear()
        graph.query(WALK, mode="csr")
        before = resident_cache().nbytes
        graph.mutate('query u() { update Person set { age: 1 } where name = "p2" }')
        graph.query(WALK, mode="csr")
        kept = [one.item for one in resident_cache()._kept.values()]
        each_alone = sum(size for one in kept for _, size in one.parts())
        distinct = {id(part): size for one in kept for part, size in one.parts()}
        assert resident_cache().nbytes == sum(distinct.values())
        assert before < resident_cache().nbytes < each_alone
        resident_cache().clear()
        assert resident_cache().nbytes == 0


def test_the_budget_drops_the_least_recently_used(graph: Graph) -> None:
    small = ResidentCache(budget_bytes=1)
    people = graph._storage.tables.open(graph.snapshot().table(TableKey("node", "Person")))
    knows = graph._storage.tables.open(graph.snapshot().table(TableKey("edge", "Knows")))
    small.entities(people).ids(np.array([0], np.int32))
    small.entities(knows).ids(np.array([0], np.int32))
    small.entities(knows)
    assert not small.has_entities(people)


class TestFiles:
    @pytest.fixture(autouse=True)
    def _small_topologies_are_kept(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        monkeypatch.setattr(topology_files, "EDGES_MIN", 1)
        monkeypatch.setenv("OMNIGRAPH_CACHE_DIR", str(tmp_path / "cache"))

    def files(self, tmp_path: Path) -> list[Path]:
        return sorted((tmp_path / "cache").rglob("*.npy"))

    def reopened(self, graph: Graph) -> Graph:
        """The same graph to a process that has nothing in memory."""
        resident_cache().clear()
        return Graph.open(graph.uri, read_only=True)

    def test_a_new_process_maps_the_topology_instead_of_building_it(
        self, graph: Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        wanted = sorted(map(repr, self.reopened(graph).query(WALK, mode="csr").rows()))
        assert len(self.files(tmp_path)) == 4  # both ends, and one adjacency of two arrays
        again = self.reopened(graph)
        monkeypatch.setattr(ResidentTopology, "of", None)
        monkeypatch.setattr(ResidentTopology, "_build", None)
        assert sorted(map(repr, again.query(WALK, mode="csr").rows())) == wanted

    def test_the_folder_can_be_deleted_at_any_time(self, graph: Graph, tmp_path: Path) -> None:
        wanted = sorted(map(repr, self.reopened(graph).query(WALK, mode="csr").rows()))
        for file in self.files(tmp_path):
            file.unlink()
        assert sorted(map(repr, self.reopened(graph).query(WALK, mode="csr").rows())) == wanted

    def test_a_damaged_file_is_made_again(self, graph: Graph, tmp_path: Path) -> None:
        wanted = sorted(map(repr, self.reopened(graph).query(WALK, mode="csr").rows()))
        for file in self.files(tmp_path):
            file.write_bytes(file.read_bytes()[:100])
        assert sorted(map(repr, self.reopened(graph).query(WALK, mode="csr").rows())) == wanted

    def test_nothing_is_written_below_the_graph(self, graph: Graph) -> None:
        before = sorted(Path(graph.uri).rglob("*"))
        self.reopened(graph).query(WALK, mode="csr")
        assert sorted(Path(graph.uri).rglob("*")) == before


def test_a_topology_is_found_only_with_the_numbering_of_its_edges(graph: Graph) -> None:
    """Edges that left the memory may come back under other numbers, while a topology over the earlier ones is there."""
    weights = "query q() { match { $p: Person $p $k:knows $f } return { $p.name, $f.name, $k.weight } }"

    def ask(branch: str, mode: Any) -> list[str]:
        return sorted(map(repr, graph.query(weights, branch=branch, mode=mode).rows()))

    record = _knows(1, 2)
    record["data"]["id"] = "fixed"
    graph.load([_line(record), _line(_knows(7, 8)), _line(_knows(8, 9))], mode="merge")
    ask("main", "csr")
    record["data"]["weight"] = 99
    graph.load([_line(record)], mode="merge")  # written again: it keeps its number, and lies elsewhere
    graph.create_branch("y")
    graph.mutate('query a() { insert Person { name: "z" } }', branch="y")  # nodes of its own, the edges of main
    before = ask("y", "csr")
    for number in (4, 5):  # later versions of main's edges push those of y out of the memory
        graph.mutate(f'query d() {{ delete Knows where from = "p{number}" }}')
        ask("main", "csr")
    assert ask("y", "csr") == ask("y", "indexed") == before


def test_what_rests_on_a_branch_that_was_replaced_is_dropped_and_read_again(
    graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph.create_branch("x")
    graph.mutate('query a() { insert Person { name: "old", age: 1 } }', branch="x")
    graph.query(WALK, mode="csr", branch="x")
    old = graph.snapshot("x").table(PERSON)
    graph.delete_branch("x")
    graph.create_branch("x")
    graph.mutate('query a() { insert Person { name: "new", age: 2 } }', branch="x")
    read = segments.Segment._read

    def gone(self: segments.Segment, names: Any) -> Any:
        if self.table.pin.lineage == old.lineage and self.table.pin.incarnation == old.incarnation:
            raise BranchReplaced("x")
        return read(self, names)

    monkeypatch.setattr(segments.Segment, "_read", gone)
    assert answers(graph, "csr", "x") == answers(graph, "indexed", "x")


def test_what_rests_on_a_branch_that_was_deleted_is_dropped_and_read_again(graph: Graph) -> None:
    graph.create_branch("x")
    graph.mutate('query a() { insert Person { name: "old", age: 1 } }', branch="x")
    graph.query("query q() { match { $p: Person } return { $p.name } }", mode="csr", branch="x")
    graph.delete_branch("x")
    graph.mutate('query a() { insert Person { name: "new", age: 2 } }')
    graph.query("query q() { match { $p: Person } return { $p.name } }", mode="csr")
    assert answers(graph, "csr", "main") == answers(graph, "indexed", "main")
