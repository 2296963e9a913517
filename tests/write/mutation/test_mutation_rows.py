"""The mutation rows of the query language, run on a real graph; the reads afterwards are asked of it."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from language.query.library import CASES, SCHEMA, load_cases, source_of
from language.query.oracle import PINNED
from omnigraph.graph import Graph
from omnigraph.language import CompileError
from omnigraph.language.query import ParameterError
from omnigraph.language.query.ir import NOW
from omnigraph.model.errors import OmniGraphError

ROWS = load_cases("mutations")


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("library") / "g"
    graph = Graph.init(str(path), SCHEMA, durability="os")
    graph.load(CASES / "library.jsonl", mode="append")
    return path


@pytest.fixture
def graph(template: Path, tmp_path: Path) -> Graph:
    """A fresh copy of the library; a graph without branches may be copied."""
    shutil.copytree(template, tmp_path / "g")
    return Graph.open(str(tmp_path / "g"), durability="os")


@pytest.mark.parametrize("row", ROWS, ids=[f"query-{row['id']}" for row in ROWS])
def test_a_mutation_does_what_its_row_says(graph: Graph, row: dict[str, Any]) -> None:
    before = graph.snapshot()
    expected = row["expected"]
    text = source_of(row)
    params = {NOW: PINNED, **(row["params"] or {})}
    if expected["kind"] == "error":
        with pytest.raises(OmniGraphError) as refused:
            graph.mutate(text, params)
        check_error(refused.value, expected)
        assert graph.snapshot() == before
        return
    result = graph.mutate(text, params)
    assert (result.affected_nodes, result.affected_edges) == (expected["nodes"], expected["edges"])
    assert (result.commit is not None) == expected["commit"]
    assert graph.snapshot().commit_id == (result.commit_id or before.commit_id)
    if "then" in row:
        check_then(graph, row["then"])


def check_error(error: OmniGraphError, expected: dict[str, Any]) -> None:
    match expected["stage"]:
        case "compile":
            assert isinstance(error, CompileError)
        case "bind":
            assert isinstance(error, ParameterError)
        case "run":
            assert not isinstance(error, CompileError)
    if "code" in expected:
        assert isinstance(error, CompileError)
        assert error.error_code == expected["code"]
    if "contains" in expected:
        assert expected["contains"] in str(error)


def check_then(graph: Graph, then: dict[str, Any]) -> None:
    result = graph.query(f"query q() {{ {then['body']} }}", {NOW: PINNED})
    answered = [list(row.values()) for row in result]
    expected = then["expected"]["rows"]
    if then["expected"]["kind"] == "seq":
        assert answered == expected
    else:
        assert sorted(map(json.dumps, answered)) == sorted(map(json.dumps, expected))
