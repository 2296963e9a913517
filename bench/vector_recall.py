"""How many of the nearest vectors an index finds, and how long it takes: exact, and approximate beyond a million rows.

The approximate kind is built for as many vectors as are given here, with the sizes that its rule chooses for them. The
vectors lie in clusters, as embeddings do. Run: python -m bench.vector_recall [--quick]
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from omnigraph.graph import Graph
from omnigraph.query.search import nearest, vectors
from omnigraph.query.search.vectors import vector_columns
from omnigraph.storage.tables import Table
from omnigraph.write.upkeep import index_plan

DIMENSIONS, LIMIT, QUERIES, CLUSTERS = 64, 10, 100, 200


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer vectors")
    parser.add_argument("--vectors", type=int)
    given = parser.parse_args()
    count = given.vectors or (20_000 if given.quick else 200_000)
    vectors.RESIDENT_BYTES_MAX = 0  # through the index, although they would fit into memory
    draw = np.random.default_rng(1)
    centres = draw.standard_normal((CLUSTERS, DIMENSIONS)).astype(np.float32) * 2
    stored = _drawn(draw, centres, count)
    asked = _drawn(draw, centres, QUERIES)
    print(f"{count:,} vectors of {DIMENSIONS} numbers, the {LIMIT} nearest of {QUERIES} others\n")
    print("| index | partitions | recall | one search, ms |")
    print("|---|---:|---:|---:|")
    for exact_max in (10**9, 0):
        index_plan.EXACT_VECTORS_MAX = exact_max
        with tempfile.TemporaryDirectory() as folder:
            measure(Path(folder) / "graph", stored, asked)


def _drawn(draw: np.random.Generator, centres: np.ndarray, count: int) -> np.ndarray:
    spread = draw.standard_normal((count, DIMENSIONS)).astype(np.float32)
    return centres[draw.integers(0, len(centres), count)] + spread


def measure(path: Path, stored: np.ndarray, asked: np.ndarray) -> None:
    graph = Graph.init(
        str(path), f"node Doc {{ slug: String @key  emb: Vector({DIMENSIONS})? @index }}", durability="os"
    )
    values = pa.FixedSizeListArray.from_arrays(pa.array(stored.reshape(-1)), DIMENSIONS)
    rows = pa.table({"slug": [f"d{number}" for number in range(len(stored))], "emb": values})
    pq.write_table(rows, path.with_suffix(".parquet"))
    graph.load(str(path.with_suffix(".parquet")), mode="append", type="Doc", engine="local")
    graph.ensure_indices()
    table = graph._storage.tables.open(graph.snapshot().tables[0])
    [index] = [index for index in table.indexes() if index.columns == ("emb",)]
    partitions = 1 if index.kind.upper() == "IVF_FLAT" else max(1, len(stored) // index_plan.PARTITION_VECTORS)
    found, times = zip(*(_asked(table, query) for query in asked), strict=True)
    recall = statistics.mean(found)
    print(f"| {index.kind} | {partitions} | {recall:.3f} | {statistics.median(times):.1f} |", flush=True)
    graph.close()


def _asked(table: Table, query: np.ndarray) -> tuple[float, float]:
    vector_columns.forget()
    begun = time.perf_counter()
    near = set(nearest(table, "emb", query, None, limit=LIMIT).row_ids.tolist())
    took = (time.perf_counter() - begun) * 1000
    exact = set(nearest(table, "emb", query, None, limit=LIMIT, use_index=False).row_ids.tolist())
    return len(near & exact) / LIMIT, took


if __name__ == "__main__":
    main()
