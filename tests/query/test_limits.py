"""A query that would cost more than it may ends with a typed error, and the next one is answered."""

from __future__ import annotations

import pickle
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from omnigraph.graph import Graph
from omnigraph.model.errors import ResourceLimitExceeded
from omnigraph.query import Cancellation, QueryCancelled, QueryLimits, QueryTimeout
from omnigraph.query.limits import Guard
from omnigraph.storage import open_storage
from omnigraph.storage.manifest import CommitIdentity, PublishPlan, head_of, publish
from omnigraph.storage.tables import stage_append

SCHEMA = "node Person { name: String @key }\nedge Knows: Person -> Person\n"
PEOPLE, EDGES = 2_000, 60_000
COUNT = "query q() { match { $p: Person } return { count($p) as n } }"
TRIANGLES = (
    "query q() { match { $a: Person $a knows $b $b knows $c $c knows $a } return { $a.name, $b.name, $c.name } }"
)
WALKS = "query q() { match { $a: Person $a knows $b $b knows $c $c knows $d } return { $a.name, $d.name } }"
WALKS_IN_ORDER = f"{WALKS[:-2]} order {{ $d.name }} }}"
GROUPED = """query q() { match { $a: Person $a knows $b $b knows $c $c knows $d }
    return { $a.name, $c.name, $d.name, count($b) as n } }"""
FROM_SEEDS = """query q($seeds: [String]) { match { $a: Person $a.name in $seeds $a knows $b $b knows $c $c knows $d }
    return { $a.name, $b.name, $c.name, $d.name } }"""
CROSS = "query q() { match { $a: Person $b: Person $c: Person } return { $a.name, $b.name, $c.name } }"
GROWTH_FACTOR = 3
"""A limit counts what is held; beside it there is the piece that an operator works on, and what the allocator keeps."""
SMALL = QueryLimits(memory_bytes=16 << 20)


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Graph:
    """Dense enough that three hops make 54 million walks."""
    uri = str(tmp_path_factory.mktemp("limits") / "g.omni")
    Graph.init(uri, SCHEMA, durability="os")
    dice = np.random.default_rng(1)
    names = np.array([f"p{number}" for number in range(PEOPLE)])
    ends = dice.integers(0, PEOPLE, (2, EDGES))
    rows = {
        "Person": {"id": names, "name": names},
        "Knows": {"id": [f"k{n}" for n in range(EDGES)], "src": names[ends[0]], "dst": names[ends[1]]},
    }
    storage = open_storage(uri, durability="os")
    with storage.leases.hold("main") as lease:
        loaded = storage.manifest.load()
        changes = []
        for pin in loaded.state.pins():
            table = storage.tables.open(pin)
            given = pa.table({name: pa.array(column) for name, column in rows[pin.table_key.type_name].items()})
            ordered = given.select(table.schema.names).cast(table.schema)
            changes.append(storage.table_commits.commit(stage_append(table, ordered)))
        plan = PublishPlan(changes=tuple(changes), requirements=(head_of(loaded),), identity=CommitIdentity())
        publish(storage.manifest, plan, fence=lease.check)
    return Graph.open(uri, read_only=True)


@pytest.mark.parametrize("text", [TRIANGLES, WALKS, WALKS_IN_ORDER, GROUPED, CROSS])
def test_a_query_that_needs_more_memory_names_the_limit_and_the_next_is_answered(graph: Graph, text: str) -> None:
    tight = QueryLimits(memory_bytes=2 << 20) if text == TRIANGLES else SMALL
    with pytest.raises(ResourceLimitExceeded) as caught:
        graph.query(text, limits=tight)
    assert caught.value.resource == "query_memory_bytes"
    assert caught.value.limit == tight.memory_bytes
    assert caught.value.actual > tight.memory_bytes
    assert graph.query(COUNT)[0] == {"n": PEOPLE}


def test_rows_of_three_hops_from_many_seeds_are_refused_and_fewer_are_answered(graph: Graph) -> None:
    seeds = [f"p{number}" for number in range(1_000)]  # 27 million walks
    with pytest.raises(ResourceLimitExceeded) as caught:
        graph.query(FROM_SEEDS, seeds=seeds, limits=QueryLimits(memory_bytes=256 << 20))
    assert caught.value.resource == "query_memory_bytes"
    few = graph.query(FROM_SEEDS, seeds=seeds[:3], limits=QueryLimits(memory_bytes=256 << 20))
    assert few.row_count > 10_000


