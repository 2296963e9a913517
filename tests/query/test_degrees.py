"""Degrees: estimates of hops follow how edges are spread over nodes, and the plan follows the estimates."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pytest

import omnigraph.query.plan.access_mode as access_mode
import omnigraph.query.plan.degree_cache as degree_book
from omnigraph.graph import Graph
from omnigraph.language.query.ir import Direction
from omnigraph.query.plan.degrees import Degrees, EdgeDegrees
from omnigraph.query.resident.cache import resident_cache

FACTOR = 2.0
"""How far an estimate of up to three hops may be off on a graph whose degrees follow a power law."""
PEOPLE, EDGES = 2_000, 20_000
SCHEMA = """
node Person { name: String @key }
node Tag { name: String @key }
edge Knows: Person -> Person
edge Likes: Person -> Tag
edge Rates: Person -> Tag
"""


def node(kind: str, number: int) -> bytes:
    return json.dumps({"type": kind, "data": {"name": f"{kind}{number}"}}).encode() + b"\n"


def edges(kind: str, target: str, pairs: Iterable[tuple[int, int]]) -> list[bytes]:
    named = ({"edge": kind, "from": f"Person{a}", "to": f"{target}{b}"} for a, b in pairs)
    return [json.dumps(each).encode() + b"\n" for each in named]


def power_law() -> set[tuple[int, int]]:
    rng = np.random.default_rng(17)
    ends = (PEOPLE * rng.random((2, EDGES)) ** 2.5).astype(int)
    return {(a, b) for a, b in zip(*ends.tolist(), strict=True) if a != b}


@pytest.fixture(scope="module")
def skewed(tmp_path_factory: pytest.TempPathFactory) -> Graph:
    """Acquaintances by a power law, the same people busy at both ends. Everyone likes three tags; the ten busiest rate
    two hundred each, and nobody else rates anything."""
    made = Graph.init(str(tmp_path_factory.mktemp("degrees") / "g"), SCHEMA, durability="os")
    rows = [node("Person", number) for number in range(PEOPLE)] + [node("Tag", number) for number in range(200)]
    rows += edges("Knows", "Person", power_law())
    rows += edges("Likes", "Tag", ((a, (a * 7 + step) % 200) for a in range(PEOPLE) for step in range(3)))
    rows += edges("Rates", "Tag", ((a, b) for a in range(10) for b in range(200)))
    made.load(rows, mode="append")
    return made


@pytest.fixture
def graph(skewed: Graph, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Graph:
    """The same graph in a process that knows nothing of it."""
    monkeypatch.setenv("OMNIGRAPH_CACHE_DIR", str(tmp_path))
    resident_cache().clear()
    return Graph.open(skewed.uri, read_only=True)


def walk(hops: int) -> str:
    steps = " ".join(f"$p{number} knows $p{number + 1}" for number in range(hops))
    return f"query q() {{ match {{ $p0: Person {steps} }} return {{ count($p0) as n }} }}"


@pytest.mark.parametrize("hops", [1, 2, 3])
def test_estimates_on_power_law_data_are_within_the_stated_factor(graph: Graph, hops: int) -> None:
    walks = graph.query(walk(hops))[0]["n"]
    estimate = graph.explain(walk(hops)).lines[-1].estimate
    assert walks / FACTOR <= estimate <= walks * FACTOR


def test_the_mean_alone_is_off_by_much_more(graph: Graph) -> None:
    by_mean = graph.explain(walk(3)).lines[-1].estimate  # nothing is resident yet
    assert graph.query(walk(3))[0]["n"] > 5 * FACTOR * by_mean


ORDER = """query q() {
    match { $p: Person { name: "Person1500" }  $p knows $f  $f rates $r  $f likes $l }
    return { $r.name, $l.name }
}"""


def hop_order(graph: Graph) -> list[str]:
    return [line.detail.split("[")[1].split("]")[0] for line in graph.explain(ORDER).lines if "[" in line.detail]


def test_where_the_mean_misleads_the_degrees_give_the_better_order(graph: Graph) -> None:
    assert hop_order(graph) == ["Knows", "Rates", "Likes"], "one rating a person, three likes: so says the mean"
    misled = graph.explain(ORDER, analyze=True)
    assert hop_order(graph) == ["Knows", "Likes", "Rates"], "but those whom people know are those who rate"
    better = graph.explain(ORDER, analyze=True)
    assert better.rows == misled.rows
    assert sum(line.rows or 0 for line in better.lines) < sum(line.rows or 0 for line in misled.lines)


def test_a_plan_shows_the_degrees_that_it_rests_on(graph: Graph) -> None:
    text = 'query q() { match { $p: Person { name: "Person3" } $p rates $t } return { $t.name } }'
    before = graph.explain(text)
    assert before.to_json()["steps"][1]["degrees"] is None  # type: ignore[index,call-overload]
    graph.query(text)
    plan = graph.explain(text)
    assert "1 from each; degrees 1 on average, 200 at most" in plan.text
    assert plan.to_json()["steps"][1]["degrees"] == {  # type: ignore[index,call-overload]
        "mean": 1.0, "most": 200, "without": 0.995, "p50": 0, "p90": 0, "p99": 0,
    }  # fmt: skip


def test_nodes_without_neighbours_are_expected_to_pass_a_not(graph: Graph) -> None:
    text = "query q() { match { $p: Person not { $p rates $t } } return { count($p) as n } }"
    count = graph.query(text)[0]["n"]
    assert graph.explain(text).lines[1].estimate == pytest.approx(count)


class TestInANewProcess:
    """Nothing is resident, all tables count as large; the degrees of an earlier process are on file."""

    TEXT = """query q() {
        match { $p: Person { name: "Person9" } $p knows $f $f knows $g $g knows $h $h knows $i }
        return { count($i) as n }
    }"""

    @pytest.fixture(autouse=True)
    def indexed_and_large(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(access_mode, "SMALL_ROWS", 0)
        monkeypatch.setattr(degree_book, "EDGES_MIN", 1)

    def opened(self, skewed: Graph) -> Graph:
        resident_cache().clear()
        return Graph.open(skewed.uri, read_only=True)

    def test_a_walk_into_busy_nodes_goes_through_memory_because_the_degrees_say_so(
        self, graph: Graph, skewed: Graph, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(access_mode, "_rows_beside_index", lambda table: 0)  # as if every edge were indexed
        monkeypatch.setattr(access_mode.RecentTables, "again", lambda self, tables: False)
        assert graph.explain(self.TEXT).mode == "indexed"
        graph.query(self.TEXT, mode="csr")
        graph.explain(self.TEXT)  # looks at the degrees of what is resident, and files them
        later = self.opened(skewed).explain(self.TEXT)
        assert later.mode == "csr"
        assert "rows to look at" in later.reason

    def test_a_file_that_cannot_be_read_counts_as_absent(self, graph: Graph, skewed: Graph, tmp_path: Path) -> None:
        graph.query(self.TEXT, mode="csr")
        graph.explain(self.TEXT)
        files = list((tmp_path / "degrees").rglob("*.json"))
        assert files
        for file in files:
            file.write_text('{"format": 1, "edges": 5, "degrees": {"out"')
        plan = self.opened(skewed).explain(self.TEXT)
        assert all(line.fan is None or line.fan.degrees is None for line in plan.lines)


class TestMoments:
    def test_a_summary_has_what_the_counts_have(self) -> None:
        made = Degrees.of(np.array([0, 0, 1, 2, 7]))
        assert (made.nodes, made.total, made.squares, made.most, made.without) == (5, 10, 54.0, 7, 2)
        assert (made.mean, made.share_without, made.quantiles) == (2.0, 0.4, (1, 7, 7))
        assert Degrees.of(np.empty(0, np.int64)).mean == 0.0

    @pytest.mark.parametrize("arrived", ["out", "in", "both"])
    @pytest.mark.parametrize("leaving", ["out", "in", "both"])
    def test_the_onward_degree_is_that_of_counting_every_walk(self, arrived: Direction, leaving: Direction) -> None:
        matrix = np.zeros((PEOPLE, PEOPLE), np.int64)
        for a, b in power_law():
            matrix[a, b] = 1
        along = {"out": matrix, "in": matrix.T, "both": matrix + matrix.T}
        degrees = EdgeDegrees.of(matrix.sum(axis=1), matrix.sum(axis=0), same_type=True)
        reached, onward = along[arrived].sum(axis=0), along[leaving].sum(axis=1)
        assert degrees.onward(arrived, leaving) == pytest.approx((reached * onward).sum() / reached.sum())

    def test_between_different_types_only_the_way_back_is_known(self) -> None:
        degrees = EdgeDegrees.of(np.array([1, 3]), np.array([2, 1, 1]), same_type=False)
        assert degrees.onward("out", "in") == pytest.approx(6 / 4)
        assert degrees.onward("out", "out") is None
