"""The bare kernel: numpy arrays and nothing around them; what the machine can do when nobody parses a query."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from bench.peers.data import COMPANIES, BenchData, person_name
from bench.peers.harness import Ask, main
from bench.peers.workloads import AGE_FROM, CITY, OLD


@dataclass(frozen=True)
class Adjacency:
    """Compressed sparse rows: the neighbours of node n are `targets[offsets[n]:offsets[n + 1]]`, sorted."""

    offsets: np.ndarray
    targets: np.ndarray

    @classmethod
    def of(cls, sources: np.ndarray, targets: np.ndarray, nodes: int) -> Adjacency:
        packed = np.sort((sources.astype(np.int64) << 32) | targets)
        degrees = np.bincount(packed >> 32, minlength=nodes)
        return cls(np.concatenate([[0], np.cumsum(degrees)]), (packed & 0xFFFFFFFF).astype(np.int32))

    def expand(self, frontier: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(place in the frontier, neighbour) for every edge that leaves it."""
        starts = self.offsets[frontier]
        lengths = self.offsets[frontier + 1] - starts
        before = np.cumsum(lengths) - lengths
        places = np.repeat(starts - before, lengths) + np.arange(int(lengths.sum()))
        return np.repeat(np.arange(len(frontier)), lengths), self.targets[places]


class Kernel:
    """Nothing to load; everything is built when it is opened."""

    def prepare(self, data: BenchData) -> None:
        pass

    def open(self, data: BenchData) -> Mapping[str, Ask]:
        nodes = data.size.people
        out = Adjacency.of(data.edges[:, 0], data.edges[:, 1], nodes)
        back = Adjacency.of(data.edges[:, 1], data.edges[:, 0], nodes)
        names, age = data.names.combine_chunks(), data.people["age"].combine_chunks()
        ages = age.to_numpy()
        rows = {person_name(number): number for number in range(nodes)}
        companies = data.people["company"].combine_chunks().dictionary_encode()
        in_city = np.flatnonzero(np.asarray(data.people["city"]) == CITY)
        seeds = data.seeds

        def point(n: int) -> int:
            row = rows[data.seed_names[n % len(seeds)]]
            return len(names[row].as_py()) and age[row].as_py()

        def hop1(frontier: np.ndarray) -> int:
            found = pa.array(out.expand(frontier)[1])
            return len(pa.table({"name": names.take(found), "age": age.take(found)}))

        def hop2(frontier: np.ndarray) -> int:
            for _ in range(2):
                seen = np.zeros(nodes, bool)
                seen[out.expand(frontier)[1]] = True
                frontier = np.flatnonzero(seen)
            return len(frontier)

        def hop3(frontier: np.ndarray) -> int:
            weights = np.ones(len(frontier))
            for _ in range(3):
                place, found = out.expand(frontier)
                reached = np.bincount(found, weights=weights[place], minlength=nodes)
                frontier = np.flatnonzero(reached)
                weights = reached[frontier]
            return int(weights.sum())

        def reach(n: int) -> int:
            frontier = one(n)
            seen = np.zeros(nodes, bool)
            for _ in range(3):
                fresh = np.zeros(nodes, bool)
                fresh[out.expand(frontier)[1]] = True
                frontier = np.flatnonzero(fresh & ~seen)
                seen[frontier] = True
            seen[one(n)] = False
            return int(seen.sum())

        def aggregate(_: int) -> int:
            codes = companies.indices.to_numpy()
            chosen = np.flatnonzero(ages >= AGE_FROM)
            place, found = out.expand(chosen)
            groups = codes[chosen[place]]
            total = np.bincount(groups, weights=ages[found], minlength=COMPANIES)
            means = total / np.maximum(np.bincount(groups, minlength=COMPANIES), 1)
            return round(float(np.sort(means)[-10:].sum()) * 1000)

        def anti(_: int) -> int:
            place, found = out.expand(in_city)
            knows = np.zeros(len(in_city), bool)
            knows[place[ages[found] > OLD]] = True
            return int((~knows).sum())

        def one(n: int) -> np.ndarray:
            return seeds[n % 16 : n % 16 + 1]

        return {
            "point": point,
            "hop1_one": lambda n: hop1(one(n)),
            "hop1_many": lambda _: hop1(seeds),
            "hop2_one": lambda n: hop2(one(n)),
            "hop2_many": lambda _: hop2(seeds),
            "hop3_one": lambda n: hop3(one(n)),
            "hop3_many": lambda _: hop3(seeds),
            "reach": reach,
            "aggregate": aggregate,
            "anti": anti,
            "triangles": lambda _: triangles(data.edges, out, back),
        }


def triangles(edges: np.ndarray, out: Adjacency, back: Adjacency) -> int:
    """For each edge a → b, the nodes that b leads to and that lead to a, looked up from the shorter list."""
    nodes = len(out.offsets) - 1
    packed = (np.repeat(np.arange(nodes, dtype=np.int64), np.diff(out.offsets)) << 32) | out.targets
    a, b = edges[:, 0].astype(np.int64), edges[:, 1].astype(np.int64)
    onward, home = np.diff(out.offsets)[b], np.diff(back.offsets)[a]
    total = 0
    for chosen, short in ((onward <= home, out), (onward > home, back)):
        first, second = a[chosen], b[chosen]
        for start in range(0, len(first), 100_000):
            x, y = first[start : start + 100_000], second[start : start + 100_000]
            place, third = short.expand(y if short is out else x)
            closing = (third.astype(np.int64) << 32) | x[place] if short is out else (y[place] << 32) | third
            spot = np.minimum(np.searchsorted(packed, closing), len(packed) - 1)
            total += int((packed[spot] == closing).sum())
    return total


if __name__ == "__main__":
    main(Kernel())
