"""Text search: the same rows and the same order with an index, without one, and part by part."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from lance.query import MatchQuery

from omnigraph.model.identifiers import new_ulid
from omnigraph.query.search import Hits, bm25, columns, fuzzy_matches, text, text_matches
from omnigraph.query.search.fuzzy import distances
from omnigraph.storage import open_storage
from omnigraph.storage.bulk.area import staging_area
from omnigraph.storage.indexes.builds import BuildTask, IndexBuild, build_segment, built_segments, stage_segments
from omnigraph.storage.indexes.text_search import IndexedDocuments, text_index
from omnigraph.storage.tables import Table, fragment_states
from support.graphs.rust_graphs import rust_graph
from support.graphs.searchable import TEXT_INDEX, Documents, forget_columns
from support.servers.s3_server import S3Server

LIBRARY = [
    {"slug": "d1", "title": "Graph Databases"},
    {"slug": "d2", "title": "Vector Search"},
    {"slug": "d3", "title": "Graph Search Patterns"},
    {"slug": "d4", "title": "Notes"},
    {"slug": "d5", "title": None},
    {"slug": "d6", "title": "the"},
]
WORDS = ["graph", "vector", "search", "walks", "index", "running", "runner", "node", "notes", "the", "naïve", "İx"]


@pytest.fixture(autouse=True)
def new_process() -> Iterator[None]:
    forget_columns()
    yield
    forget_columns()


def ranked(documents: Documents, hits: Hits) -> list[tuple[float, str]]:
    return sorted((-score, slug) for slug, score in documents.scores(hits).items())


# --- matching ---------------------------------------------------------------------------------------------

MATCHES = [
    ("any-token", "graph search", ["d1", "d2", "d3"]),
    ("case-and-stem", "GRAPHS", ["d1", "d3"]),
    ("stop-word-alone", "the", []),
    ("empty", "", []),
    ("null", None, []),
    ("no-such-word", "zebra", []),
    ("stop-words-beside", "the notes", ["d4"]),
]


@pytest.mark.parametrize("indexed", [False, True], ids=["scan", "index"])
@pytest.mark.parametrize(("query", "slugs"), [row[1:] for row in MATCHES], ids=[row[0] for row in MATCHES])
def test_search_finds_rows_with_any_token(tmp_path: Path, query: str | None, slugs: list[str], indexed: bool) -> None:
    documents = Documents(tmp_path / "g", LIBRARY)
    if indexed:
        documents.index(TEXT_INDEX)
    found = text_matches(documents.table(), "title", query, use_index=indexed)
    assert sorted(documents.slugs(found)) == slugs


FUZZY = [
    ("one-edit", "serch", 1, ["d2", "d3"]),
    ("query-is-folded-and-lowered", "Sérch", 1, ["d2", "d3"]),
    ("against-the-unstemmed-word", "databasez", 1, ["d1"]),
    ("against-the-stem", "databas", 0, ["d1"]),
    ("a-swap-is-two-edits", "grpah", 1, []),
    ("two-edits", "grpah", 2, ["d1", "d3"]),
    ("stop-words-do-not-count", "thee", 1, []),
    ("stop-words-of-the-query-neither", "the", 2, []),
    ("no-edits-is-the-word-itself", "graph", 0, ["d1", "d3"]),
    ("null", None, 2, []),
]


@pytest.mark.parametrize(("query", "edits", "slugs"), [row[1:] for row in FUZZY], ids=[row[0] for row in FUZZY])
def test_fuzzy_finds_words_within_the_edits(tmp_path: Path, query: str | None, edits: int, slugs: list[str]) -> None:
    documents = Documents(tmp_path / "g", LIBRARY)
    documents.index(TEXT_INDEX)
    documents.put([{"slug": "e1", "title": "unindexed serches"}])
    extra = ["e1"] if query and query.lower().startswith("s") else []
    for use_index in (True, False):
        found = fuzzy_matches(documents.table(), "title", query, edits, use_index=use_index)
        assert sorted(documents.slugs(found)) == slugs + extra


def test_edit_distances_are_those_of_levenshtein() -> None:
    def plain(a: str, b: str) -> int:
        before = list(range(len(b) + 1))
        for i, left in enumerate(a, 1):
            now = [i]
            for j, right in enumerate(b, 1):
                now.append(min(before[j] + 1, now[-1] + 1, before[j - 1] + (left != right)))
            before = now
        return before[-1]

    draw = random.Random(7)
    for _ in range(200):
        length = draw.randint(1, 7)
        others = ["".join(draw.choices("abé", k=length)) for _ in range(5)]
        word = "".join(draw.choices("abé", k=draw.randint(0, 7)))
        letters = np.frombuffer("".join(others).encode("utf-32-le"), np.uint32).reshape(5, length)
        assert distances(word, letters).tolist() == [plain(word, other) for other in others]


# --- ranking ----------------------------------------------------------------------------------------------

SCORES = [
    ("graph", {"d1": 0.6931, "d3": 0.5754}),
    ("search", {"d2": 0.6931, "d3": 0.5754}),
    ("graph search", {"d3": 1.1509, "d1": 0.6931, "d2": 0.6931}),
    ("graph graphs", {"d1": 1.3863, "d3": 1.1509}),
]


@pytest.mark.parametrize(("query", "scores"), SCORES, ids=[row[0].replace(" ", "-") for row in SCORES])
def test_scores_are_those_of_the_reference(tmp_path: Path, query: str, scores: dict[str, float]) -> None:
    documents = Documents(tmp_path / "g", LIBRARY)
    found = documents.scores(bm25(documents.table(), "title", query, None))
    assert found == pytest.approx(scores, abs=5e-5)


def test_ranking_is_within_the_population_and_the_statistics_are_those_of_the_table(tmp_path: Path) -> None:
    documents = Documents(tmp_path / "g", LIBRARY)
    table = documents.table()
    whole = documents.scores(bm25(table, "title", "graph search", None))
    rows = {row["slug"]: row["_rowid"] for row in table.read(["slug", "_rowid"]).to_pylist()}
    population = np.array([rows["d5"], rows["d3"], rows["d1"]], np.uint64)
    part = documents.scores(bm25(table, "title", "graph search", population))
    assert part == {slug: whole[slug] for slug in ("d1", "d3")}
    assert len(bm25(table, "title", "graph", np.empty(0, np.uint64)).row_ids) == 0


def test_ties_at_the_cut_are_kept(tmp_path: Path) -> None:
    documents = Documents(tmp_path / "g", LIBRARY)
    documents.index(TEXT_INDEX)
    for use_index in (True, False):
        hits = bm25(documents.table(), "title", "graph search", None, limit=2, use_index=use_index)
        assert sorted(documents.slugs(hits.row_ids)) == ["d1", "d2", "d3"]


def test_a_limit_of_zero_ranks_nothing(tmp_path: Path) -> None:
    documents = Documents(tmp_path / "g", LIBRARY)
    assert len(bm25(documents.table(), "title", "graph", None, limit=0).row_ids) == 0


def a_text(draw: random.Random) -> str | None:
    return None if draw.random() < 0.1 else " ".join(draw.choices(WORDS, k=draw.randint(0, 8)))


def ways(monkeypatch: pytest.MonkeyPatch, documents: Documents, ask: Any) -> list[Any]:
    """One question asked of the index, of the resident column, and of a column that is made part by part."""
    forget_columns()
    monkeypatch.setattr(text, "RESIDENT_ROWS_MAX", 0)
    answers = [ask(documents.table(), True), ask(documents.table(), False)]
    forget_columns()
    monkeypatch.setattr(columns, "COLUMN_BYTES_MAX", 0)
    monkeypatch.setattr(columns, "PART_ROWS", 7)
    answers.append(ask(documents.table(), False))
    monkeypatch.undo()
    return answers


def test_every_way_to_search_gives_the_same_answer_whatever_was_written_since(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    draw = random.Random(3)
    documents = Documents(tmp_path / "g", [{"slug": f"s{i:03}", "title": a_text(draw)} for i in range(60)])
    documents.index(TEXT_INDEX)
    for step in range(6):
        for query in ("graph", "running vector search", "naive notes index", "the"):
            found = ways(monkeypatch, documents, lambda t, i, q=query: sorted(text_matches(t, "title", q, use_index=i)))
            assert found[0] == found[1] == found[2]
            for limit in (None, 3):
                hits = ways(
                    monkeypatch,
                    documents,
                    lambda t, i, q=query, n=limit: bm25(t, "title", q, None, limit=n, use_index=i),
                )
                orders = [ranked(documents, each) for each in hits]
                assert orders[0] == orders[1] == orders[2], "the scores are equal to the last bit"
        if step % 2:
            documents.put([{"slug": f"s{draw.randint(0, 70):03}", "title": a_text(draw)} for _ in range(3)])
        else:
            documents.drop(f"s{draw.randint(0, 59):03}")
        if step == 2:
            documents.graph.ensure_indices()


def test_a_resident_column_follows_writes_by_the_fragments_that_they_added(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[int] = []
    make = text.text_columns._make

    def counting(batches: Any, column: str) -> Any:
        made.append(sum(batch.num_rows for batch in batches))
        return make(batches, column)

    monkeypatch.setattr(text.text_columns, "_make", counting)
    documents = Documents(tmp_path / "g", [{"slug": f"s{i}", "title": "graph walks"} for i in range(50)])
    old = documents.table()
    assert len(text_matches(old, "title", "graph", use_index=False)) == 50
    documents.put([{"slug": "new", "title": "graph"}])
    documents.put([{"slug": "s7", "title": "edges"}])
    documents.drop("s9")
    assert len(text_matches(documents.table(), "title", "graph", use_index=False)) == 49
    assert len(text_matches(old, "title", "graph", use_index=False)) == 50, "the older version is still what it was"
    assert made == [50, 2]
    forked = documents.graph.create_branch("fork")
    forked.mutate('query i() { insert Doc { slug: "on-fork", title: "graph" } }')
    [pin] = forked.snapshot().tables
    for _ in range(2):
        table = forked._storage.tables.open(pin)
        assert len(text_matches(table, "title", "graph", use_index=False)) == 50
    assert made == [50, 2, 1], "a fork starts with what its parent has"
    for number in range(30):
        documents.put([{"slug": f"n{number}", "title": "graph"}])
        assert len(text_matches(documents.table(), "title", "graph", use_index=False)) == 50 + number
    assert max(made[3:]) < 50
    assert len(made) < 40


def test_a_column_of_too_much_text_is_asked_through_its_index_every_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    documents = Documents(tmp_path / "g", LIBRARY)
    documents.index(TEXT_INDEX)
    expected = documents.scores(bm25(documents.table(), "title", "graph", None, limit=2, use_index=False))
    forget_columns()
    monkeypatch.setattr(text, "RESIDENT_BYTES_MAX", 10)
    monkeypatch.setattr(text, "_widths", {})
    for _ in range(3):
        assert documents.scores(bm25(documents.table(), "title", "graph", None, limit=2)) == expected
        assert not text.text_columns.is_held(documents.table(), "title")


# --- indexes ----------------------------------------------------------------------------------------------


def test_an_index_that_covers_everything_ranks_by_our_formula(tmp_path: Path) -> None:
    """Canary: the index's scores equal ours up to single precision, over several segments as well."""
    draw = random.Random(5)
    documents = Documents(tmp_path / "g", [{"slug": f"s{i}", "title": a_text(draw)} for i in range(200)])
    documents.index(TEXT_INDEX)
    table = documents.table()
    index = text_index(table, "title")
    assert index is not None
    row_ids, scores, all_of_them = index.ranked("graph running notes", 200, None)
    assert all_of_them
    ours = bm25(table, "title", "graph running notes", None, use_index=False)
    assert dict(zip(row_ids.tolist(), scores.tolist(), strict=True)) == pytest.approx(
        dict(zip(ours.row_ids.tolist(), ours.scores.tolist(), strict=True)), rel=1e-6
    )


