"""Graphs and sources on S3: the same load, the same staging, the same clean-up."""

from __future__ import annotations

import gzip
import json
from typing import Any

import pytest

from omnigraph.graph import Graph
from omnigraph.storage.failpoints import InjectedFault, Point, armed
from omnigraph.storage.staging_area import StagingFiles, staging_area, staging_folders
from omnigraph.write.line_files import line_source
from omnigraph.write.tabular.files import remote
from support.both_engines import exported
from support.inline_run import STAND_IN, run_inline
from support.s3_server import S3Server

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


def test_files_on_s3_are_loaded_into_a_graph_on_s3_and_nothing_stays(
    s3: S3Server, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_inline(monkeypatch)
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
