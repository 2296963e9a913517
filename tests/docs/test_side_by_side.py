"""Cypher and SQL side by side: every `.gq` of the page runs on the example graph, and finds or changes something."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import count

import pytest

import omnigraph as og
from docs.manual import ROOT, blocks_of, text_of
from omnigraph.cli.formats import table_lines

PAGE = "docs/from-cypher-and-sql.md"
BODIES = re.findall(r"\| `((?:match|insert|update|delete) [^`]*)` \|$", text_of(PAGE), re.MULTILINE)
SOURCE = "\n".join(block.text for block in blocks_of(PAGE, "gq"))
RESULTS = [
    (block, *block.language.split(" ", 2)[1:]) for block in blocks_of(PAGE) if block.language.startswith("result")
]
_numbers = count()


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Iterator[og.Graph]:
    folder = tmp_path_factory.mktemp("side-by-side")
    made = og.init(folder / "catalog.omni", ROOT / "examples" / "services.pg", durability="os")
    made.load(str(ROOT / "examples" / "*.csv"), mode="append", format="csv")
    yield made
    made.close()


@pytest.mark.parametrize("body", [body for body in BODIES if body.startswith("match")])
def test_a_question_of_the_page_is_answered_with_rows(body: str, graph: og.Graph) -> None:
    assert len(graph.query(f"query q() {{ {body} }}")) > 0


@pytest.mark.parametrize("body", [body for body in BODIES if not body.startswith("match")])
def test_a_change_of_the_page_changes_something(body: str, graph: og.Graph) -> None:
    branch = graph.create_branch(f"change-{next(_numbers)}")
    receipt = branch.mutate(f"query q() {{ {body} }}")
    assert receipt.affected_nodes + receipt.affected_edges > 0


def test_a_complete_query_of_the_page_gives_the_printed_table(graph: og.Graph) -> None:
    assert RESULTS
    for block, name, *params in RESULTS:
        result = graph.query(SOURCE, json.loads(params[0]) if params else {}, query_name=name)
        printed = [line.rstrip() for line in table_lines(result.columns, result.rows())]
        assert printed == block.text.splitlines(), block.place


def test_the_page_has_its_rows() -> None:
    assert len(BODIES) >= 30
