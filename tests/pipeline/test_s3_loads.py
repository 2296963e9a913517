"""Graphs and sources on S3: the same load, the same staging, the same clean-up."""

from __future__ import annotations

import gzip
import io
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from omnigraph.cli.root import root
from omnigraph.graph import Graph
from omnigraph.storage.bulk.area import StagingFiles, staging_area, staging_folders
from omnigraph.storage.failpoints import InjectedFault, Point, armed
from omnigraph.write.intake.line_files import line_source
from omnigraph.write.intake.source_files import remote
from omnigraph.write.rules.key_columns import PART_BYTES_VARIABLE
from support.loads.both_engines import exported
from support.loads.inline_run import STAND_IN, run_inline
from support.servers.s3_server import S3Server

pytestmark = pytest.mark.s3
SCHEMA = "node P { k: String @key  n: I32?  b: Blob? }\nedge K: P -> P { w: I32? }"


def lines(prefix: str, count: int) -> bytes:
    records: list[Any] = [{"type": "P", "data": {"k": f"{prefix}{n}", "n": n}} for n in range(count)]
    records += [{"edge": "K", "from": f"{prefix}{n}", "to": f"{prefix}0"} for n in range(count)]
    return "".join(json.dumps(record) + "\n" for record in records).encode()


def put(uri: str, data: bytes) -> str:
    files, name = remote(uri)
    with files.open_output_stream(name, compression=None) as out:
        out.write(data)
    return uri


@pytest.mark.parametrize("part_bytes", ["", "300"], ids=["keys-at-once", "keys-in-parts"])
def test_files_on_s3_are_loaded_into_a_graph_on_s3_and_nothing_stays(
    part_bytes: str, s3: S3Server, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_inline(monkeypatch)
    monkeypatch.setenv(PART_BYTES_VARIABLE, part_bytes)
    put(s3.uri(f"{tmp_path.name}/in/a.jsonl"), lines("a", 60))
    put(s3.uri(f"{tmp_path.name}/in/b.jsonl.gz"), gzip.compress(lines("b", 60)))
    blob = {"type": "P", "data": {"k": "blob", "b": "base64:eHl6"}}
    put(s3.uri(f"{tmp_path.name}/in/c.jsonl"), json.dumps(blob).encode())
    graph = Graph.init(s3.uri(f"{tmp_path.name}/g"), SCHEMA)
    source = line_source(s3.uri(f"{tmp_path.name}/in"), split_bytes=2_000)
    assert len(source.items) > 3
    for mode in ("append", "merge", "overwrite"):
        options: Any = {"mode": mode, "match_edges": "endpoints" if mode == "merge" else None}
        result = graph.load(source, engine="spark", spark=STAND_IN, **options)
        assert result.total_entities == len(exported(graph)) == 241
        assert staging_folders(graph._storage) == []


PEOPLE = [{"k": f"p{n}", "n": n} for n in range(30)]
TABLES = {
    "csv": "k,n\n" + "".join(f"{row['k']},{row['n']}\n" for row in PEOPLE),
    "json": json.dumps(PEOPLE),
    "jsonl": "".join(json.dumps({"type": "P", "data": row}) + "\n" for row in PEOPLE),
}


def content(file_format: str) -> bytes:
    if file_format != "parquet":
        return TABLES[file_format].encode()
    sink = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(PEOPLE, pa.schema([("k", pa.string()), ("n", pa.int32())])), sink)
    return sink.getvalue()


@pytest.mark.parametrize("engine", ["local", "spark"])
def test_every_format_is_read_from_s3_by_both_engines_into_a_local_graph(
    engine: Any, s3: S3Server, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """The session may have been started before anybody named the store: its tasks are given the driver's settings."""
    if engine == "spark":
        request.getfixturevalue("spark")
    for number, file_format in enumerate(("jsonl", "csv", "json", "parquet")):
        graph = Graph.init(str(tmp_path / file_format), SCHEMA, durability="os")
        folder = s3.uri(f"{tmp_path.name}/{engine}/{file_format}")
        put(f"{folder}/P.{file_format}", content(file_format))
        address = [folder, f"{folder}/*.{file_format}", f"{folder}/P.{file_format}"][number % 3]
        how = {} if file_format == "jsonl" else {"format": file_format, "type": "P"}
        result = graph.load(address, mode="append", engine=engine, **how)
        assert (result.engine, result.nodes) == (engine, {"P": len(PEOPLE)})
        assert sorted(each["data"]["n"] for each in exported(graph)) == list(range(len(PEOPLE)))


def test_the_command_line_loads_a_file_on_s3(s3: S3Server, tmp_path: Path) -> None:
    graph = Graph.init(str(tmp_path / "g"), SCHEMA, durability="os")
    file = put(s3.uri(f"{tmp_path.name}/cli/people.jsonl"), content("jsonl"))
    done = CliRunner().invoke(root, ["load", "--data", file, "--mode", "append", graph.uri])
    assert done.exit_code == 0, done.output
    assert len(exported(graph)) == len(PEOPLE)
    missing = CliRunner().invoke(root, ["load", "--data", f"{file}.not", "--mode", "append", graph.uri])
    assert missing.exit_code == 1
    assert "people.jsonl.not" in missing.output


def test_an_export_on_spark_goes_to_s3_and_is_loaded_from_there(s3: S3Server, tmp_path: Path, spark: Any) -> None:
    graph = Graph.init(str(tmp_path / "g"), SCHEMA, durability="os")
    graph.load([content("jsonl")], mode="append", engine="local")
    folder = s3.uri(f"{tmp_path.name}/out")
    assert graph.export_to(folder, format="parquet", spark=spark).engine == "spark"
    copy = Graph.init(str(tmp_path / "copy"), SCHEMA, durability="os")
    copy.load(folder, mode="append", format="parquet", engine="spark", spark=spark)
    assert exported(copy) == exported(graph)


def test_a_dead_load_on_s3_is_cleaned_up_and_a_living_one_is_not(
    s3: S3Server, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_inline(monkeypatch)
    graph = Graph.init(s3.uri(f"{tmp_path.name}/g"), SCHEMA)
    dead = StagingFiles(graph._storage.root, "01DEAD")
    graph._storage.objects.write(dead.path("decode/rows.arrow"), b"left")
    with staging_area(graph._storage, "01LIVING"):
        assert staging_folders(graph._storage) == ["01DEAD", "01LIVING"]
        assert graph.cleanup_staging() == ["01DEAD"]
        assert staging_folders(graph._storage) == ["01LIVING"]
    source = line_source([lines("a", 5)])
    with armed(Point.LOAD_BEFORE_TABLE_COMMIT, "raise"), pytest.raises(InjectedFault):
        graph.load(source, mode="append", engine="spark", spark=STAND_IN)
    assert exported(graph) == []
    graph.load(source, mode="append", engine="spark", spark=STAND_IN)
    assert len(exported(graph)) == 10
