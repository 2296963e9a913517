"""The query manual: its examples, asked of the graph that it prints, give the tables that it prints."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from omnigraph.cli.formats import table_lines
from omnigraph.graph import Graph

MANUAL = (Path(__file__).parents[2] / "docs" / "query-language.md").read_text(encoding="utf-8")
BLOCK = r"^```{kind}\n(.*?)^```$"
[SCHEMA] = re.findall(BLOCK.format(kind="pg"), MANUAL, re.MULTILINE | re.DOTALL)
[DATA] = re.findall(BLOCK.format(kind="jsonl"), MANUAL, re.MULTILINE | re.DOTALL)
SOURCE = "\n".join(re.findall(BLOCK.format(kind="gq"), MANUAL, re.MULTILINE | re.DOTALL))
RESULTS: list[tuple[str, str, str]] = re.findall(
    BLOCK.format(kind=r"result (\w+) ?(.*?)"), MANUAL, re.MULTILINE | re.DOTALL
)


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Graph]:
    made = Graph.init(str(tmp_path_factory.mktemp("manual") / "graph"), SCHEMA, durability="os")
    made.load([line.encode() for line in DATA.splitlines()], mode="append")
    yield made
    made.close()


def answered(graph: Graph, name: str, params: str) -> list[str]:
    result = graph.query(SOURCE, json.loads(params or "{}"), query_name=name)
    return [line.rstrip() for line in table_lines(result.columns, result.rows())]


@pytest.mark.parametrize(("name", "params", "table"), RESULTS, ids=[result[0] for result in RESULTS])
def test_example_gives_the_printed_table(name: str, params: str, table: str, graph: Graph) -> None:
    head, rule, *rows = answered(graph, name, params)
    assert table.splitlines()[:2] == [head, rule]
    assert sorted(table.splitlines()[2:]) == sorted(rows)


def test_manual_shows_results() -> None:
    assert len(RESULTS) >= 6
