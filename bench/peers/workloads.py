"""The questions of the traversal benchmark, in words; each peer has its own way to ask them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Workload:
    """One question. All peers that answer it must give the same number, unless it ranks."""

    name: str
    title: str
    ranks: bool = False
    heavy: bool = False
    """Asked once or twice only."""


WORKLOADS = (
    Workload("point", "point lookup by key"),
    Workload("hop1_one", "1 hop from one seed, with name and age"),
    Workload("hop1_many", "1 hop from 1,000 seeds, with name and age"),
    Workload("hop2_one", "2 hops from one seed, distinct ends"),
    Workload("hop2_many", "2 hops from 1,000 seeds, distinct ends"),
    Workload("hop3_one", "3 hops from one seed, number of walks"),
    Workload("hop3_many", "3 hops from 1,000 seeds, number of walks"),
    Workload("reach", "variable 1..3 hops from one seed"),
    Workload("aggregate", "filter, join, group: average age of friends by company, top 10"),
    Workload("anti", "anti-join: people of one city who know nobody above 90"),
    Workload("triangles", "triangles, counted", heavy=True),
    Workload("text", "text top 10", ranks=True),
    Workload("vector", "vector top 10", ranks=True),
    Workload("hybrid", "hybrid top 10", ranks=True),
)
AGE_FROM, CITY, OLD = 40, "city7", 90
TEXTS = ["graph search", "river bridge", "silver harbor", "winter music", "copper signal", "vector index"]
"""Words to search for, in turn."""
