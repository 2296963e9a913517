"""A word that an option does not know is refused with the nearest one, and nothing happens."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from omnigraph.graph import Graph
from omnigraph.model.errors import BadRequest, TypeNotFound

SCHEMA = "node Person { name: String @key }\n"
LINE = b'{"type": "Person", "data": {"name": "Ada"}}\n'
ALL = "query all() { match { $p: Person } return { $p.name } }"

CALLS: dict[str, Callable[[Any], object]] = {
    "append": lambda graph: graph.load([LINE], mode="appnd"),
    "skip": lambda graph: graph.load([LINE], mode="append", on_error="skp"),
    "local": lambda graph: graph.load([LINE], mode="append", engine="locl"),
    "spark": lambda graph: graph.apply_schema(SCHEMA, engine="sprk"),
    "endpoints": lambda graph: graph.load([LINE], mode="merge", match_edges="endpoint"),
    "indexed": lambda graph: graph.query(ALL, mode="indxed"),
    "full": lambda graph: Graph.open(graph.uri, durability="ful"),  # type: ignore[arg-type]
}


@pytest.mark.parametrize("meant", CALLS)
def test_a_misspelt_word_is_refused_with_the_one_that_was_meant(graph: Graph, meant: str) -> None:
    before = graph.commits()
    with pytest.raises(BadRequest, match=f"did you mean '{meant}'"):
        CALLS[meant](graph)
    assert graph.commits() == before


@pytest.mark.parametrize("types", ["Persn", ["Persn"]])
def test_a_type_that_is_not_in_the_schema_is_an_error_and_not_an_empty_answer(graph: Graph, types: Any) -> None:
    for call in (lambda: graph.diff("main", types=types), lambda: graph.changes(types=types)):
        with pytest.raises(TypeNotFound, match="did you mean 'Person'"):
            call()


def test_one_type_may_be_given_as_a_text(graph: Graph) -> None:
    first = graph.snapshot().commit_id
    graph.load([LINE], mode="append")
    assert first is not None
    assert [change.id for change in graph.diff(first, types="Person")] == ["Ada"]


def test_a_reject_file_may_be_named_by_a_text(graph: Graph, tmp_path: Path) -> None:
    rejects = tmp_path / "rejects.jsonl"
    graph.load([LINE, b"nothing\n"], mode="append", on_error="skip", reject_file=str(rejects))
    assert rejects.exists()
