"""Sub-patterns that ask the same are worked out once in a run, whatever their variables are called."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from omnigraph.graph import Graph
from omnigraph.query import QueryLimits
from omnigraph.query.explain import Explanation
from omnigraph.query.operators import blocks as block_operators
from omnigraph.query.operators import shared_results as shared
from omnigraph.query.topology import reachability as reach

SCHEMA = """
node Person { name: String @key  age: I32 }
node Company { name: String @key  age: I32 }
edge Knows: Person -> Person
edge WorksAt: Person -> Company
"""
PEOPLE = 60
ELDER = "$v knows $o  $o.age > 40"


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Graph:
    numbers = range(PEOPLE)
    rows: list[dict[str, Any]] = [{"type": "Person", "data": {"name": f"p{n}", "age": n}} for n in numbers]
    rows += [{"type": "Company", "data": {"name": f"c{n}", "age": 2 * n}} for n in numbers]
    for step in (1, 2, 7):
        rows += [{"edge": "Knows", "from": f"p{n}", "to": f"p{(n * step + 3) % PEOPLE}"} for n in numbers]
    rows += [{"edge": "WorksAt", "from": f"p{n}", "to": f"c{n % 9}"} for n in numbers]
    made = Graph.init(str(tmp_path_factory.mktemp("shared") / "g"), SCHEMA, durability="os")
    made.load([json.dumps(row).encode() + b"\n" for row in rows], mode="append")
    return made


def asked(text: str) -> str:
    return f"query q() {{ match {{ {text} }} return {{ count($p) as n }} }}"


def shares(plan: Explanation) -> list[tuple[str, int]]:
    return [(line.operator, line.shared_with) for line in plan.lines if line.shared_with is not None]


ELDERS_OF_P, ALSO_OF_P, ELDERS_OF_Q = (
    ELDER.replace("$v", one).replace("$o", other) for one, other in (("$p", "$a"), ("$p", "$b"), ("$q", "$b"))
)
SHARED: list[tuple[str, str, tuple[str, int]]] = [
    ("not-twice", f"$p: Person not {{ {ELDERS_OF_P} }} not {{ {ALSO_OF_P} }}", ("not", 2)),
    ("not-of-another", f"$p: Person $p knows $q not {{ {ELDERS_OF_P} }} not {{ {ELDERS_OF_Q} }}", ("not", 3)),
    ("not-and-or", f"$p: Person not {{ {ELDERS_OF_P} }} or {{ {{ {ALSO_OF_P} }} $p.age > 5 }}", ("traverse", 2)),
    ("or-twice", f"$p: Person or {{ {{ {ELDERS_OF_P} }} {{ {ALSO_OF_P} }} }}", ("traverse", 3)),
    (
        "conditions-in-another-order",
        "$p: Person not { $p knows $a $a.age > 9 $a.age < 30 } not { $p knows $b $b.age < 30 $b.age > 9 }",
        ("not", 2),
    ),
    (
        "two-variables",
        "$p: Person $p knows $q $q knows $r not { $p knows $x $x knows $q } not { $q knows $y $y knows $r }",
        ("not", 4),
    ),
    ("walk", "$p: Person $p knows{1,3} $a $p knows{1,3} $b", ("traverse", 2)),
    ("walk-with-arrival", '$p: Person { name: "p5" } $p knows $a $a.age > 9 $p knows $b $b.age > 9', ("traverse", 2)),
    ("walk-in-maybe", "$p: Person maybe { $p knows{2,3} $a } maybe { $p knows{2,3} $b }", ("traverse", 3)),
]
APART = [
    ("other-condition", "$p: Person not { $p knows $a $a.age > 9 } not { $p knows $b $b.age > 8 }"),
    ("other-direction", "$p: Person not { $p knows $a $a.age > 9 } not { $b knows $p $b.age > 9 }"),
    ("other-type", "$p: Person $p worksAt $c not { $p.age > 30 } not { $c.age > 30 }"),
    ("other-bounds", "$p: Person $p knows{1,2} $a $p knows{1,3} $b"),
    ("other-ends", "$p: Person $p knows $q not { $p knows $x $x knows $q } not { $q knows $y $y knows $p $y.age > 3 }"),
    ("one-look-into-an-adjacency", "$p: Person $p knows $a $p knows $b"),
]


@pytest.mark.parametrize(("text", "expected"), [row[1:] for row in SHARED], ids=[row[0] for row in SHARED])
def test_what_asks_the_same_is_shared_and_the_plan_says_so(graph: Graph, text: str, expected: tuple[str, int]) -> None:
    plan = graph.explain(asked(text))
    assert expected in shares(plan), plan.text
    assert f"shared with step {expected[1]}" in plan.text
    steps: Any = plan.to_json()["steps"]
    assert expected[1] in [step.get("shared_with") for step in steps]


@pytest.mark.parametrize("text", [row[1] for row in APART], ids=[row[0] for row in APART])
def test_what_asks_something_else_is_not(graph: Graph, text: str) -> None:
    assert shares(graph.explain(asked(text))) == []


@pytest.mark.parametrize("mode", ["csr", "indexed"])
@pytest.mark.parametrize("text", [row[1] for row in SHARED], ids=[row[0] for row in SHARED])
def test_sharing_changes_no_answer(graph: Graph, text: str, mode: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    together = graph.query(asked(text), mode=mode)[0]["n"]
    monkeypatch.setattr(shared.SharedResults, "answers", lambda self, number, by, ask: ask(slice(None)))
    monkeypatch.setattr(shared.SharedResults, "relation", lambda self, number, sources, walk: None)
    assert graph.query(asked(text), mode=mode)[0]["n"] == together


def test_the_inside_of_a_block_is_run_once_for_all_that_ask_it(graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    rows: list[int] = []
    run = block_operators._asked

    def counting(run_of: Any, inner: Any, uses: Any, frame: Any, first: Any) -> Any:
        rows.append(len(first))
        return run(run_of, inner, uses, frame, first)

    monkeypatch.setattr(block_operators, "_asked", counting)
    graph.query(asked(SHARED[1][1]))
    assert sum(rows) == PEOPLE, "each person once, as $p or as $q"


def test_a_search_over_several_hops_is_made_once(graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    sources: list[int] = []
    search = reach._search

    def counting(adjacency_for: Any, size_now: Any, starts: Any, *rest: Any) -> Any:
        sources.append(len(starts))
        return search(adjacency_for, size_now, starts, *rest)

    monkeypatch.setattr(reach, "_search", counting)
    graph.query(asked("$p: Person $p knows{1,3} $a $p knows{1,3} $b"))
    assert sum(sources) == PEOPLE


@pytest.mark.parametrize("name", ["not-of-another", "walk", "two-variables"])
def test_what_does_not_fit_into_the_limit_is_worked_out_again(
    graph: Graph, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = asked(next(row[1] for row in SHARED if row[0] == name))
    expected = graph.query(text)[0]["n"]
    monkeypatch.setattr(shared.Guard, "has_room", lambda self, nbytes: False)
    assert graph.query(text)[0]["n"] == expected


def test_what_is_shared_counts_to_the_memory_of_the_query(graph: Graph, tmp_path: Path) -> None:
    text = asked("$p: Person $p knows{1,3} $a $p knows{1,3} $b $a.age = $b.age")
    plan = graph.explain(text, analyze=True)
    assert plan.peak_bytes is not None
    assert plan.peak_bytes > 4 * PEOPLE
    assert graph.query(text, limits=QueryLimits(memory_bytes=plan.peak_bytes))[0]["n"] > 0
