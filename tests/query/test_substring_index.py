"""`contains` through an n-gram index: the same answers as without it, whatever the texts and however they change."""

from __future__ import annotations

import random
import shutil
from pathlib import Path
from typing import Any

import pytest

from omnigraph.graph import Graph
from omnigraph.model.errors import BadRequest
from omnigraph.storage import Contains
from omnigraph.storage.indexes.builds import existing_indexes
from omnigraph.storage.predicates import to_sql
from omnigraph.write.upkeep.indexing import SUBSTRING_ROWS_VARIABLE
from support.graphs.searchable import Documents
from support.size import sized

FIND = "query q($p: String?) { match { $d: Doc  $d.title contains $p } return { $d.slug } }"
MISS = "query q($p: String?) { match { $d: Doc  not { $d.title contains $p } } return { $d.slug } }"
ALPHABET = "abAB 'ß\\%éÉ漢字😀-"


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(SUBSTRING_ROWS_VARIABLE, "20")


def title(chance: random.Random) -> str | None:
    if chance.random() < 0.1:
        return None
    return "".join(chance.choices(ALPHABET, k=chance.choice([0, 1, 2, 3, 6, 30])))


def ask(documents: Documents, text: str, part: str | None, mode: Any) -> list[str]:
    return sorted(row["d.slug"] for row in documents.graph.query(text, {"p": part}, mode=mode))


def uses_index(documents: Documents, part: str) -> bool:
    table = documents.table()
    scanner = table.handle.scanner(columns=["id"], filter=to_sql(Contains("title", part), table.schema))
    return "ScalarIndexQuery" in scanner.explain_plan()


@pytest.mark.parametrize("seed", range(sized(4, 8)))
def test_answers_are_those_of_the_texts_themselves(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    texts: dict[str, str | None] = {f"s{n}": title(chance) for n in range(40)}
    documents = Documents(tmp_path / "g", [{"slug": slug, "title": text} for slug, text in texts.items()])

    def check() -> None:
        given = [text for text in texts.values() if text]
        parts = [
            text[start : start + chance.choice([1, 2, 3, 5])] for text in given[:9] for start in (0, len(text) // 2)
        ]
        for part in [*parts, *(part.swapcase() for part in parts[:4]), "", "none of them"]:
            hits = sorted(slug for slug, text in texts.items() if text is not None and part in text)
            for mode in ("indexed", "csr"):
                assert ask(documents, FIND, part, mode) == hits, (part, mode)
            others = sorted(set(texts) - set(hits))
            assert ask(documents, MISS, part, "indexed") == ask(documents, MISS, part, "csr") == others
        assert ask(documents, FIND, None, "indexed") == ask(documents, FIND, None, "csr") == []

    check()
    documents.graph.ensure_indices()
    assert uses_index(documents, "abc")
    check()
    changed = {f"s{n}": title(chance) for n in range(30, 55)}
    documents.put([{"slug": slug, "title": text} for slug, text in changed.items()])
    texts |= changed
    check()
    documents.graph.ensure_indices()
    assert {one.state for one in documents.graph.indexes() if one.column == "title"} == {"ready"}
    for slug in ("s1", "s33", "s50"):
        documents.drop(slug)
        del texts[slug]
    check()
    documents.graph.optimize()
    check()
    assert documents.graph.verify().ok


def test_it_is_built_with_the_others_from_the_stated_number_of_rows_on_and_extended(tmp_path: Path) -> None:
    rows = [{"slug": f"s{n}", "title": f"some title {n}"} for n in range(40)]
    documents = Documents(tmp_path / "g", rows[:19])
    documents.graph.ensure_indices()
    assert "title_ngram_idx" not in {one.name for one in documents.graph.indexes()}
    documents.put(rows[19:30])
    built = {one.name: one for one in documents.graph.ensure_indices().built}
    assert (built["title_ngram_idx"].kind, built["title_ngram_idx"].action) == ("NGRAM", "build")
    documents.put(rows[30:])
    report = documents.graph.ensure_indices()
    assert ("title_ngram_idx", "extend", 10) in {(one.name, one.action, one.rows) for one in report.built}
    [status] = [one for one in documents.graph.indexes() if one.kind == "NGRAM"]
    assert (status.state, status.rows_indexed) == ("ready", 40)
    assert documents.graph.ensure_indices().commit is None


def test_one_that_cannot_be_read_is_told_and_does_not_change_an_answer(tmp_path: Path) -> None:
    whole = Documents(tmp_path / "whole", [{"slug": f"s{n}", "title": f"title {n}"} for n in range(30)])
    whole.graph.ensure_indices()
    shutil.copytree(whole.graph.uri, tmp_path / "g")
    [broken] = [index for index in existing_indexes(whole.table()) if index.name == "title_ngram_idx"]
    for segment in broken.segments:
        [folder] = (tmp_path / "g").glob(f"nodes/*/_indices/{segment}")
        shutil.rmtree(folder)
    fresh = Documents.__new__(Documents)
    fresh.graph = Graph.open(str(tmp_path / "g"), durability="os")
    assert ask(fresh, FIND, "tle 7", "indexed") == ["s7"]
    assert [one.name for one in fresh.graph.indexes() if one.state == "broken"] == ["title_ngram_idx"]
    assert [finding for finding in fresh.graph.verify().findings if "title_ngram_idx" in finding.render()]
    fresh.graph.ensure_indices()
    assert not [finding for finding in fresh.graph.verify().findings if "title_ngram_idx" in finding.render()]


def test_a_number_of_rows_that_is_none_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(SUBSTRING_ROWS_VARIABLE, "few")
    documents = Documents(tmp_path / "g", [{"slug": "a", "title": "b"}])
    with pytest.raises(BadRequest, match=SUBSTRING_ROWS_VARIABLE):
        documents.graph.ensure_indices()
