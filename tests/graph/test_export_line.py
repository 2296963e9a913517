"""The last line of an export: a load checks it, takes it for no record, and finds every export that is not whole."""

from __future__ import annotations

import gzip
import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

import omnigraph as og
from omnigraph.graph import Graph
from omnigraph.write.intake import line_files
from support.graphs.library import SCHEMA, fill


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Graph:
    graph = Graph.init(str(tmp_path_factory.mktemp("library") / "lib"), SCHEMA, durability="os")
    fill(graph)
    return graph


@pytest.fixture
def empty(tmp_path: Path) -> Graph:
    return Graph.init(str(tmp_path / "new"), SCHEMA, durability="os")


def test_the_last_line_has_the_commit_the_counts_and_a_digest_of_the_lines_before_it(library: Graph) -> None:
    *lines, last = library.export(manifest=True)
    assert lines == list(library.export())
    assert json.loads(last) == {
        "export": {
            "version": 1,
            "snapshot_commit_id": library.snapshot().commit_id,
            "counts": {"nodes": {"Book": 5, "Note": 1}, "edges": {"Cites": 3}},
            "sha256": hashlib.sha256(b"".join(lines)).hexdigest(),
        }
    }


def test_some_types_and_no_entity_at_all_have_their_line_too(library: Graph, empty: Graph) -> None:
    counts = json.loads(list(library.export(types=["Note"], manifest=True))[-1])["export"]["counts"]
    assert counts == {"nodes": {"Note": 1}, "edges": {}}
    (only,) = empty.export(manifest=True)
    assert empty.load([only], mode="overwrite").total_entities == 0


@pytest.mark.parametrize("way", ["lines", "file", "split file", "packed file", "no line end", "blank line after it"])
def test_tx_O21_an_export_with_its_line_is_loaded_as_it_was(
    way: str, library: Graph, empty: Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = list(library.export(manifest=True))
    source: Any = tmp_path / "export.jsonl"
    match way:
        case "lines":
            source = lines
        case "packed file":
            source = tmp_path / "export.jsonl.gz"
            source.write_bytes(gzip.compress(b"".join(lines)))
        case "no line end":
            source.write_bytes(b"".join(lines).rstrip())
        case "blank line after it":
            source.write_bytes(b"".join(lines) + b"\n \n")
        case _:
            source.write_bytes(b"".join(lines))
    if way == "split file":
        source = line_files.line_source(source, split_bytes=500)
        assert len(source.items) > 3
    assert empty.load(source, mode="overwrite").total_entities == 9
    assert list(empty.export(manifest=False)) == lines[:-1]


DAMAGES = {
    "a line is missing": lambda lines: [*lines[:2], *lines[3:]],
    "a line is twice there": lambda lines: [lines[0], *lines],
    "a byte is another one": lambda lines: [lines[0].replace(b"b1", b"c1"), *lines[1:]],
    "the order is another one": lambda lines: [lines[1], lines[0], *lines[2:]],
    "its last line is of another version": lambda lines: [
        *lines[:-1],
        lines[-1].replace(b'"version":1', b'"version":2'),
    ],
    "its last line is torn": lambda lines: [*lines[:-1], lines[-1][:40]],
    "nothing but its last line": lambda lines: lines[-1:],
}


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("way", ["lines", "split file", "packed file"])
def test_an_export_that_is_not_what_its_last_line_says_is_refused(
    damage: str, way: str, library: Graph, empty: Graph, tmp_path: Path
) -> None:
    broken: Any = DAMAGES[damage](list(library.export(manifest=True)))
    path = tmp_path / ("e.jsonl.gz" if way == "packed file" else "e.jsonl")
    data = b"".join(broken)
    path.write_bytes(gzip.compress(data) if way == "packed file" else data)
    with pytest.raises(og.errors.ExportDamaged):
        empty.load(
            broken if way == "lines" else line_files.line_source(path, split_bytes=500),
            mode="overwrite",
        )
    assert list(empty.export()) == []


def test_the_line_of_an_export_anywhere_else_is_a_violation_with_its_place(library: Graph, empty: Graph) -> None:
    lines = list(library.export(manifest=True))
    with pytest.raises(
        og.ValidationFailed, match="line 10: the last line of an export is not the last line of this input"
    ):
        empty.load([*lines, b'{"type":"Note","data":{"text":"more"}}\n'], mode="overwrite")


def test_an_export_is_of_a_branch_a_commit_a_tag_or_a_time(tmp_path: Path) -> None:
    graph = Graph.init(str(tmp_path / "g"), "node P { k: String @key }", durability="os")
    graph.load([b'{"type":"P","data":{"k":"a"}}'], mode="append")
    first = graph.snapshot().commit_id or ""
    graph.tag("first", first)
    graph.create_branch("draft").load([b'{"type":"P","data":{"k":"b"}}'], mode="append")
    assert len(list(graph.export("draft"))) == 2
    for at in (first, "first", "2999-01-01T00:00:00Z"):
        assert len(list(graph.export(at=at))) == 1
    for form in ("parquet", "csv", "jsonl"):
        receipt = graph.export_to(tmp_path / form, format=form, at="first", engine="local")  # type: ignore[arg-type]
        assert (receipt.total_entities, receipt.commit_id) == (1, first)
    with pytest.raises(og.BadRequest, match="not both"):
        graph.export("draft", at=first)
