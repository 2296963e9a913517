"""Random writes, index builds and compactions: what an index finds is what a scan finds, always."""

from __future__ import annotations

import random
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from omnigraph.graph import Graph
from omnigraph.query.search import bm25, nearest, text, text_matches, vectors
from omnigraph.storage import Compare, OneOf
from omnigraph.write.upkeep import index_plan
from support.graphs.searchable import Documents, forget_columns

SCHEMA = "node Doc { slug: String @key  title: String? @index  n: I32? @index  emb: Vector(2)? @index }"
STEPS = 40
KEYS = 30


@pytest.fixture(autouse=True)
def through_the_index(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Nothing becomes resident where an index can be asked; texts get an index for equality too."""
    monkeypatch.setattr(text, "RESIDENT_ROWS_MAX", 0)
    monkeypatch.setattr(vectors, "RESIDENT_BYTES_MAX", 0)
    monkeypatch.setattr(index_plan, "LOOKUP_ROWS_MIN", 1)
    monkeypatch.setattr(index_plan, "SEGMENTS_MAX", 4)
    forget_columns()
    yield
    forget_columns()


def a_row(draw: random.Random, slug: str) -> dict[str, Any]:
    number = draw.randint(0, 9)
    return {
        "slug": slug,
        "title": f"word{number} common",
        "n": number,
        "emb": [float(number), float(draw.randint(0, 9))],
    }


def step(draw: random.Random, documents: Documents) -> str:
    kind = draw.choice(["put", "put", "put", "many", "drop", "index", "index", "optimize"])
    if kind == "put":
        documents.put([a_row(draw, f"s{draw.randint(0, KEYS)}")])
    elif kind == "many":
        documents.put([a_row(draw, f"s{number}") for number in draw.sample(range(KEYS), 8)])
    elif kind == "drop":
        documents.drop(f"s{draw.randint(0, KEYS)}")
    elif kind == "index":
        documents.graph.ensure_indices()
    else:
        documents.graph.optimize()
    return kind


def compare(documents: Documents) -> None:
    table = documents.table()
    for number in range(10):
        for predicate in (OneOf("n", (number,)), Compare("n", ">=", number), OneOf("title", (f"word{number} common",))):
            by_index, by_scan = (
                sorted(table.read(["id"], predicate, use_index=use)["id"].to_pylist()) for use in (True, False)
            )
            assert by_index == by_scan, predicate
        query = f"word{number}"
        forget_columns()
        assert sorted(text_matches(table, "title", query)) == sorted(
            text_matches(table, "title", query, use_index=False)
        )
    point = np.array([4.2, 4.2], np.float32)
    forget_columns()
    answers = []
    for use in (True, False):
        near, best = (
            nearest(table, "emb", point, None, limit=5, use_index=use),
            bm25(table, "title", "word3 common", None, limit=5, use_index=use),
        )
        answers.append([sorted(zip(hits.scores, hits.row_ids, strict=True)) for hits in (near, best)])
    assert answers[0] == answers[1]


@pytest.mark.parametrize("seed", range(3))
def test_indexes_find_what_a_scan_finds_after_any_writes_builds_and_compactions(tmp_path: Path, seed: int) -> None:
    draw = random.Random(seed)
    documents = Documents(tmp_path / "g", [a_row(draw, f"s{number}") for number in range(KEYS)], SCHEMA)
    done = []
    for number in range(STEPS):
        done.append(step(draw, documents))
        if number % 4 == 3:
            compare(documents)
    documents.graph.optimize()
    compare(documents)
    assert documents.graph.verify().ok, done


def test_a_writer_a_reader_and_keepers_do_not_get_in_each_others_way(tmp_path: Path) -> None:
    documents = Documents(tmp_path / "g", [a_row(random.Random(1), f"s{number}") for number in range(KEYS)], SCHEMA)
    uri = documents.graph.uri

    def writer() -> None:
        graph = Graph.open(uri, durability="os")
        for number in range(20):
            slug = f"new{number}"
            graph.mutate('query i($s: String) { insert Doc { slug: $s, title: "word3 common" } }', s=slug)
            graph.mutate("query u($s: String) { update Doc set { n: 7 } where slug = $s }", s=slug)

    def keeper(operation: str) -> None:
        graph = Graph.open(uri, durability="os")
        for _ in range(4):
            report: Any = getattr(graph, operation)()
            assert report.conflict is None

    def reader() -> None:
        graph = Graph.open(uri, read_only=True)
        for _ in range(15):
            [row] = graph.query('query q() { match { $d: Doc search($d.title, "common") } return { count($d) as n } }')
            assert row["n"] >= KEYS

    with ThreadPoolExecutor(5) as pool:
        works = [pool.submit(writer), pool.submit(reader)]
        works += [pool.submit(keeper, name) for name in ("ensure_indices", "optimize", "ensure_indices")]
        for work in works:
            work.result()
    assert documents.table().count() == KEYS + 20
    compare(documents)
    assert documents.graph.verify().ok
