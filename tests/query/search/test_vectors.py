"""Vector search: exact distances, the same with an index, without one, and part by part."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from omnigraph.query.search import columns, nearest, vectors
from omnigraph.storage import open_storage
from support.graphs.rust_graphs import rust_graph
from support.graphs.searchable import VECTOR_INDEX, Documents, forget_columns

LIBRARY = [
    {"slug": "d1", "emb": [1.0, 0.0]},
    {"slug": "d2", "emb": [0.0, 1.0]},
    {"slug": "d3", "emb": [0.8, 0.6]},
    {"slug": "d4", "emb": None},
]


@pytest.fixture(autouse=True)
def new_process() -> Iterator[None]:
    forget_columns()
    yield
    forget_columns()


def vector(*numbers: float) -> np.ndarray[Any, np.dtype[np.float32]]:
    return np.array(numbers, np.float32)


@pytest.mark.parametrize("indexed", [False, True], ids=["scan", "index"])
def test_distances_are_squared_l2_and_null_vectors_are_no_results(tmp_path: Path, indexed: bool) -> None:
    documents = Documents(tmp_path / "g", LIBRARY)
    if indexed:
        documents.index(VECTOR_INDEX)
    hits = nearest(documents.table(), "emb", vector(1, 0), None, limit=9, use_index=indexed)
    assert documents.scores(hits) == pytest.approx({"d1": 0.0, "d3": 0.4, "d2": 2.0}, abs=1e-6)


def test_without_a_limit_every_row_of_the_population_is_measured(tmp_path: Path) -> None:
    documents = Documents(tmp_path / "g", LIBRARY)
    table = documents.table()
    rows = {row["slug"]: row["_rowid"] for row in table.read(["slug", "_rowid"]).to_pylist()}
    population = np.array([rows["d4"], rows["d2"], rows["d1"]], np.uint64)
    assert set(documents.scores(nearest(table, "emb", vector(1, 0), population, limit=None))) == {"d1", "d2"}
    assert set(documents.scores(nearest(table, "emb", vector(1, 0), None, limit=None))) == {"d1", "d2", "d3"}
    assert len(nearest(table, "emb", vector(1, 0), None, limit=0).row_ids) == 0
    assert len(nearest(table, "emb", vector(1, 0), np.empty(0, np.uint64), limit=3).row_ids) == 0


def test_the_top_is_that_of_the_population_not_what_it_leaves_of_the_top_of_all(tmp_path: Path) -> None:
    documents = Documents(tmp_path / "g", LIBRARY)
    documents.index(VECTOR_INDEX)
    rows = {row["slug"]: row["_rowid"] for row in documents.table().read(["slug", "_rowid"]).to_pylist()}
    population = np.array([rows["d2"]], np.uint64)
    for use_index in (True, False):
        hits = nearest(documents.table(), "emb", vector(1, 0), population, limit=1, use_index=use_index)
        assert documents.slugs(hits.row_ids) == ["d2"]


@pytest.mark.parametrize("indexed", [False, True], ids=["scan", "index"])
def test_ties_at_the_cut_are_kept(tmp_path: Path, indexed: bool) -> None:
    rows = [{"slug": f"t{i}", "emb": [1.0, float(i % 2)]} for i in range(40)]
    documents = Documents(tmp_path / "g", rows)
    if indexed:
        documents.index(VECTOR_INDEX)
    hits = nearest(documents.table(), "emb", vector(1, 0), None, limit=3, use_index=indexed)
    assert sorted(documents.slugs(hits.row_ids)) == sorted(f"t{i}" for i in range(0, 40, 2))


def a_row(draw: random.Random, slug: str) -> dict[str, Any]:
    spread = draw.choice([1.0, 1.0, 1e-3, 1e3])
    given = [draw.gauss(0, spread), draw.gauss(0, spread)]
    return {"slug": slug, "emb": None if draw.random() < 0.1 else given}


def test_every_way_to_search_gives_the_same_answer_whatever_was_written_since(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    draw = random.Random(11)
    documents = Documents(tmp_path / "g", [a_row(draw, f"s{i:03}") for i in range(120)])
    documents.index(VECTOR_INDEX)
    monkeypatch.setattr(vectors, "EXACT_ROWS", 8)
    for step in range(4):
        table = documents.table()
        stored = table.read(["emb", "_rowid"]).to_pylist()
        for _ in range(3):
            query = vector(draw.gauss(0, 1), draw.gauss(0, 1))
            expected = sorted(
                (np.float32(np.square(np.array(row["emb"], np.float64) - query).sum()), row["_rowid"])
                for row in stored
                if row["emb"] is not None
            )[:5]
            for way in ("index", "resident", "streamed"):
                forget_columns()
                with monkeypatch.context() as patch:
                    patch.setattr(vectors, "RESIDENT_BYTES_MAX", 0)
                    patch.setattr(columns, "PART_ROWS", 16)
                    if way == "streamed":
                        patch.setattr(columns, "COLUMN_BYTES_MAX", 0)
                    hits = nearest(table, "emb", query, None, limit=5, use_index=way == "index")
                found = sorted(zip(hits.scores.astype(np.float32), hits.row_ids.tolist(), strict=True))
                assert found == expected, way
        documents.drop(f"s{step:03}")
        documents.put([a_row(draw, f"s{draw.randint(0, 130):03}") for _ in range(3)])


def test_close_vectors_far_from_the_origin_are_told_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The estimate loses all its digits here; what it proposes must still hold the nearest."""
    monkeypatch.setattr(vectors, "EXACT_ROWS", 4)
    rows = [{"slug": f"s{i}", "emb": [10_000.0 + i / 100, 10_000.0]} for i in range(200)]
    documents = Documents(tmp_path / "g", rows)
    hits = nearest(documents.table(), "emb", vector(10_000.5, 10_000.0), None, limit=1)
    assert documents.slugs(hits.row_ids) == ["s50"]


def test_vectors_of_the_rust_binary_are_found_by_themselves() -> None:
    """None of its graphs at hand has a vector index; the vectors themselves are searched."""
    with rust_graph("rich") as found:
        storage = open_storage(found.uri, read_only=True)
        pin = next(pin for pin in storage.manifest.load("main").state.pins() if str(pin.table_key) == "node:Doc")
        table = storage.tables.open(pin)
        stored = [row for row in table.read(["emb", "_rowid"]).to_pylist() if row["emb"] is not None]
        assert stored
        for row in stored:
            hits = nearest(table, "emb", np.array(row["emb"], np.float32), None, limit=1)
            assert (row["_rowid"], 0.0) in zip(hits.row_ids.tolist(), hits.scores.tolist(), strict=True)


def test_after_a_compaction_deleted_neighbours_do_not_crowd_out_the_others(tmp_path: Path) -> None:
    """Canary: Lance's index still proposes them, and gives less than was asked for when they are left out."""
    documents = Documents(tmp_path / "g", [{"slug": f"s{i:02}", "emb": [float(i), 0.0]} for i in range(60)])
    documents.graph.ensure_indices()
    documents.graph.mutate('query d() { delete Doc where slug < "s30" }')
    documents.graph.optimize()
    table = documents.table()
    lance = {"column": "emb", "q": vector(0, 0), "k": 5}
    assert table.handle.scanner(columns=["id", "_distance"], nearest=lance).to_table().num_rows == 0
    forget_columns()
    for use_index in (True, False):
        hits = nearest(table, "emb", vector(0, 0), None, limit=5, use_index=use_index)
        assert sorted(documents.slugs(hits.row_ids)) == ["s30", "s31", "s32", "s33", "s34"]