def test_an_index_still_counts_rows_that_are_deleted_or_rewritten_and_we_know_how_many(tmp_path: Path) -> None:
    """Canary: the lengths of an index's documents lie beside it, by row."""
    documents = Documents(tmp_path / "g", LIBRARY)
    documents.graph.ensure_indices()

    def counted() -> IndexedDocuments | None:
        index = text_index(documents.table(), "title")
        return None if index is None else index.counted

    assert counted() == IndexedDocuments(4, 8, 4, 8)
    documents.drop("d3")
    assert counted() == IndexedDocuments(4, 8, 3, 5)
    documents.put([{"slug": "d2", "title": "one two"}])
    assert counted() == IndexedDocuments(4, 8, 2, 3)
    documents.graph.ensure_indices()
    assert counted() == IndexedDocuments(3, 5, 3, 5), "rewritten rows make it be built anew"


def test_a_second_segment_would_show_the_old_text_of_a_rewritten_row(tmp_path: Path) -> None:
    """Canary: why a text index with rewritten rows is built anew, and one that shows them counts as absent."""
    documents = Documents(tmp_path / "g", [{"slug": f"s{i}", "title": f"old{i}"} for i in range(9)])
    documents.index(TEXT_INDEX)
    documents.put([{"slug": "s5", "title": "fresh"}])
    table = documents.table()
    assert lance_finds(table, "old5") == []
    [newest] = [state.number for state in fragment_states(table)][-1:]
    build = IndexBuild(TEXT_INDEX, (newest,), False)
    with staging_area(documents.graph._storage, new_ulid()) as area:
        segment = build_segment(BuildTask(area.files, table.pin, build))
        documents.publish(stage_segments(area, table, built_segments(table, [build], [segment])))
        area.remove()
    assert lance_finds(documents.table(), "old5") == ["s5"], "Lance finds it by its old text"
    assert text_index(documents.table(), "title") is None
    assert len(text_matches(documents.table(), "title", "old5")) == 0
    assert {one.column for one in documents.graph.indexes() if one.state == "broken"} == {"title"}
    documents.graph.ensure_indices()
    assert text_index(documents.table(), "title") is not None
    assert lance_finds(documents.table(), "old5") == []


