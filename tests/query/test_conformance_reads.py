"""Every row of the language tables that reads: asked of the engine, by both ways to traverse, with indexes and without.

A row is asked on one graph of the library; rows that write first have a branch of their own.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from language.query.library import CASES, SCHEMA, SECTIONS, language_cases, load_cases, source_of
from omnigraph.graph import Graph
from omnigraph.language import CompileError
from omnigraph.language.query import ParameterError, QueryNameRequired, UnknownQuery, WrongQueryKind
from omnigraph.language.query.ir import NOW
from omnigraph.model.errors import BadRequest

PINNED = "2026-01-01T00:00:00Z"
MODES = ("indexed", "csr")
READS = [row for row in language_cases() if row["expected"]["kind"] in ("bag", "seq")]
FOLLOW_UPS = [row for row in load_cases("mutations") if "then" in row and row["expected"]["kind"] == "affected"]
RESULTS = load_cases("results")

ELSEWHERE = {
    "a mutation that is refused; its write tests also see that nothing changed": [
        row["id"] for row in load_cases("mutations") if row["expected"]["kind"] == "error"
    ],
    "a mutation without a read behind it, tested with the write path": [
        row["id"] for row in load_cases("mutations") if row["expected"]["kind"] == "affected" and "then" not in row
    ],
    "binding of parameters alone, tested with the compiler; the engine binds through the same function": [
        row["id"] for row in RESULTS if "binds" in row
    ],
}
"""Rows that ask nothing of the read engine, with the reason."""
REFUSED = [row for row in language_cases() if row["expected"]["kind"] == "error" and row["section"] != "mutations"]


@pytest.fixture(scope="module", params=["without indexes", "with indexes"])
def library(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Graph]:
    """The graph of the library, loaded once per module and way."""
    patch = pytest.MonkeyPatch()
    patch.setenv("OMNIGRAPH_EMBEDDINGS_MOCK", "1")
    graph = Graph.init(str(tmp_path_factory.mktemp("library") / "graph"), SCHEMA, durability="os")
    graph.load(CASES / "library.jsonl", mode="append")
    if request.param == "with indexes":
        graph.ensure_indices()
    yield graph
    graph.close()
    patch.undo()


@pytest.fixture(params=MODES)
def ask(request: pytest.FixtureRequest, library: Graph) -> Callable[..., list[list[Any]]]:
    """Asks the library; the rows as lists, in the order of the columns."""

    def asked(text: str, params: dict[str, Any] | None = None, graph: Graph = library) -> list[list[Any]]:
        result = graph.query(text, {**(params or {}), NOW: PINNED}, mode=request.param)
        assert result.row_count == len(result)
        return [[row[name] for name in result.columns] for row in result.rows()]

    return asked


def check(got: list[list[Any]], expected: dict[str, Any]) -> None:
    rows = expected["rows"]
    if expected["kind"] == "bag":
        got, rows = sorted(got, key=json.dumps), sorted(rows, key=json.dumps)
    assert json.dumps(got) == json.dumps(rows)


def named(rows: list[dict[str, Any]]) -> list[Any]:
    return [pytest.param(row, id=f"query-{row['id']}") for row in rows]


@pytest.mark.parametrize("row", named(READS))
def test_row_is_answered_as_the_table_says(row: dict[str, Any], ask: Callable[..., list[list[Any]]]) -> None:
    check(ask(source_of(row), row["params"]), row["expected"])


@pytest.mark.parametrize("row", named(REFUSED))
def test_row_is_refused_by_the_read_entry_point(row: dict[str, Any], library: Graph) -> None:
    with pytest.raises((CompileError, ParameterError)):
        library.query(source_of(row), row["params"])


@pytest.mark.parametrize("row", named(FOLLOW_UPS))
def test_read_after_a_write_sees_it(
    row: dict[str, Any], library: Graph, ask: Callable[..., list[list[Any]]], request: pytest.FixtureRequest
) -> None:
    branch = library.create_branch(f"{row['id']}-{request.node.name.encode().hex()[-24:]}".lower())
    branch.mutate(source_of(row), {**(row["params"] or {}), NOW: PINNED})
    check(ask(f"query q() {{ {row['then']['body']} }}", None, branch), row["then"]["expected"])


@pytest.mark.parametrize("row", named([row for row in RESULTS if "runs" in row]))
def test_result_has_the_columns_and_values_of_the_table(
    row: dict[str, Any], library: Graph, ask: Callable[..., list[list[Any]]], request: pytest.FixtureRequest
) -> None:
    graph = library
    if "before" in row:
        graph = library.create_branch(f"{row['id']}-{request.node.name.encode().hex()[-24:]}".lower())
        graph.mutate(f"query q() {{ {row['before']} }}")
    for run in row["runs"]:
        text = f"query q({run['declaration']}) {{ {run['body']} }}"
        check(ask(text, run["params"], graph), run["expected"])
        document = graph.query(text, run["params"]).to_json()
        assert document["columns"] == run["columns"]
        assert document["row_count"] == len(document["rows"]) == len(run["expected"]["rows"])
        assert all(list(line) == run["columns"] for line in document["rows"])
        assert list(document) == ["query_name", "target", "row_count", "columns", "rows", "graph_commit_id"]
        assert document["graph_commit_id"] == graph.snapshot().commit_id


@pytest.mark.parametrize("row", named([row for row in RESULTS if "pick" in row]))
def test_query_of_a_source_is_picked_by_its_name(row: dict[str, Any], library: Graph) -> None:
    with pytest.raises((QueryNameRequired, UnknownQuery)) as raised:
        library.query(row["pick"]["source"], query_name=row["pick"]["name"])
    assert row["pick"]["error"] in str(raised.value)
    assert library.query(row["pick"]["source"], query_name="two").query_name == "two"


@pytest.mark.parametrize("row", named([row for row in RESULTS if "kinds" in row]))
def test_query_of_the_other_kind_is_refused(row: dict[str, Any], library: Graph) -> None:
    for attempt in row["kinds"]:
        with pytest.raises(WrongQueryKind) as raised:
            (library.query if attempt["entry"] == "read" else library.mutate)(attempt["source"])
        assert isinstance(raised.value, BadRequest)


def test_every_row_is_asked_here_or_listed_with_a_reason() -> None:
    asked = [row["id"] for row in (*READS, *REFUSED, *FOLLOW_UPS)]
    asked += [row["id"] for row in RESULTS if "binds" not in row]
    listed = [row for rows in ELSEWHERE.values() for row in rows]
    known = [row["id"] for section in (*SECTIONS, "results") for row in load_cases(section)]
    assert sorted(asked + listed) == sorted(known)
