"""Weights: rows are counted exactly, or not at all. A pattern with more rows than can be counted is refused."""

from __future__ import annotations

import numpy as np
import pytest

from omnigraph.graph import Graph
from omnigraph.model.errors import ResourceLimitExceeded
from omnigraph.query.frames import WEIGHT_MAX, Frame, Weights, merged, multiplied, summed
from omnigraph.query.plan import Mode

NODES = 16
MODES: tuple[Mode, ...] = ("csr", "indexed")


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Graph:
    """Every node leads to every node, so a chain of n hops from one of them has 16^n rows."""
    graph = Graph.init(
        str(tmp_path_factory.mktemp("dense") / "g"), "node N { k: I64 @key }\nedge Link: N -> N { }\n", durability="os"
    )
    lines = [b'{"type": "N", "data": {"k": %d}}' % one for one in range(NODES)]
    for one in range(NODES):
        lines += [b'{"edge": "Link", "from": "%d", "to": "%d", "data": {}}' % (one, other) for other in range(NODES)]
    graph.load(lines, mode="append")
    return graph


def chain(hops: int, returned: str, test: str = "$v0.k = 1") -> str:
    steps = "\n".join(f"$v{hop} link $v{hop + 1}" for hop in range(hops))
    return f"query q() {{ match {{ $v0: N\n {test}\n {steps} }} return {{ {returned} }} }}"


@pytest.mark.parametrize("mode", MODES)
def test_rows_are_counted_exactly_up_to_the_limit(graph: Graph, mode: Mode) -> None:
    assert list(graph.query(chain(15, "count($v0) as n"), mode=mode)) == [{"n": NODES**15}]
    grouped = graph.query(chain(16, "$v16.k, count($v0) as n"), mode=mode)
    assert sorted(row["n"] for row in grouped) == [NODES**15] * NODES


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("hops", [16, 17, 20, 32])
@pytest.mark.parametrize("returned", ["count($v0) as n", "avg($v{hops}.k) as n", "sum(1) as n"])
def test_more_rows_than_can_be_counted_are_refused(graph: Graph, mode: Mode, hops: int, returned: str) -> None:
    with pytest.raises(ResourceLimitExceeded, match="query_rows") as refused:
        graph.query(chain(hops, returned.replace("{hops}", str(hops))), mode=mode)
    assert (refused.value.limit, refused.value.actual > WEIGHT_MAX) == (WEIGHT_MAX, True)


@pytest.mark.parametrize("mode", MODES)
def test_a_group_of_more_rows_than_can_be_counted_is_refused(graph: Graph, mode: Mode) -> None:
    with pytest.raises(ResourceLimitExceeded, match="query_rows"):
        graph.query(chain(17, "$v17.k, count($v0) as n"), mode=mode)


@pytest.mark.parametrize("mode", MODES)
def test_what_nobody_counts_has_no_limit(graph: Graph, mode: Mode) -> None:
    assert list(graph.query(chain(20, "count(distinct $v20) as n"), mode=mode)) == [{"n": NODES}]


def weights(*values: int) -> Weights:
    return np.array(values, np.int64)


def test_products_sums_and_totals_are_exact_or_refused() -> None:
    half = WEIGHT_MAX // 2
    places = np.zeros(2, np.int64)
    assert multiplied(weights(half, 3), weights(2, 5)).tolist() == [WEIGHT_MAX, 15]
    assert summed(places, weights(half, half - 1), 1).tolist() == [WEIGHT_MAX - 1]
    assert Frame(2, {}, weights(WEIGHT_MAX, WEIGHT_MAX)).total == 2 * WEIGHT_MAX
    with pytest.raises(ResourceLimitExceeded):
        multiplied(weights(2**40), weights(2**40))
    with pytest.raises(ResourceLimitExceeded):
        summed(places, weights(WEIGHT_MAX, WEIGHT_MAX), 1)
    with pytest.raises(ResourceLimitExceeded):
        merged(Frame(2, {}, weights(WEIGHT_MAX, WEIGHT_MAX)), {}, weighs=True)
