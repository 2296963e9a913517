"""The best rows of a text query: the same as if every row had been scored, and most rows are not."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pytest

from omnigraph.query.search import bm25_top_k as module
from omnigraph.query.search.bm25_score import Statistics, having, matched_rows, scored, size_of, terms_of
from omnigraph.query.search.bm25_top_k import best_texts
from omnigraph.query.search.columns import Piece
from omnigraph.query.search.hits import Hits, best
from omnigraph.query.search.text_parts import TextPart, make_text_part

VOCABULARY = [f"word{number}" for number in range(60)]
QUERIES = ["word0", "word1 word2", "word0 word30 word59", "word3 word3 word8 word12", "word40 nowhere", "nowhere"]


def piece_of(rng: np.random.Generator, first: int, rows: int, *, live: bool) -> Piece[TextPart]:
    """Texts of different lengths whose words follow a power law; maybe some rows are gone, and ids do not ascend."""
    draws = [rng.random(length) for length in rng.integers(0, 12, rows).tolist()]
    texts = [" ".join(VOCABULARY[int(60 * each**3)] for each in drawn) for drawn in draws]
    ids = np.arange(first, first + rows, dtype=np.uint64)
    batch = pa.record_batch({"t": pa.array(texts), "_rowid": rng.permutation(ids)})
    return Piece(make_text_part([batch], "t"), rng.random(rows) < 0.7 if live else None)


@pytest.fixture(scope="module", params=[False, True], ids=["whole", "with-deleted-rows"])
def pieces(request: pytest.FixtureRequest) -> list[Piece[TextPart]]:
    rng = np.random.default_rng(3)
    return [piece_of(rng, 0, 20_000, live=request.param), piece_of(rng, 20_000, 3_000, live=request.param)]


def every_row_scored(pieces: list[Piece[TextPart]], query: str, population: npt.NDArray[np.uint64] | None) -> Hits:
    """What a column says that is worked through part by part."""
    terms = terms_of(query)
    matched = [matched_rows(piece, terms) for piece in pieces]
    sizes = [size_of(piece) for piece in pieces]
    counted = Statistics(sum(size[0] for size in sizes), sum(size[1] for size in sizes), having(matched, terms))
    return scored(matched, terms, counted, population)


def as_dict(hits: Hits) -> dict[int, float]:
    assert len(set(hits.row_ids.tolist())) == len(hits.row_ids), "no row twice"
    return dict(zip(hits.row_ids.tolist(), hits.scores.tolist(), strict=True))


@pytest.mark.parametrize("query", QUERIES)
@pytest.mark.parametrize("limit", [1, 10, 300, None])
@pytest.mark.parametrize("share", [None, 0.5, 0.002], ids=["all", "half", "few"])
def test_the_best_are_those_of_scoring_every_row_to_the_last_bit(
    pieces: list[Piece[TextPart]],
    query: str,
    limit: int | None,
    share: float | None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "FIRST_ROWS", 16)  # several rounds
    population = None
    if share is not None:
        drawn = np.random.default_rng(5).random(23_000) < share
        population = np.flatnonzero(drawn).astype(np.uint64)
    expected = best(every_row_scored(pieces, query, population), limit, smallest=False)
    assert as_dict(best_texts(pieces, terms_of(query), population, limit)) == as_dict(expected)


def test_few_of_the_matching_rows_are_scored(pieces: list[Piece[TextPart]], monkeypatch: pytest.MonkeyPatch) -> None:
    looked_at: list[int] = []
    scores = module._Search._scores

    def counting(self: module._Search, rows: npt.NDArray[np.int32]) -> npt.NDArray[np.float64]:
        looked_at.append(len(rows))
        return scores(self, rows)

    monkeypatch.setattr(module._Search, "_scores", counting)
    matching = len(every_row_scored(pieces, "word1 word2", None).row_ids)
    best_texts(pieces, terms_of("word1 word2"), None, 10)
    assert sum(looked_at) * 3 < matching


def test_a_token_that_was_asked_for_counts_to_the_memory_of_its_part(pieces: list[Piece[TextPart]]) -> None:
    part = piece_of(np.random.default_rng(9), 0, 1_000, live=False).part
    before = part.nbytes
    rows = len(part.postings("word0").rows)
    assert part.nbytes >= before + 12 * rows
