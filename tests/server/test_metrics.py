"""The metrics page: counts, and how long requests took, as Prometheus reads them."""

from __future__ import annotations

import pytest

from omnigraph.server.observe.metrics import BUCKETS, Metrics


@pytest.mark.parametrize(
    ("seconds", "within"),
    [
        (0.0, len(BUCKETS)),
        (BUCKETS[0], len(BUCKETS)),  # a bound is part of its bucket
        (0.02, len(BUCKETS) - BUCKETS.index(0.025)),
        (BUCKETS[-1], 1),
        (31.0, 0),
    ],
)
def test_a_request_counts_in_every_bucket_whose_bound_it_kept(seconds: float, within: int) -> None:
    metrics = Metrics()
    metrics.request("op", 200, seconds)
    lines = [line for line in metrics.text({}).splitlines() if line.startswith("omnigraph_request_seconds_bucket")]
    counts = [int(line.rpartition(" ")[2]) for line in lines]
    assert counts == [0] * (len(BUCKETS) - within) + [1] * within + [1]  # the last one is +Inf


def test_buckets_add_up_over_requests() -> None:
    metrics = Metrics()
    for seconds in (0.0005, 0.003, 0.003, 100.0):
        metrics.request("op", 200, seconds)
    text = metrics.text({})
    assert 'omnigraph_request_seconds_bucket{operation="op",le="0.001"} 1' in text
    assert 'omnigraph_request_seconds_bucket{operation="op",le="0.005"} 3' in text
    assert 'omnigraph_request_seconds_bucket{operation="op",le="30"} 3' in text
    assert 'omnigraph_request_seconds_bucket{operation="op",le="+Inf"} 4' in text
