"""What an open refuses, and what it lets pass: the version stamp and the schema files."""

from __future__ import annotations

from pathlib import Path

import lance
import pytest

from omnigraph.graph import Graph
from omnigraph.model.errors import (
    FormatStampUnreadable,
    FormatTooNew,
    FormatTooOld,
    OmniGraphError,
    SchemaContractDrift,
    SchemaContractMissing,
)
from support.graphs.people import fx, people


@pytest.mark.parametrize(
    ("stamp", "refusal", "shown"),
    [("3", FormatTooOld, "3"), ("6", FormatTooNew, "6"), ("x", FormatStampUnreadable, "x")],
)
def test_tx_O12_another_format_is_refused_and_its_files_stay(
    tmp_path: Path, stamp: str, refusal: type[OmniGraphError], shown: str
) -> None:
    graph = fx(tmp_path / "g")
    lance.dataset(f"{graph.uri}/__manifest").update_schema_metadata({"omnigraph:internal_schema_version": stamp})
    before = {path: path.read_bytes() for path in (tmp_path / "g").rglob("*") if path.is_file()}
    for read_only in (True, False):
        with pytest.raises(refusal) as caught:
            Graph.open(graph.uri, read_only=read_only)
        assert shown in str(caught.value)
    assert {path: path.read_bytes() for path in (tmp_path / "g").rglob("*") if path.is_file()} == before


def test_tx_O13_a_comment_in_the_schema_is_no_change(tmp_path: Path) -> None:
    graph = fx(tmp_path / "g")
    file = tmp_path / "g" / "_schema.pg"
    file.write_text(f"// who knows whom\n{file.read_text()}")
    assert set(people(Graph.open(graph.uri))) == {"Alice", "Bob", "Charlie", "Diana"}


def test_tx_O14_another_schema_is_noticed_by_the_next_open_and_by_a_live_handle(tmp_path: Path) -> None:
    graph = fx(tmp_path / "g")
    file = tmp_path / "g" / "_schema.pg"
    file.write_text(file.read_text().replace("age: I32?", "age: I32?  email: String?"))
    for attempt in (lambda: Graph.open(graph.uri), lambda: graph.schema):
        with pytest.raises(SchemaContractDrift):
            attempt()


def test_tx_O15_a_schema_file_that_is_missing_is_refused(tmp_path: Path) -> None:
    graph = fx(tmp_path / "g")
    (tmp_path / "g" / "__schema_state.json").unlink()
    with pytest.raises((SchemaContractMissing, SchemaContractDrift)):
        Graph.open(graph.uri)
