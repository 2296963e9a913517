"""Exports to a folder: every format reads back as the same graph, and a failure leaves nothing."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from omnigraph.graph import Graph
from omnigraph.history.export.json_export import UnknownType
from omnigraph.model.errors import BadRequest
from omnigraph.model.progress import Progress
from omnigraph.pipeline.export import parts as export_parts
from omnigraph.pipeline.export.run_export import export_to
from support.graphs.people import fx, lines, people

SCHEMA = """
node Doc {
  slug: String @key
  rank: I32?
  big: U64?
  wide: I64?
  day: Date?
  at: DateTime?
  days: [Date]?
  moments: [DateTime]?
  score: F64?
  small: F32?
  emb: Vector(2)?
  file: Blob?
  note: String? @default("none")
  open: Bool?
  kind: enum(a, b)?
  words: [String]?
}
node Same { slug: String @key }
node Empty { slug: String @key }
edge Same: Doc -> Same { at: DateTime? }
edge Loose: Doc -> Doc
"""
FULL: dict[str, Any] = {
    "rank": -1,
    "big": 2**64 - 1,
    "wide": -(2**63),
    "day": "2026-01-02",
    "at": "1969-12-31T23:59:59.999Z",
    "days": ["2026-01-02", "1900-02-28"],
    "moments": [0, -1],
    "score": 0.1,
    "small": 0.5,
    "emb": [1.5, -0.0],
    "file": "base64:aGVsbG8=",
    "note": 'a "b", c\nd',
    "open": True,
    "kind": "b",
    "words": ["", 'x,"y"', "z"],
}
RECORDS: list[dict[str, Any]] = [
    {"type": "Doc", "data": {"slug": "full", **FULL}},
    {"type": "Doc", "data": {"slug": "null", **dict.fromkeys(FULL)}},
    {"type": "Doc", "data": {"slug": "odd", "note": "", "words": [], "score": 1e300, "small": 1.0, "at": 0, "day": -1}},
    {"type": "Doc", "data": {"slug": " blanks ", "note": " , "}},
    {"type": "Same", "data": {"slug": "s"}},
    {"edge": "Same", "from": "full", "to": "s", "data": {"at": 5}},
    {"edge": "Loose", "from": "full", "to": "null"},
    {"edge": "Loose", "from": " blanks ", "to": "odd"},
]


def rich(path: Path) -> Graph:
    graph = Graph.init(str(path), SCHEMA, durability="os")
    graph.load(lines(*RECORDS[:4]), mode="append")
    graph.load(lines(*RECORDS[4:]), mode="append")
    return graph


def entities(graph: Graph, **options: Any) -> list[dict[str, Any]]:
    return [json.loads(line) for line in graph.export(**options)]


@pytest.mark.parametrize("file_format", ["jsonl", "parquet", "csv"])
def test_an_export_in_parts_loads_back_as_the_same_graph_with_its_ids(tmp_path: Path, file_format: Any) -> None:
    graph = rich(tmp_path / "a.omni")
    result = graph.export_to(tmp_path / "out", format=file_format)
    assert result.nodes == {"Doc": 4, "Same": 1} | ({} if file_format == "jsonl" else {"Empty": 0})
    assert result.edges == {"Loose": 2, "Same": 1}
    assert (result.engine, result.commit_id) == ("local", graph.snapshot().commit_id)
    schema = (tmp_path / "out" / "_schema.pg").read_text()
    other = Graph.init(str(tmp_path / "b.omni"), schema, durability="os")
    other.load(tmp_path / "out", mode="overwrite", format=file_format)
    assert entities(other) == entities(graph)


def test_the_manifest_is_written_last_and_names_every_file(tmp_path: Path) -> None:
    result = rich(tmp_path / "a.omni").export_to(tmp_path / "out", format="parquet")
    manifest = json.loads((tmp_path / "out" / "_manifest.json").read_text())
    on_disk = {str(path.relative_to(tmp_path / "out")) for path in (tmp_path / "out").rglob("*.parquet")}
    assert {entry["file"] for entry in manifest["files"]} == on_disk == set(result.files)
    assert manifest["commit_id"] == result.commit_id
    assert manifest["nodes"]["Doc"] == sum(
        pq.read_metadata(path).num_rows for path in (tmp_path / "out/nodes/Doc").iterdir()
    )


def test_parquet_has_the_declared_types(tmp_path: Path) -> None:
    rich(tmp_path / "a.omni").export_to(tmp_path / "out", format="parquet", types=["Doc", "Loose"])
    schema = pq.read_schema(tmp_path / "out/nodes/Doc/part-00000.parquet")
    wanted = {
        "id": pa.string(),
        "big": pa.uint64(),
        "day": pa.date32(),
        "at": pa.timestamp("ms", "UTC"),
        "open": pa.bool_(),
    }
    assert {name: schema.field(name).type for name in wanted} == wanted
    assert pq.read_schema(tmp_path / "out/edges/Loose/part-00000.parquet").names == ["id", "from", "to"]


def test_each_group_of_fragments_is_a_file(tmp_path: Path) -> None:
    graph = fx(tmp_path / "g.omni")
    for number in range(3):
        graph.load(lines({"type": "Person", "data": {"name": f"p{number}"}}), mode="append")
    storage, snapshot = graph._storage, graph.snapshot()
    result = export_to(storage, graph.schema, snapshot, str(tmp_path / "out"), types=["Person"], part_rows=1)
    assert len(result.files) == 4
    assert result.nodes == {"Person": 7}


def test_an_export_is_of_its_branch_at_one_moment(tmp_path: Path) -> None:
    graph = fx(tmp_path / "g.omni")
    graph.create_branch("draft")
    graph.load(lines({"type": "Person", "data": {"name": "Eve"}}), mode="append", branch="draft")
    assert graph.export_to(tmp_path / "a").nodes["Person"] == 4
    assert graph.export_to(tmp_path / "b", branch="draft").nodes["Person"] == 5


def test_a_failed_part_leaves_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    graph = fx(tmp_path / "g.omni")
    written: list[bytes] = []

    def broken(*_: object) -> list[bytes]:
        written.append(b"")
        if len(written) > 2:
            raise OSError("the disk is full")
        return [b"x\n"]

    monkeypatch.setattr(export_parts.LineWriter, "lines", broken)
    with pytest.raises(Exception, match="the disk is full"):
        graph.export_to(tmp_path / "out")
    assert list((tmp_path / "out").iterdir()) == []


def test_a_folder_with_anything_in_it_is_refused(tmp_path: Path) -> None:
    graph = fx(tmp_path / "g.omni")
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "mine.txt").write_text("keep")
    with pytest.raises(BadRequest, match="is not empty"):
        graph.export_to(tmp_path / "out")
    assert (tmp_path / "out" / "mine.txt").read_text() == "keep"


def test_a_wrong_type_or_format_is_refused_before_the_folder_is_made(tmp_path: Path) -> None:
    graph = fx(tmp_path / "g.omni")
    with pytest.raises(UnknownType):
        graph.export_to(tmp_path / "out", types=["Persn"])
    with pytest.raises(BadRequest, match="cannot export as 'xml'"):
        graph.export_to(tmp_path / "out", format="xml")  # type: ignore[arg-type]
    assert not (tmp_path / "out").exists()


def test_progress_counts_the_parts_and_their_rows(tmp_path: Path) -> None:
    seen: list[Progress] = []
    done = fx(tmp_path / "g.omni").export_to(tmp_path / "out", progress=seen.append)
    assert [step.tasks for step in seen] == [0, 1, 2, 3, 4]
    assert (seen[-1].stage, seen[-1].rows, seen[-1].rows_total) == ("export", done.total_entities, done.total_entities)


def test_an_export_works_where_graphs_work_and_is_loaded_from_there(new_root: Callable[[str], str]) -> None:
    graph = fx(new_root("g.omni"))
    result = graph.export_to(new_root("out"), format="csv", types=["Person"])
    assert result.files == ("nodes/Person/part-00000.csv",)
    with pytest.raises(BadRequest, match="is not empty"):
        graph.export_to(new_root("out"))
    graph.export_to(new_root("lake"), format="parquet")
    for source, file_format in ((f"{new_root('out')}/nodes/*/*.csv", "csv"), (new_root("lake"), "parquet")):
        graph.load(source, mode="merge", format=file_format)
        assert people(graph)["Alice"] == 30
    with pytest.raises(BadRequest):
        graph.load(new_root("nothing"), mode="merge", format="csv")
