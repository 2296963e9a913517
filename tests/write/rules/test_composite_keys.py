"""Composite keys: ours are JSON arrays; ids of another kind are read and not written."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from omnigraph.graph import Graph
from omnigraph.model.errors import Conflict
from omnigraph.storage import open_storage
from support.graphs.people import lines
from support.graphs.tables import append_rows

SCHEMA = "node Seat { row: String  number: I32  note: String?  @key(row, number) }\n"


def test_the_id_of_a_composite_key_is_its_members_in_byte_order(tmp_path: Path) -> None:
    graph = Graph.init(str(tmp_path / "g"), SCHEMA)
    graph.load(lines({"type": "Seat", "data": {"row": "A", "number": 7}}), mode="append")
    graph.mutate('query q() { insert Seat { row: "A", number: 7, note: "again" } }')
    (record,) = [json.loads(line) for line in graph.export()]
    assert record["data"]["id"] == '["7","A"]'
    assert record["data"]["note"] == "again"


def test_a_type_whose_ids_are_not_those_of_its_key_is_read_and_not_written(tmp_path: Path) -> None:
    graph = Graph.init(str(tmp_path / "g"), SCHEMA)
    append_rows(open_storage(graph.uri), "node:Seat", [{"id": "7", "note": None, "number": 7, "row": "A"}])
    assert len(list(graph.export())) == 1
    with pytest.raises(Conflict, match="composite key"):
        graph.mutate('query q() { insert Seat { row: "B", number: 1 } }')