def lance_finds(table: Table, word: str, column: str = "slug") -> list[Any]:
    scanner = table.handle.scanner(columns=[column, "_score"], full_text_query=MatchQuery(word, "title"))
    return list(scanner.to_table()[column].to_pylist())


def test_after_a_compaction_a_deleted_row_is_not_found_although_lance_finds_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Canary: Lance forgets that a row is deleted when its fragment is compacted, and its indexes keep the entry."""
    documents = Documents(tmp_path / "g", [{"slug": f"s{i}", "title": f"word{i}"} for i in range(9)])
    documents.graph.ensure_indices()
    documents.drop("s5")
    documents.graph.optimize(tables=["node:Doc"])
    table = documents.table()
    assert (len(lance_finds(table, "word5", "_rowid")), lance_finds(table, "word5")) == (1, [])
    index = text_index(table, "title")
    assert index is not None
    assert (len(index.ghosts), index.counted) == (1, IndexedDocuments(9, 9, 8, 8))
    assert len(text_matches(table, "title", "word5")) == 0
    hits = ways(monkeypatch, documents, lambda t, i: bm25(t, "title", "word5 word6", None, limit=2, use_index=i))
    assert [ranked(documents, each) for each in hits] == [[(pytest.approx(-hits[0].scores[0]), "s6")]] * 3


def test_an_index_ranks_as_it_counts(tmp_path: Path) -> None:
    """Canary: the index's own scores follow the formula with its own counts, stale rows and all."""
    draw = random.Random(9)
    documents = Documents(tmp_path / "g", [{"slug": f"s{i}", "title": a_text(draw)} for i in range(100)])
    documents.index(TEXT_INDEX)

    def scores() -> dict[int, float]:
        index = text_index(documents.table(), "title")
        assert index is not None
        row_ids, found, _ = index.ranked("graph notes", 99, None)
        return dict(zip(row_ids.tolist(), found.tolist(), strict=True))

    whole = scores()
    for number in range(40):
        documents.drop(f"s{number}")
    documents.put([{"slug": f"n{i}", "title": a_text(draw)} for i in range(20)])
    left = scores()
    assert left
    assert left == {row_id: whole[row_id] for row_id in left}, "what is gone is masked, and counted as before"


