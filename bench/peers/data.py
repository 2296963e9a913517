"""The data of the traversal benchmark: people whose acquaintances follow a power law, the same for the same size.

Made once with numpy and kept in a folder; every engine loads it from there in the way that suits it best.
"""

from __future__ import annotations

import os
import tempfile
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

SKEW = 1.9
"""The larger, the more edges go to few people; here the busiest of 100,000 has about 3,000."""
SEEDS = 1_000
DIMENSION = 64
CITIES, COMPANIES = 100, 500
WORDS = [
    "graph", "vector", "search", "index", "merge", "branch", "commit", "table", "query", "engine", "river",
    "mountain", "forest", "ocean", "music", "paint", "kitchen", "garden", "history", "science", "letter", "bridge",
    "market", "signal", "winter", "summer", "copper", "silver", "planet", "harbor",
]  # fmt: skip


@dataclass(frozen=True)
class Size:
    """A graph by its number of people and edges, and the seconds that a question may take on it."""

    name: str
    people: int
    edges: int
    limit_s: float


SIZES = {
    size.name: size
    for size in (
        Size("quick", 5_000, 50_000, 60.0),
        Size("small", 100_000, 2_000_000, 60.0),
        Size("middle", 200_000, 2_000_000, 20.0),
        Size("large", 1_000_000, 10_000_000, 20.0),
    )
}
EDITION = "2"
"""Of the data: what an older one left is not used."""


def cache_folder() -> Path:
    """Where data and loaded stores stay between runs."""
    return Path(os.environ.get("OMNIGRAPH_BENCH_DIR", Path(tempfile.gettempdir()) / "omnigraph-bench"))


@dataclass(frozen=True)
class BenchData:
    """One graph on disk: `people.parquet` and `edges.npy`."""

    size: Size
    folder: Path

    @cached_property
    def people(self) -> pa.Table:
        return pq.read_table(self.folder / "people.parquet")

    @cached_property
    def edges(self) -> np.ndarray:
        """Pairs of row numbers of people, without loops and without parallel edges."""
        return np.load(self.folder / "edges.npy")

    @cached_property
    def names(self) -> pa.ChunkedArray:
        return self.people["name"]

    @cached_property
    def seeds(self) -> np.ndarray:
        """People to start from, drawn at random."""
        return np.random.default_rng(11).choice(self.size.people, SEEDS, replace=False)

    @cached_property
    def seed_names(self) -> list[str]:
        return [person_name(number) for number in self.seeds]

    @cached_property
    def question_vectors(self) -> np.ndarray:
        return _unit_vectors(np.random.default_rng(13), 32)

    def store(self, name: str) -> Path:
        """The folder of an engine's own copy."""
        return self.folder / name


def person_name(number: int) -> str:
    return f"p{number:08d}"


def bench_data(size: Size) -> BenchData:
    """The data of this size, made if they are not there yet."""
    folder = cache_folder() / f"{size.name}-{EDITION}"
    made = BenchData(size, folder)
    if not (folder / "edges.npy").exists():
        folder.mkdir(parents=True, exist_ok=True)
        pq.write_table(_people(size), folder / "people.parquet")
        np.save(folder / "edges.unfinished.npy", _edges(size))
        (folder / "edges.unfinished.npy").rename(folder / "edges.npy")
    return made


def _people(size: Size) -> pa.Table:
    rng, count = np.random.default_rng(5), size.people
    words = rng.integers(0, len(WORDS), (count, 6))
    columns = {
        "name": pa.array([person_name(number) for number in range(count)]),
        "age": pa.array(rng.integers(1, 100, count), pa.int32()),
        "city": pa.array([f"city{number}" for number in rng.integers(0, CITIES, count)]),
        "company": pa.array([f"company{number}" for number in rng.integers(0, COMPANIES, count)]),
        "about": pa.array([" ".join(WORDS[word] for word in row) for row in words]),
    }
    flat = pa.array(_unit_vectors(rng, count).ravel(), pa.float32())
    columns["emb"] = pa.FixedSizeListArray.from_arrays(flat, DIMENSION)
    return pa.table(columns)


def _unit_vectors(rng: np.random.Generator, count: int) -> np.ndarray:
    drawn = rng.standard_normal((count, DIMENSION), dtype=np.float32)
    return drawn / np.linalg.norm(drawn, axis=1, keepdims=True)


def _edges(size: Size) -> np.ndarray:
    """Both ends are drawn with the same skew, so that busy people know each other: walks multiply as in real graphs."""
    rng, people = np.random.default_rng(7), size.people
    order = rng.permutation(people)
    packed = np.empty(0, np.int64)
    while len(packed) < size.edges:
        wanted = int((size.edges - len(packed)) * 1.3) + 1_000
        ends = order[(people * rng.random((2, wanted)) ** SKEW).astype(np.int64)]
        fresh = (ends[0] << 32) | ends[1]
        packed = np.unique(np.concatenate([packed, fresh[ends[0] != ends[1]]]))
    packed = rng.permutation(packed)[: size.edges]
    return np.column_stack([packed >> 32, packed & 0xFFFFFFFF]).astype(np.int32)
