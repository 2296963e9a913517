"""Patches on Spark: filled from stored rows, some at a time, whatever there is to fill them from."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from omnigraph.graph import Graph
from omnigraph.model.identifiers import TableKey
from omnigraph.write.intake.line_files import line_source
from omnigraph.write.rules.committed_view import CommittedView
from omnigraph.write.rules.key_columns import PART_BYTES_VARIABLE
from support.loads.both_engines import exported
from support.loads.inline_run import STAND_IN, run_inline
from support.loads.leftovers import nothing_is_left

SCHEMA = """
node P { k: String @key  a: I32?  t: String @default("new")  b: Blob?  v: Vector(2)? }
node Q { a: I32?  t: String?  v: Vector(2)? }
"""


@pytest.fixture
def graph(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Graph:
    run_inline(monkeypatch)
    monkeypatch.setattr("omnigraph.write.load.patch.FILL_ROWS", 10)
    monkeypatch.setenv(PART_BYTES_VARIABLE, "500")
    return Graph.init(str(tmp_path / "g"), SCHEMA, durability="os")


def patch(graph: Graph, tmp_path: Path, rows: Iterable[dict[str, Any]], type_name: str = "P") -> None:
    file = tmp_path / "patch.jsonl"
    file.write_text("".join(json.dumps({"type": type_name, "data": row}) + "\n" for row in rows))
    graph.load(line_source(file, split_bytes=700), mode="merge", patch=True, engine="spark", spark=STAND_IN)


def stored(graph: Graph) -> dict[str, Any]:
    return {each["data"].get("k") or each["data"]["id"]: each["data"] for each in exported(graph)}


def test_a_few_rows_are_read_at_a_time_and_every_property_ends_as_it_should(
    graph: Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[int] = []
    read = CommittedView.stored_rows

    def counted(self: CommittedView, key: TableKey, ids: Any, schema: pa.Schema) -> pa.Table:
        asked.append(len(ids))
        return read(self, key, ids, schema)

    monkeypatch.setattr(CommittedView, "stored_rows", counted)
    patch(graph, tmp_path, ({"k": f"p{n}", "a": n, "b": "base64:aGk=", "v": [1.0, float(n)]} for n in range(60)))
    patch(graph, tmp_path, ({"k": f"p{n}", "t": f"text {n}"} for n in range(30, 90)))
    patch(graph, tmp_path, [{"k": "p5", "a": None}, {"k": "p6", "v": [0.0, 0.0]}])
    assert max(asked) <= 10
    found = stored(graph)
    assert len(found) == 90
    assert (found["p40"]["a"], found["p40"]["t"], found["p40"]["v"]) == (40, "text 40", [1.0, 40.0])
    assert (found["p7"]["t"], found["p80"].get("a"), found["p80"]["t"]) == ("new", None, "text 80")
    assert (found["p5"].get("a"), found["p5"]["v"], found["p6"]["a"], found["p6"]["v"]) == (
        None,
        [1.0, 5.0],
        6,
        [0.0, 0.0],
    )
    assert found["p40"]["b"] == found["p7"]["b"]
    assert graph.verify().ok
    assert nothing_is_left(graph)


def test_what_several_records_state_of_one_entity_comes_together(graph: Graph, tmp_path: Path) -> None:
    patch(graph, tmp_path, ({"id": f"q{n}", "a": n} for n in range(25)), "Q")
    parts: list[dict[str, Any]] = [{"id": f"q{n}", "t": f"text {n}"} for n in range(20)]
    parts += [{"id": f"q{n}", "v": [float(n), 0.0]} for n in range(5, 20)]
    parts += [{"id": f"q{n}", "a": None} for n in range(10, 20)]
    patch(graph, tmp_path, parts, "Q")
    found = stored(graph)
    assert len(found) == 25
    assert found["q7"] == {"id": "q7", "a": 7, "t": "text 7", "v": [7.0, 0.0]}
    assert (found["q15"].get("a"), found["q15"]["t"], found["q15"]["v"]) == (None, "text 15", [15.0, 0.0])
    assert (found["q2"]["t"], found["q2"].get("v"), found["q23"]["a"]) == ("text 2", None, 23)
    assert nothing_is_left(graph)