GROWTH = """
import resource, sys
from omnigraph.graph import Graph
from omnigraph.model.errors import ResourceLimitExceeded
from omnigraph.query import QueryLimits

uri, limit, hops, triangles, count = sys.argv[1], int(sys.argv[2]), *sys.argv[3:]
graph = Graph.open(uri, read_only=True)
for text in (count, count, "query q() { match { $a: Person $a knows $b $c knows $b } return { count($a) as n } }"):
    graph.query(text)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
for text in (hops, triangles):
    try:
        graph.query(text, limits=QueryLimits(memory_bytes=limit))
        sys.exit("it was answered")
    except ResourceLimitExceeded:
        pass
    assert graph.query(count).row_count == 1
unit = 1 if sys.platform == "darwin" else 1024
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * unit)
"""


def test_a_refused_query_takes_little_more_than_its_limit(graph: Graph) -> None:
    limit = 64 << 20
    triangles = TRIANGLES.replace("return {", "return { $a.* as a, $b.* as b, $c.* as c,")
    arguments = [graph.uri, str(limit), WALKS, triangles.replace("$c knows $a", "$c knows $a $d: Person"), COUNT]
    run = subprocess.run([sys.executable, "-c", GROWTH, *arguments], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    assert int(run.stdout) < GROWTH_FACTOR * limit


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("query q() { match { $a: Person $a knows $b $b knows $c $c knows $d } return { count($d) as n } }", 1),
        (
            "query q() { match { $a: Person $a knows $b $b knows $c $c knows $d } return { count(distinct $d) as n } }",
            1,
        ),
        (f"{WALKS[:-2]} limit 5 }}", 5),
    ],
)
def test_counting_and_a_limit_do_not_make_the_walks(graph: Graph, text: str, rows: int) -> None:
    assert len(graph.query(text, limits=SMALL)) == rows


def test_the_number_of_walks_is_exact_though_none_is_made(graph: Graph) -> None:
    text = "query q() { match { $a: Person $a knows $b $b knows $c } return { count($c) as n } }"
    rows = "query q() { match { $a: Person $a knows $b $b knows $c } return { $a.name, $b.name, $c.name } }"
    assert graph.query(text)[0]["n"] == len(graph.query(rows))


def test_a_timeout_ends_a_query(graph: Graph) -> None:
    with pytest.raises(QueryTimeout) as caught:
        graph.query(WALKS, timeout=0.0)
    assert caught.value.code == "query_timeout"


def test_another_thread_can_cancel_a_query(graph: Graph) -> None:
    switch = Cancellation()
    caught: list[BaseException] = []
    started = threading.Event()

    def ask() -> None:
        started.set()
        try:
            for _ in range(1000):
                graph.query(WALKS, limits=QueryLimits(memory_bytes=4 << 30), cancellation=switch)
        except QueryCancelled as error:
            caught.append(error)

    thread = threading.Thread(target=ask)
    thread.start()
    started.wait()
    switch.cancel()
    thread.join()
    assert len(caught) == 1


def test_an_unbounded_walk_is_refused_beyond_the_cap_of_hops(tmp_path: Path) -> None:
    graph = Graph.init(str(tmp_path / "chain.omni"), SCHEMA, durability="os")
    people = [f'{{"type":"Person","data":{{"name":"p{n}"}}}}\n'.encode() for n in range(30)]
    chain = [f'{{"edge":"Knows","from":"p{n}","to":"p{n + 1}"}}\n'.encode() for n in range(29)]
    graph.load([*people, *chain], mode="append")
    text = 'query q() { match { $p: Person { name: "p0" } $p knows{1,} $f } return { count($f) as n } }'
    assert graph.query(text)[0] == {"n": 29}
    modes: tuple[Any, ...] = ("csr", "indexed")
    for mode in modes:
        with pytest.raises(ResourceLimitExceeded) as caught:
            graph.query(text, mode=mode, limits=QueryLimits(hops=10))
        assert (caught.value.resource, caught.value.limit) == ("traversal_hops", 10)


def test_limits_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMNIGRAPH_QUERY_MEMORY_BYTES", "5")
    monkeypatch.setenv("OMNIGRAPH_QUERY_HOPS", "6")
    monkeypatch.setenv("OMNIGRAPH_QUERY_TIMEOUT_SECONDS", "0.5")
    assert QueryLimits.from_environment() == QueryLimits(5, 6, 0.5)


def test_limit_errors_survive_pickling() -> None:
    for error in (QueryTimeout(2.0), QueryCancelled("the query was cancelled")):
        again = pickle.loads(pickle.dumps(error))
        assert (type(again), str(again), again.code) == (type(error), str(error), error.code)


def test_what_is_released_can_be_held_again() -> None:
    guard = Guard(QueryLimits(memory_bytes=100))
    guard.hold(80)
    guard.release(80)
    guard.hold(90)
    assert guard.peak == 90
