"""The accepted schema is read again exactly when one of its files changed, however it was changed."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from omnigraph.graph import Graph, handle
from omnigraph.model.errors import OmniGraphError

SCHEMA = "node Person { name: String @key }\n"


def test_files_that_did_not_change_are_not_read_again(graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    before = graph.schema

    def no_reading(_: object) -> None:
        raise AssertionError("the files were read")

    monkeypatch.setattr(handle, "read_files", no_reading)
    assert graph.schema is before


@pytest.mark.parametrize("name", ["_schema.pg", "_schema.ir.json", "__schema_state.json"])
@pytest.mark.parametrize("in_place", [True, False], ids=["in place", "replaced"])
def test_a_changed_file_is_noticed_by_the_next_use(graph: Graph, name: str, in_place: bool) -> None:
    assert graph.schema
    file = Path(graph.uri, name)
    if in_place:
        with file.open("r+b") as opened:
            opened.write(b"?")
    else:
        spoiled = file.with_suffix(".new")
        spoiled.write_bytes(b"?" + file.read_bytes()[1:])
        os.replace(spoiled, file)
    with pytest.raises(OmniGraphError):
        _ = graph.schema


def test_a_missing_file_is_noticed(graph: Graph) -> None:
    assert graph.schema
    Path(graph.uri, "_schema.pg").unlink()
    with pytest.raises(OmniGraphError):
        _ = graph.schema
