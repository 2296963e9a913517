"""Groups by what a step began at: added up along the runs of its rows, with the answers of a loop over the edges."""

from __future__ import annotations

import json
import random
from collections import defaultdict
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from omnigraph.graph import Graph
from omnigraph.query.answer import aggregation
from omnigraph.query.frames import Frame, Runs
from omnigraph.query.topology.adjacency import Neighbours

SCHEMA = """node P { k: String @key  g: String?  h: I32  i: I32?  big: I64  u: U64  f: F64? }
edge K: P -> P { w: I32 }"""
PEOPLE, EDGES = 25, 240
COLUMNS: dict[str, Callable[[random.Random], Any]] = {
    "g": lambda r: r.choice(["a", "b", "c", None]),
    "h": lambda r: r.randrange(3),
    "i": lambda r: r.choice([None, *range(-50, 50)]),
    "big": lambda r: r.choice([2**62, -(2**62), 7]),
    "u": lambda r: r.choice([2**63, 1]),
    "f": lambda r: r.choice([None, *(x / 4 for x in range(-9, 9))]),
}


@pytest.fixture(scope="module")
def people() -> list[dict[str, Any]]:
    rng = random.Random(5)
    return [{"k": f"p{n}"} | {name: make(rng) for name, make in COLUMNS.items()} for n in range(PEOPLE)]


@pytest.fixture(scope="module")
def pairs() -> list[tuple[int, int]]:
    rng = random.Random(6)
    return sorted({(rng.randrange(PEOPLE - 2), rng.randrange(PEOPLE)) for _ in range(EDGES)})


@pytest.fixture(scope="module")
def graph(
    tmp_path_factory: pytest.TempPathFactory, people: list[dict[str, Any]], pairs: list[tuple[int, int]]
) -> Graph:
    made = Graph.init(str(tmp_path_factory.mktemp("runs") / "g"), SCHEMA, durability="os")
    nodes = [json.dumps({"type": "P", "data": {n: v for n, v in one.items() if v is not None}}) for one in people]
    edges = [json.dumps({"edge": "K", "from": f"p{a}", "to": f"p{b}", "data": {"w": a + b}}) for a, b in pairs]
    made.load([line.encode() for line in [*nodes, *edges]], mode="append")
    return made


@pytest.fixture(params=[1, 10**9], ids=["along runs", "row by row"])
def sums(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The calls that added up along runs."""
    monkeypatch.setattr(aggregation, "RUNS_FROM_ROWS", request.param)
    monkeypatch.setattr(aggregation, "RUN_LENGTH_MIN", 1)
    calls: list[str] = []
    real = Neighbours.sums

    def counted(self: Neighbours, numbers: np.ndarray) -> np.ndarray:
        calls.append(self.variable)
        return real(self, numbers)

    monkeypatch.setattr(Neighbours, "sums", counted)
    return calls


def expected(
    people: list[dict[str, Any]], pairs: list[tuple[int, int]], keys: list[str], name: str
) -> list[dict[str, Any]]:
    groups: dict[tuple[Any, ...], list[Any]] = defaultdict(list)
    for a, b in pairs:
        if people[a]["h"] > 0:
            groups[tuple(people[a][key] for key in keys)].append(people[b][name])
    rows = []
    for group, values in groups.items():
        given = [value for value in values if value is not None]
        total = sum(given) if given else None
        mean = None if total is None else total / len(given)
        low, high = (min(given), max(given)) if given else (None, None)
        made = {"rows": len(values), "n": len(given), "total": total, "mean": mean, "low": low, "high": high}
        rows.append(dict(zip(keys, group, strict=True)) | made)
    return rows


@pytest.mark.parametrize("name", ["i", "h", "big", "u", "f"])
@pytest.mark.parametrize("keys", [["g"], ["g", "h"], ["k"]])
def test_aggregates_over_neighbours_equal_a_loop_over_the_edges(
    graph: Graph,
    people: list[dict[str, Any]],
    pairs: list[tuple[int, int]],
    keys: list[str],
    name: str,
    sums: list[str],
) -> None:
    shown = ", ".join(f"$p.{key} as {key}" for key in keys)
    along = aggregation.RUNS_FROM_ROWS == 1
    found = graph.query(
        f"""query q() {{
            match {{ $p: P $p.h > 0 $p k $x }}
            return {{ {shown}, count($x) as rows, count($x.{name}) as n, sum($x.{name}) as total,
                      avg($x.{name}) as mean, min($x.{name}) as low, max($x.{name}) as high }}
        }}"""
    )
    wanted = [{**row, **_as_answered(row)} for row in expected(people, pairs, keys, name)]
    assert sorted((dict(row) for row in found), key=str) == sorted(wanted, key=str)
    assert bool(sums) == (along and name in ("h", "i", "f")), "sums beyond 2^53 are added one by one"


def _as_answered(row: dict[str, Any]) -> dict[str, Any]:
    return {name: None if row[name] is None else float(row[name]) for name in ("total", "mean")}


def test_the_rows_of_runs_are_what_they_stand_for() -> None:
    adjacency_rows = np.array([3, 4, 5], np.int32)

    class Here:
        variable = "x"

        def rows(self) -> np.ndarray:
            return adjacency_rows

        def sums(self, numbers: np.ndarray) -> np.ndarray:
            raise AssertionError("nobody asked")

    heads = Frame(2, {"a": np.array([1, 2], np.int32)}, np.array([1, 5]))
    frame = Runs(heads, np.array([1, 2]), Here()).frame()
    assert (frame.length, set(frame.columns), len(frame.columns)) == (3, {"a", "x"}, 2)
    taken = frame.take(np.array([2, 0]))
    assert [taken.columns[name].tolist() for name in ("a", "x")] == [[2, 1], [5, 3]]
    assert taken.counts().tolist() == [5, 1]
    assert frame.only(frozenset({"x"})).columns.keys() == {"x"}
    more = frame.with_columns(y=np.array([7, 8, 9], np.int32))
    assert more.where(np.array([False, True, True])).columns["y"].tolist() == [8, 9]