def test_an_index_with_another_analyser_counts_as_absent(tmp_path: Path) -> None:
    documents = Documents(tmp_path / "g", LIBRARY)
    documents.index(type(TEXT_INDEX)("title", "INVERTED", "title_idx", (("stem", False),)))
    assert text_index(documents.table(), "title") is None
    assert sorted(documents.slugs(text_matches(documents.table(), "title", "GRAPHS"))) == ["d1", "d3"]


@pytest.mark.parametrize(("graph", "branch"), [("rich", "main"), ("branches", "main"), ("fork-of-fork", "b")])
def test_text_indexes_of_the_rust_binary_give_the_answers_of_a_scan(graph: str, branch: str) -> None:
    with rust_graph(graph) as found:
        storage = open_storage(found.uri, read_only=True)
        searched = 0
        for pin in storage.manifest.load(branch).state.pins():
            table = storage.tables.open(pin)
            for index in table.indexes():
                if index.kind.upper() not in ("INVERTED", "FTS"):
                    continue
                [column] = index.columns
                words = {word for value in table.read([column])[column].to_pylist() for word in (value or "").split()}
                for word in sorted(words)[:20]:
                    forget_columns()
                    by_index = sorted(text_matches(table, column, word).tolist())
                    assert by_index == sorted(text_matches(table, column, word, use_index=False).tolist())
                    forget_columns()
                    hits = bm25(table, column, word, None, limit=5)
                    again = bm25(table, column, word, None, limit=5, use_index=False)
                    assert sorted(zip(hits.row_ids, hits.scores, strict=True)) == sorted(
                        zip(again.row_ids, again.scores, strict=True)
                    )
                    searched += bool(by_index)
        assert searched


@pytest.mark.s3
def test_an_index_on_s3_ranks_as_one_on_a_disk_does(
    s3: S3Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    documents = Documents(s3.uri(f"{tmp_path.name}/g"), LIBRARY)
    documents.graph.ensure_indices()
    documents.put([{"slug": "d7", "title": "Graph Walks"}])
    documents.graph.ensure_indices()
    index = text_index(documents.table(), "title")
    assert index is not None
    assert len(index.index.segments) == 2
    assert index.counted == IndexedDocuments(5, 10, 5, 10)
    hits = ways(monkeypatch, documents, lambda t, i: bm25(t, "title", "graph search", None, limit=2, use_index=i))
    orders = [ranked(documents, each) for each in hits]
    assert orders[0] == orders[1] == orders[2]
