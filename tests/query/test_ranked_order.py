"""Orders by a rank: the best first, or the worst of all matches; and what a score is, whichever rows are shown."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from omnigraph.query.answer import output
from support.graphs.searchable import TEXT_INDEX, VECTOR_INDEX, Documents

COUNT = 12
BM25 = 'bm25($d.title, "graph")'
NEAREST = "nearest($d.emb, [1.0, 0.0])"
RRF = f"rrf({NEAREST}, {BM25})"
TWO_TEXTS = 'rrf(bm25($d.title, "graph"), bm25($d.title, "search"))'


@pytest.fixture(scope="module", params=["scanned", "indexed"])
def documents(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Documents:
    """Titles that match ever worse, vectors that lie ever nearer, and documents with neither."""
    rows: list[dict[str, Any]] = [
        {"slug": f"d{number:02}", "title": "graph " + "search word " * number, "emb": [1.0, COUNT - number]}
        for number in range(COUNT)
    ]
    rows += [{"slug": "plain", "title": "nothing of it"}, {"slug": "empty"}]
    made = Documents(tmp_path_factory.mktemp("ranked") / "g", rows)
    if request.param == "indexed":
        made.index(TEXT_INDEX, VECTOR_INDEX)
    return made


def ranked(documents: Documents, rank: str, direction: str, limit: int, offset: int = 0, where: str = "") -> list[Any]:
    text = f"match {{ $d: Doc\n {where} }} return {{ $d.slug as slug, {rank} as s }} order {{ s {direction} }}"
    rows = documents.graph.query(f"query q() {{ {text} limit {limit} offset {offset} }}")
    return [(row["slug"], row["s"]) for row in rows]


@settings(max_examples=30)
@given(
    rank=st.sampled_from([BM25, TWO_TEXTS]),
    direction=st.sampled_from(["", "asc", "desc"]),
    limit=st.integers(0, COUNT + 2),
    offset=st.integers(0, 3),
    where=st.sampled_from(["", '$d.slug > "d03"']),
)
def test_a_limit_cuts_the_whole_order(
    documents: Documents, rank: str, direction: str, limit: int, offset: int, where: str
) -> None:
    whole = ranked(documents, rank, direction, 100, where=where)
    assert ranked(documents, rank, direction, limit, offset, where) == whole[offset : offset + limit]


@pytest.mark.parametrize("rank", [BM25, TWO_TEXTS])
def test_ascending_scores_begin_with_the_worst_of_all_matches(documents: Documents, rank: str) -> None:
    best_first = ranked(documents, rank, "desc", 100)
    assert len(best_first) == COUNT
    worst = sorted(best_first, key=lambda pair: (pair[1], pair[0]))
    assert ranked(documents, rank, "asc", 3) == worst[:3]
    assert ranked(documents, rank, "", 3) == best_first[:3]


def test_a_fused_score_is_the_same_in_both_directions(documents: Documents) -> None:
    """Of the nearest only the best `limit` belong to the fusion, however it is ordered."""
    limit = 3
    up, down = (ranked(documents, RRF, direction, limit) for direction in ("asc", "desc"))
    texts = [slug for slug, _ in ranked(documents, BM25, "desc", 100)]
    near = [f"d{number:02}" for number in range(COUNT - 1, COUNT - 1 - limit, -1)]
    expected = {slug: 1 / (61 + place) for place, slug in enumerate(texts)}
    for place, slug in enumerate(near):
        expected[slug] = expected.get(slug, 0.0) + 1 / (61 + place)
    assert up == sorted(expected.items(), key=lambda pair: (pair[1], pair[0]))[:limit]
    assert down == sorted(expected.items(), key=lambda pair: (-pair[1], pair[0]))[:limit]


def test_the_arms_of_a_fusion_can_be_returned_beside_it(documents: Documents) -> None:
    """A row that is in the answer because of its text has a distance too."""
    returned = f"$d.slug as slug, {NEAREST} as far, {BM25} as text"
    rows = documents.graph.query(
        f"query q() {{ match {{ $d: Doc }} return {{ {returned} }} order {{ rrf({NEAREST}, {BM25}, 1) }} limit 2 }}"
    )
    assert {row["slug"] for row in rows} == {"d00", "d11"}
    assert all(row["far"] is not None and row["text"] is not None for row in rows)


@pytest.mark.parametrize("rank", [BM25, NEAREST, RRF])
def test_a_score_that_orders_nothing_is_known_for_every_row_of_a_long_answer(
    documents: Documents, monkeypatch: pytest.MonkeyPatch, rank: str
) -> None:
    text = f"query q() {{ match {{ $d: Doc }} return {{ $d.slug as slug, {rank} as s }} }}"
    at_once = sorted((row["slug"], row["s"]) for row in documents.graph.query(text))
    assert sum(score is not None for _, score in at_once) == COUNT
    monkeypatch.setattr(output, "MORSEL_ROWS", 4)
    assert sorted((row["slug"], row["s"]) for row in documents.graph.query(text)) == at_once
