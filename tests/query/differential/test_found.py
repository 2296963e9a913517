"""What random queries have found, kept as small questions to one small graph, so that each stays answered."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from omnigraph.graph import Graph
from query.differential.graphs import Entity, RandomGraph
from query.differential.loading import load
from query.differential.queries import RandomQuery
from query.differential.trials import MODES, Ask, asker, expected, mismatch

NUMBERS = {"f": "F32", "d": "F64", "n": "I32", "u": "U32"}
THING = {"key": "String", **NUMBERS, "t": "DateTime", "l": "[F32]", "vec": "Vector(2)"}
GRAPH = RandomGraph(
    seed=2,
    nodes=(Entity("Thing", THING, key="key"), Entity("Nothing", {"key": "String", "x": "F64"}, key="key")),
    edges=(Entity("Knows", {}, ends=("Thing", "Thing")), Entity("Has", {"w": "I64"}, ends=("Thing", "Nothing"))),
    records=[
        {"type": "Thing", "data": {"key": "a", "f": 0.1, "d": 0.1, "n": 1, "u": 4294967295, "l": [0.1], "vec": [0, 1]}},
        {"type": "Thing", "data": {"key": "b", "f": 0.1, "t": "1969-12-31T23:59:59.999Z", "l": [], "vec": [0, 1]}},
        {"type": "Thing", "data": {"key": "c", "n": 1, "t": "2024-06-01T12:00:00.123Z", "l": [0.1]}},
        {"type": "Thing", "data": {"key": "d"}},
        {"edge": "Knows", "from": "a", "to": "b", "data": {"id": "k1"}},
        {"edge": "Knows", "from": "b", "to": "b", "data": {"id": "k2"}},
    ],
)

FOUND: dict[str, list[tuple[str, str]]] = {
    "values of every type are keys of groups and of distinct": [
        ("$a: Thing", "$a.*, count($a) as n"),
        ("$a: Thing", "$a.l, count($a) as n"),
        ("$a: Thing", "$a.vec, count($a) as n"),
        ("$a: Thing", "count(distinct $a.l) as n"),
        ("$a: Thing", "count(distinct $a.vec) as n"),
        ("$a: Thing", "distinct $a.l"),
        ("$a: Thing $a knows $b", "distinct $b.*"),
    ],
    "a moment keeps its time of day": [
        ("$a: Thing", 'datetime("1969-12-31T23:59:59.999Z") as t'),
        ("$a: Thing", "$moment as t"),
        ("$a: Thing", "now() as t"),
        ("$a: Thing", "max($a.t) as t, min($a.t) as s"),
    ],
    "beside an F32 property a number is rounded to F32": [
        ("$a: Thing { f: 0.1 }", "$a"),
        ("$a: Thing $a.f = $single", "$a"),
        ("$a: Thing $a.f != 0.1", "$a"),
        ("$a: Thing 0.1 >= $a.f", "$a"),
        ("$a: Thing $a.f in [0.1]", "$a"),
        ("$a: Thing $a.f in $singles", "$a"),
        ("$a: Thing $a.l contains 0.1", "$a"),
        ("$a: Thing $a knows $b $b.f <= 0.1", "$a, $b"),
    ],
    "a parameter is a value of the type that it is declared with": [
        ("$a: Thing", "$single as x, $singles as y"),
        ("$a: Thing { d: $single }", "$a"),
        ("$a: Thing $a.d = $single", "$a"),
        ("$a: Thing $a.d in $singles", "$a"),
        ("$a: Thing $a knows $b $a.d <= $single", "$a, $b"),
    ],
    "a number beyond the type of a property is compared all the same": [
        ("$a: Thing $a.u <= 4294967296.0", "$a"),
        ("$a: Thing $a.u in [4294967295.0, 4294967296.0]", "$a"),
        ("$a: Thing $a.n > -3000000000", "$a"),
        ("$a: Thing $a.n < 18446744073709551615", "$a"),
    ],
    "a variable that nothing fills has no values, also when its type has no nodes": [
        ("$a: Thing maybe { $a has $x }", "avg($x.x) as n, min($x.key) as m, count(distinct $x) as c"),
        ("$a: Thing maybe { $a has $x }", "$a, $x, $x.x, $x.* as whole"),
        ("$a: Thing maybe { $a $w:has $x }", "sum($w.w) as n, count($w.w) as c"),
        ("$a: Thing maybe { $a has $x }", "$x.x, count($a) as n"),
    ],
}
PARAMS: dict[str, tuple[str, Any]] = {
    "moment": ("DateTime", "1969-12-31T23:59:59.999Z"),
    "single": ("F32", 0.1),
    "singles": ("[F32]", [0.1, 2.0]),
}
CASES = [(what, match, items) for what, cases in FOUND.items() for match, items in cases]


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Graph]:
    made = load(GRAPH, tmp_path_factory.mktemp("found") / "graph")
    yield made
    made.close()


def query_of(match: str, items: str) -> RandomQuery:
    distinct = items.startswith("distinct ")
    query = RandomQuery((match,), (items.removeprefix("distinct "),), distinct=distinct)
    return replace(query, params={name: given for name, given in PARAMS.items() if f"${name}" in query.text})


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(("what", "match", "items"), CASES)
def test_found_difference_stays_away(what: str, match: str, items: str, mode: str, graph: Graph) -> None:
    query = query_of(match, items)
    answered = expected(query, GRAPH)
    assert answered is not None, "the query has no answer"
    ask: Ask = asker(graph)
    assert (found := mismatch(GRAPH, query, answered[1], mode, ask)) is None, f"{what}\n{found}"
